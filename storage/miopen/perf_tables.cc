#include "storage/miopen/perf_tables.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <map>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "attune/formats/miopen/conv_keys.h"
#include "attune/formats/miopen/file_name.h"
#include "attune/formats/miopen/text_db.h"
#include "attune/problem/text_error.h"
#include "storage/miopen/sqlite_file.h"

namespace attune::miopen {
namespace {

// In the order of the fields of Text(PerfKey), so that the values of a row with 'x' between them
// are its key.
constexpr std::string_view kKeyColumns[] = {
    "spatial_dim", "in_channels",   "in_h",          "in_w",          "in_d",       "fil_h",
    "fil_w",       "fil_d",         "out_channels",  "batchsize",     "pad_h",      "pad_w",
    "pad_d",       "conv_stride_h", "conv_stride_w", "conv_stride_d", "dilation_h", "dilation_w",
    "dilation_d",  "bias",          "group_count",   "layout",        "data_type",  "direction"};
constexpr size_t kIntegerColumns = 21;
constexpr int64_t kMostUnits = 4095;
constexpr std::string_view kIdColumn[] = {"id"};
constexpr std::string_view kPerfColumns[] = {"id", "solver", "config", "params"};
constexpr std::string_view kGpuColumns[] = {"arch", "num_cu"};

// The table definitions of MIOpen's own files, to the letter.
constexpr std::string_view kConfigSql =
    "CREATE TABLE `config` (`id` INTEGER PRIMARY KEY ASC,`layout` TEXT NOT NULL,`data_type` TEXT "
    "NOT NULL,`direction` TEXT NOT NULL,`spatial_dim` INT NOT NULL,`in_channels` INT NOT "
    "NULL,`in_h` INT NOT NULL,`in_w` INT NOT NULL,`in_d` INT NOT NULL,`fil_h` INT NOT "
    "NULL,`fil_w` INT NOT NULL,`fil_d` INT NOT NULL,`out_channels` INT NOT NULL, `batchsize` INT "
    "NOT NULL,`pad_h` INT NOT NULL,`pad_w` INT NOT NULL,`pad_d` INT NOT NULL,`conv_stride_h` INT "
    "NOT NULL,`conv_stride_w` INT NOT NULL,`conv_stride_d` INT NOT NULL,`dilation_h` INT NOT "
    "NULL,`dilation_w` INT NOT NULL,`dilation_d` INT NOT NULL,`bias` INT NOT NULL,`group_count` "
    "INT NOT NULL)";
constexpr std::string_view kConfigIndexSql =
    "CREATE UNIQUE INDEX `idx_config` ON config( "
    "layout,data_type,direction,spatial_dim,in_channels,in_h,in_w,in_d,fil_h,fil_w,fil_d,out_"
    "channels,batchsize,pad_h,pad_w,pad_d,conv_stride_h,conv_stride_w,conv_stride_d,dilation_h,"
    "dilation_w,dilation_d,bias,group_count )";
constexpr std::string_view kPerfSql =
    "CREATE TABLE `perf_db` (`id` INTEGER PRIMARY KEY ASC,`solver` TEXT NOT NULL,`config` INTEGER "
    "NOT NULL, {}`params` TEXT NOT NULL)";
constexpr std::string_view kGpuSql = "`arch` TEXT NOT NULL,`num_cu` INTEGER NOT NULL, ";
constexpr std::string_view kPerfIndexSql =
    "CREATE UNIQUE INDEX `idx_perf_db` ON perf_db(solver, config{})";

class TableReader {
 public:
  TableReader(SqliteFile& file, Findings& findings) : file_(file), findings_(findings) {}

  Result<PerfTables> Read() {
    ATTUNE_RETURN_IF_ERROR(file_.CheckTable("config", kIdColumn));
    ATTUNE_RETURN_IF_ERROR(file_.CheckTable("config", kKeyColumns));
    ATTUNE_RETURN_IF_ERROR(file_.CheckTable("perf_db", kPerfColumns));
    ATTUNE_ASSIGN_OR_RETURN(const bool is_for_all, file_.HasColumn("perf_db", kGpuColumns[0]));
    if (is_for_all) ATTUNE_RETURN_IF_ERROR(file_.CheckTable("perf_db", kGpuColumns));
    ATTUNE_RETURN_IF_ERROR(ReadConfigs());
    ATTUNE_RETURN_IF_ERROR(ReadItems(is_for_all));
    for (size_t i = 0; i < configs_.size(); ++i) {
      if (!is_used_[i]) Found(FindingKind::kUnusedConfig, configs_[i].id, configs_[i].key);
    }
    return Finish(is_for_all);
  }

 private:
  struct Config {
    int64_t id = 0;
    std::string key;
  };
  // Items of one target by the index of their configuration.
  using Items = std::vector<std::vector<PerfItem>>;

  void Found(FindingKind kind, int64_t id, std::string reason) {
    findings_.Add(kind, static_cast<uint64_t>(id), std::move(reason));
  }

  Status ReadConfigs() {
    ATTUNE_ASSIGN_OR_RETURN(SqliteStatement rows,
                            file_.Prepare(fmt::format("SELECT id, {} FROM config ORDER BY id",
                                                      fmt::join(kKeyColumns, ", "))));
    std::unordered_map<std::string, int64_t> id_of;
    for (;;) {
      ATTUNE_ASSIGN_OR_RETURN(const bool has_row, rows.Next());
      if (!has_row) return Status::Ok();
      const int64_t id = IdOf(rows);
      std::string key = KeyText(rows);
      if (id == 0) {
        Found(FindingKind::kBadRow, 0, fmt::format("A row of table config has no id: '{}'.", key));
        continue;
      }
      const auto parsed = ReadPerfKey(key);
      if (!parsed || Text(*parsed) != key) {
        Found(FindingKind::kBadRow, id,
              fmt::format("Row {} of table config: {}", id,
                          parsed ? fmt::format("MIOpen spells '{}' as '{}'", key, Text(*parsed))
                                 : parsed.error().reason));
        continue;
      }
      const auto [first, is_new] = id_of.try_emplace(key, id);
      if (!is_new) {
        Found(FindingKind::kDuplicateKey, id,
              fmt::format("Row {} of table config is row {} again: '{}'.", id, first->second, key));
        continue;
      }
      if (const std::string why = WhyImpossible(*parsed); !why.empty()) {
        Found(FindingKind::kImpossibleProblem, id,
              fmt::format("Row {} of table config, '{}': {}", id, key, why));
      }
      place_of_.emplace(id, configs_.size());
      configs_.push_back({id, std::move(key)});
    }
  }

  // A value of the wrong type is left empty, so that the key is invalid.
  static std::string KeyText(const SqliteStatement& row) {
    std::string key;
    for (size_t i = 0; i < std::size(kKeyColumns); ++i) {
      const int column = static_cast<int>(i) + 1;
      if (i > 0) key += 'x';
      if (i < kIntegerColumns) {
        const auto value = row.Integer(column);
        if (value.has_value()) fmt::format_to(std::back_inserter(key), "{}", *value);
      } else {
        key += row.Text(column).value_or("");
      }
    }
    return key;
  }

  Status ReadItems(bool is_for_all) {
    is_used_.resize(configs_.size());
    ATTUNE_ASSIGN_OR_RETURN(
        SqliteStatement rows,
        file_.Prepare(
            is_for_all ? "SELECT id, solver, config, params, arch, num_cu FROM perf_db ORDER BY id"
                       : "SELECT id, solver, config, params FROM perf_db ORDER BY id"));
    for (;;) {
      ATTUNE_ASSIGN_OR_RETURN(const bool has_row, rows.Next());
      if (!has_row) return Status::Ok();
      ReadItem(rows, is_for_all);
    }
  }

  void ReadItem(const SqliteStatement& row, bool is_for_all) {
    const int64_t id = IdOf(row);
    const auto solver = row.Text(1);
    const auto config = row.Integer(2);
    const auto params = row.Text(3);
    const auto bad = [this, id](std::string_view why) {
      Found(FindingKind::kBadRow, id, fmt::format("Row {} of table perf_db: {}", id, why));
    };
    if (id == 0) return bad("column id holds no number of a row.");
    if (!solver || !IsName(*solver)) return bad("column solver holds no name.");
    if (!params || !AreParameters(*params)) return bad("column params holds no parameters.");
    const auto place = place_of_.find(config.value_or(0));
    if (!config || place == place_of_.end()) {
      return bad("column config names no row of table config that can be read.");
    }
    std::string target;
    if (is_for_all) {
      target = TargetOf(row);
      if (target.empty()) return bad("columns arch and num_cu name no GPU.");
    }
    CheckSolver(*solver, static_cast<uint64_t>(id), fmt::format("in row {} of table perf_db", id),
                findings_);
    Keep(target, place->second, {std::string(*solver), std::string(*params)}, id);
  }

  // Printable, and without separators of MIOpen's texts.
  static bool IsName(std::string_view solver) {
    return !solver.empty() && std::all_of(solver.begin(), solver.end(), [](char c) {
      return c >= ' ' && c <= '~' && std::string_view(":;=,").find(c) == std::string_view::npos;
    });
  }

  // Row numbers of MIOpen and SQLite: from 1 on. 0 for anything else.
  static int64_t IdOf(const SqliteStatement& row) {
    return std::max<int64_t>(row.Integer(0).value_or(0), 0);
  }

  // The name of the GPU of a row; empty if no GPU has such columns.
  static std::string TargetOf(const SqliteStatement& row) {
    const auto arch = row.Text(4);
    const auto units = row.Integer(5);
    if (!arch || !units || *units < 1 || *units > kMostUnits) return {};
    const std::string target = TargetName({std::string(*arch), "", static_cast<int>(*units)});
    const auto gpu = ParseTargetName(target);
    // "gfx90" with 0xa68 units has the same name as "gfx90a" with 0x68.
    const bool is_same =
        gpu.ok() && gpu->arch + gpu->features == *arch && gpu->compute_units == *units;
    return is_same ? target : "";
  }

  void Keep(const std::string& target, size_t place, PerfItem item, int64_t id) {
    Items& items = items_of_[target];
    items.resize(configs_.size());
    is_used_[place] = true;
    const bool is_known =
        std::any_of(items[place].begin(), items[place].end(),
                    [&item](const PerfItem& other) { return other.solver == item.solver; });
    if (!is_known) return items[place].push_back(std::move(item));
    Found(FindingKind::kDuplicateSolver, id,
          fmt::format("Row {} of table perf_db: {} has parameters for '{}' before.", id,
                      Quoted(item.solver), configs_[place].key));
  }

  PerfTables Finish(bool is_for_all) {
    PerfTables tables;
    tables.schema = is_for_all ? PerfSchema::kOneForAll : PerfSchema::kOneForTarget;
    if (!is_for_all) items_of_[""].resize(configs_.size());
    for (auto& [target, items] : items_of_) {
      TargetPerfDb& db = tables.targets.emplace_back();
      db.target = target;
      for (size_t i = 0; i < configs_.size(); ++i) {
        // A target that shares the table with others keeps only configurations with items.
        if (is_for_all && items[i].empty()) continue;
        db.db.records.push_back(
            {configs_[i].key, std::move(items[i]), static_cast<uint64_t>(configs_[i].id)});
      }
    }
    return tables;
  }

  SqliteFile& file_;
  Findings& findings_;
  std::vector<Config> configs_;
  std::vector<bool> is_used_;
  std::unordered_map<int64_t, size_t> place_of_;  // In configs_, by id.
  std::map<std::string, Items> items_of_;         // By target.
};

class TableWriter {
 public:
  explicit TableWriter(SqliteFile& file) : file_(file) {}

  Status Write(const PerfTables& tables) {
    is_for_all_ = tables.schema == PerfSchema::kOneForAll;
    ATTUNE_RETURN_IF_ERROR(file_.Execute(std::string(kConfigSql)));
    ATTUNE_RETURN_IF_ERROR(file_.Execute(fmt::format(kPerfSql, is_for_all_ ? kGpuSql : "")));
    std::string places;
    for (size_t i = 0; i < std::size(kKeyColumns); ++i) {
      fmt::format_to(std::back_inserter(places), ", ?{}", i + 2);
    }
    ATTUNE_ASSIGN_OR_RETURN(SqliteStatement config,
                            file_.Prepare(fmt::format("INSERT INTO config (id, {}) VALUES (?1{})",
                                                      fmt::join(kKeyColumns, ", "), places)));
    ATTUNE_ASSIGN_OR_RETURN(
        SqliteStatement item,
        file_.Prepare(is_for_all_ ? "INSERT INTO perf_db (solver, config, params, arch, num_cu) "
                                    "VALUES (?1, ?2, ?3, ?4, ?5)"
                                  : "INSERT INTO perf_db (solver, config, params) VALUES (?1, ?2, "
                                    "?3)"));
    for (const TargetPerfDb& target : tables.targets) {
      ATTUNE_RETURN_IF_ERROR(WriteTarget(target, config, item));
    }
    ATTUNE_RETURN_IF_ERROR(file_.Execute(std::string(kConfigIndexSql)));
    return file_.Execute(fmt::format(kPerfIndexSql, is_for_all_ ? ", arch, num_cu" : ""));
  }

 private:
  Status WriteTarget(const TargetPerfDb& target, SqliteStatement& config, SqliteStatement& item) {
    GpuName gpu;
    if (is_for_all_) {
      ATTUNE_ASSIGN_OR_RETURN(gpu, ParseTargetName(target.target));
    }
    for (const PerfRecord& record : target.db.records) {
      ATTUNE_ASSIGN_OR_RETURN(const int64_t id, ConfigId(record.key, config));
      for (const PerfItem& each : record.items) {
        item.Bind(each.solver).Bind(id).Bind(each.params);
        if (is_for_all_) {
          item.Bind(gpu.arch + gpu.features).Bind(static_cast<int64_t>(gpu.compute_units));
        }
        ATTUNE_RETURN_IF_ERROR(item.Run());
      }
    }
    return Status::Ok();
  }

  Result<int64_t> ConfigId(const std::string& key, SqliteStatement& config) {
    const auto [known, is_new] = id_of_.try_emplace(key, static_cast<int64_t>(id_of_.size()) + 1);
    if (!is_new) return known->second;
    config.Bind(known->second);
    std::string_view rest = key;
    for (size_t i = 0; i < std::size(kKeyColumns); ++i) {
      const size_t end = std::min(rest.find('x'), rest.size());
      const std::string_view field = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      if (i >= kIntegerColumns) {
        config.Bind(field);
        continue;
      }
      int64_t value = 0;
      std::from_chars(field.data(), field.data() + field.size(), value);
      config.Bind(value);
    }
    ATTUNE_RETURN_IF_ERROR(config.Run());
    return known->second;
  }

  SqliteFile& file_;
  bool is_for_all_ = false;
  std::unordered_map<std::string, int64_t> id_of_;
};

}  // namespace

Result<PerfTables> ReadPerfTables(const std::filesystem::path& path, Findings& findings) {
  ATTUNE_ASSIGN_OR_RETURN(SqliteFile file, SqliteFile::OpenToRead(path));
  auto tables = TableReader(file, findings).Read();
  if (tables.ok()) return tables;
  return tables.error().WithContext(
      fmt::format("Reading '{}', which by its name is a perf-db with tables 'config' and 'perf_db'",
                  path.string()));
}

Status WritePerfTables(const std::filesystem::path& path, const PerfTables& tables) {
  if (tables.schema == PerfSchema::kOneForTarget && tables.targets.size() != 1) {
    return InvalidArgument(
        fmt::format("'{}' cannot have {} targets: a perf-db of version 1.1.0 is of one GPU. "
                    "Version 1.0.0 takes "
                    "several.",
                    path.string(), tables.targets.size()));
  }
  ATTUNE_ASSIGN_OR_RETURN(SqliteFile file, SqliteFile::Create(path));
  ATTUNE_RETURN_IF_ERROR(TableWriter(file).Write(tables).WithContext(
      fmt::format("Writing perf-db '{}'", path.string())));
  return file.Commit();
}

}  // namespace attune::miopen
