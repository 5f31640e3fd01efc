#include "extensions/models/seer/profiler_csv.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "attune/base/text.h"
#include "attune/base/text_place.h"
#include "extensions/models/seer/profiler_metric.h"

namespace attune::seer {
namespace {

constexpr size_t kMostLaunches = 1'000'000;

struct CsvField {
  std::string text;
  size_t offset = 0;  // From the start of the text.
};
using CsvFields = std::vector<CsvField>;

// A row of CSV by RFC 4180, or the place of its error.
struct ScannedRow {
  CsvFields fields;
  std::optional<size_t> fault;  // The offset of a misplaced quote.
};

ScannedRow ScanRow(std::string_view line, size_t offset) {
  ScannedRow row;
  size_t at = 0;
  while (true) {
    CsvField field{"", offset + at};
    if (line.substr(at).starts_with('"')) {
      for (++at; at < line.size(); ++at) {
        if (line[at] != '"') {
          field.text += line[at];
        } else if (line.substr(at + 1).starts_with('"')) {
          field.text += line[++at];
        } else {
          break;
        }
      }
      const bool is_closed = at < line.size();
      at = std::min(at + 1, line.size());
      if (!is_closed || (at < line.size() && line[at] != ',')) row.fault = field.offset;
    }
    const size_t end = std::min(line.find(',', at), line.size());
    field.text += line.substr(at, end - at);
    row.fields.push_back(std::move(field));
    if (end == line.size()) return row;
    at = end + 1;
  }
}

// "(128, 1, 1)", or one number.
std::optional<std::array<int64_t, 3>> ExtentsOf(std::string_view text) {
  text = Trimmed(text);
  if (text.starts_with('(') && text.ends_with(')')) text = text.substr(1, text.size() - 2);
  std::array<int64_t, 3> extents = {1, 1, 1};
  for (int64_t& extent : extents) {
    const std::string_view word = Trimmed(text.substr(0, text.find(',')));
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), extent);
    if (error != std::errc() || end != word.data() + word.size() || extent < 1) return std::nullopt;
    if (text.find(',') == std::string_view::npos) return extents;
    text.remove_prefix(text.find(',') + 1);
  }
  return std::nullopt;
}

// "gemm(float*) [107]": nvprof numbers the calls of a trace.
std::string WithoutNumber(std::string name) {
  const size_t open = name.rfind(" [");
  if (open == std::string::npos || !name.ends_with(']')) return name;
  const std::string_view number = std::string_view(name).substr(open + 2, name.size() - open - 3);
  if (number.empty() || number.find_first_not_of("0123456789") != std::string_view::npos)
    return name;
  return name.substr(0, open);
}

// A launch while its metrics are read.
struct PartialLaunch {
  ProfiledLaunch launch;
  std::array<std::optional<double>, kFigures> figures;
};

ProfiledLaunch Finished(PartialLaunch partial) {
  ProfiledLaunch launch = std::move(partial.launch);
  const auto& figures = partial.figures;
  launch.time_ms = figures[kTime];
  launch.instructions = figures[kFp32];
  if (!launch.instructions && figures[kFfma] && figures[kFadd] && figures[kFmul]) {
    launch.instructions = *figures[kFfma] + *figures[kFadd] + *figures[kFmul];
  }
  launch.read_sectors = figures[kReads];
  launch.write_sectors = figures[kWrites];
  launch.fp_utilisation = figures[kFp];
  launch.dram_utilisation = figures[kDram];
  if (figures[kRegisters]) launch.registers = std::llround(*figures[kRegisters]);
  if (figures[kStaticShared] || figures[kDynamicShared]) {
    launch.shared_bytes =
        std::llround(figures[kStaticShared].value_or(0) + figures[kDynamicShared].value_or(0));
  }
  if (!launch.grid && figures[kGrid]) launch.grid = {std::llround(*figures[kGrid]), 1, 1};
  if (!launch.block && figures[kBlock]) launch.block = {std::llround(*figures[kBlock]), 1, 1};
  return launch;
}

// The layout of a table, from the line that names its columns.
enum class Layout {
  kOther,          // A table of something else.
  kTrace,          // nvprof --print-gpu-trace: a launch per row, below a row of units.
  kMetricTrace,    // The same with --metrics.
  kMetricSummary,  // nvprof --metrics: a metric of a kernel per row.
  kTimeSummary,    // nvprof alone: a kernel per row, below a row of units.
  kNcuMetrics,     // ncu: a metric of a launch per row.
  kNcuSummary,     // ncu --print-summary: a metric of a kernel per row.
  kNcuRaw,         // ncu --page raw: a launch per row, below a row of units.
};

using Columns = std::map<std::string, size_t, std::less<>>;  // The first of each name.

std::optional<Layout> LayoutOf(const Columns& columns) {
  const auto has = [&](std::initializer_list<std::string_view> names) {
    return std::ranges::all_of(names,
                               [&](std::string_view name) { return columns.contains(name); });
  };
  if (has({"Start", "Duration", "Name"})) return has({"Grid X"}) ? Layout::kTrace : Layout::kOther;
  if (has({"Kernel", "Invocations", "Metric Name", "Avg"})) return Layout::kMetricSummary;
  if (has({"Kernel", "Invocations", "Event Name"})) return Layout::kOther;
  if (has({"Device", "Context", "Stream", "Kernel"})) return Layout::kMetricTrace;
  if (has({"Time(%)", "Calls", "Avg", "Name"})) return Layout::kTimeSummary;
  if (has({"Kernel Name", "Metric Name", "Metric Value"})) return Layout::kNcuMetrics;
  if (has({"Kernel Name", "Invocations", "Metric Name", "Average"})) return Layout::kNcuSummary;
  if (has({"ID", "Kernel Name"})) return Layout::kNcuRaw;
  return std::nullopt;
}

class ProfilerReader {
 public:
  explicit ProfilerReader(std::string_view text) : text_(text) {}

  Result<std::vector<ProfiledLaunch>> Read() {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    size_t at = text_.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
    while (at < text_.size()) {
      const size_t end = std::min(text_.find('\n', at), text_.size());
      std::string_view line = text_.substr(at, end - at);
      if (line.ends_with('\r')) line.remove_suffix(1);
      ATTUNE_RETURN_IF_ERROR(ReadLine(line, at));
      at = end + 1;
    }
    if (awaits_units_) return Wrong(text_.size(), "the row of units is missing.");
    std::vector<ProfiledLaunch> launches;
    for (PartialLaunch& partial : launches_) launches.push_back(Finished(std::move(partial)));
    if (!launches.empty()) return launches;
    if (has_table_) return InvalidArgument("there is no launch of a kernel in its tables.");
    return InvalidArgument(
        "no line names columns as 'nvprof --csv' and 'ncu --csv' do: \"Start\",\"Duration\",... or "
        "\"ID\",\"Process ID\",...,\"Kernel Name\",...");
  }

 private:
  Status Wrong(size_t offset, std::string_view reason) const {
    return InvalidArgument(fmt::format("{}: {}", Text(PlaceAt(text_, offset)), reason));
  }

  // Lines of the profiler itself begin with ==. Lines of the profiled program, which may appear
  // between rows, begin with neither a quote nor a number.
  static bool MayBeRow(std::string_view line) {
    return line.front() == '"' || line.front() == ',' || line.front() == '.' ||
           line.front() == '-' || (line.front() >= '0' && line.front() <= '9');
  }

  Status ReadLine(std::string_view line, size_t offset) {
    if (line.find_first_not_of(" \t") == std::string_view::npos) {
      if (awaits_units_) return Wrong(offset, "the row of units is missing.");
      layout_.reset();  // nvprof has an empty line between tables.
      return Status::Ok();
    }
    if (line.starts_with("==")) return Status::Ok();
    const ScannedRow row = ScanRow(line, offset);
    if (TakeHeader(row)) return Status::Ok();
    if (!layout_.has_value() || *layout_ == Layout::kOther) return Status::Ok();
    if (!awaits_units_ && !MayBeRow(line)) return Status::Ok();
    if (row.fault.has_value())
      return Wrong(*row.fault, "a quote does not end where the field does.");
    if (row.fields.size() != names_.size()) {
      return Wrong(offset + line.size(), fmt::format("{} fields, where the columns are {}.",
                                                     row.fields.size(), names_.size()));
    }
    if (std::exchange(awaits_units_, false)) return TakeUnits(row.fields);
    const bool may_have_units = *layout_ == Layout::kNcuRaw || *layout_ == Layout::kMetricTrace;
    if (may_have_units && units_.empty()) {
      units_.resize(names_.size());
      const char* const name = *layout_ == Layout::kNcuRaw ? "Kernel Name" : "Kernel";
      if (row.fields[columns_.find(name)->second].text.empty()) return TakeUnits(row.fields);
    }
    return TakeRow(row.fields);
  }

  bool TakeHeader(const ScannedRow& row) {
    if (row.fault.has_value() || row.fields.size() < 2) return false;
    Columns columns;
    for (size_t i = 0; i < row.fields.size(); ++i) columns.emplace(row.fields[i].text, i);
    const auto layout = LayoutOf(columns);
    if (!layout.has_value()) return false;
    layout_ = layout;
    columns_ = std::move(columns);
    names_.clear();
    for (const CsvField& field : row.fields) names_.push_back(field.text);
    units_.clear();
    in_table_.clear();
    awaits_units_ = *layout == Layout::kTrace || *layout == Layout::kTimeSummary;
    has_table_ = has_table_ || *layout != Layout::kOther;
    return true;
  }

  Status TakeUnits(const CsvFields& fields) {
    units_.clear();
    for (const CsvField& field : fields) {
      if (NumberOf(field.text).has_value()) {
        return Wrong(field.offset,
                     fmt::format("'{}' is no unit, and the row of units belongs here.",
                                 Excerpt(field.text)));
      }
      units_.emplace_back(Trimmed(field.text));
    }
    return Status::Ok();
  }

  const CsvField& At(const CsvFields& fields, std::string_view column) const {
    return fields[columns_.find(column)->second];
  }
  bool Has(std::string_view column) const { return columns_.contains(column); }

  // The launch of this row: a new one, or in tables of metrics the one with the same key.
  Result<PartialLaunch*> LaunchOf(const CsvFields& fields, std::string_view name_column,
                                  const std::string& key) {
    const auto known = key.empty() ? in_table_.end() : in_table_.find(key);
    if (known != in_table_.end()) return &launches_[known->second];
    const CsvField& name = At(fields, name_column);
    if (name.text.empty()) return Wrong(name.offset, "the kernel has no name.");
    if (launches_.size() >= kMostLaunches) {
      return Wrong(name.offset, fmt::format("more than {} launches.", kMostLaunches));
    }
    if (!key.empty()) in_table_[key] = launches_.size();
    PartialLaunch& partial = launches_.emplace_back();
    partial.launch.kernel = WithoutNumber(name.text);
    return &partial;
  }

  Status TakeRow(const CsvFields& fields) {
    switch (*layout_) {
      case Layout::kOther:
        return Status::Ok();
      case Layout::kTrace:
        return TakeTraceRow(fields);
      case Layout::kMetricTrace:
        return TakeWideRow(fields, "Kernel");
      case Layout::kNcuRaw:
        return TakeWideRow(fields, "Kernel Name");
      case Layout::kMetricSummary:
        return TakeMetricRow(fields, "Kernel", "Avg");
      case Layout::kNcuSummary:
        return TakeMetricRow(fields, "Kernel Name", "Average");
      case Layout::kNcuMetrics:
        return TakeMetricRow(fields, "Kernel Name", "Metric Value");
      case Layout::kTimeSummary:
        return TakeTimeRow(fields);
    }
    return Status::Ok();
  }

  Status TakeTraceRow(const CsvFields& fields) {
    // Copies and fills of memory have no grid.
    if (At(fields, "Grid X").text.empty()) return Status::Ok();
    ATTUNE_ASSIGN_OR_RETURN(PartialLaunch * launch, LaunchOf(fields, "Name", ""));
    for (const auto& [prefix, extents] :
         {std::pair("Grid ", &launch->launch.grid), {"Block ", &launch->launch.block}}) {
      std::array<int64_t, 3> found = {};
      for (size_t axis = 0; axis < found.size(); ++axis) {
        const std::string column = prefix + std::string(1, static_cast<char>('X' + axis));
        if (!Has(column))
          return Wrong(fields.front().offset, fmt::format("no column '{}'.", column));
        const auto extent = ExtentsOf(At(fields, column).text);
        if (!extent.has_value()) return WrongValue(At(fields, column), column, "an extent");
        found[axis] = (*extent)[0];
      }
      *extents = found;
    }
    return TakeFigures(fields, *launch);
  }

  Status TakeWideRow(const CsvFields& fields, std::string_view name_column) {
    ATTUNE_ASSIGN_OR_RETURN(PartialLaunch * launch, LaunchOf(fields, name_column, ""));
    ATTUNE_RETURN_IF_ERROR(TakeExtents(fields, *launch));
    return TakeFigures(fields, *launch);
  }

  // Reads the columns with names of metrics.
  Status TakeFigures(const CsvFields& fields, PartialLaunch& launch) {
    for (size_t i = 0; i < fields.size(); ++i) {
      const Metric* const metric = FindMetric(names_[i]);
      const std::string unit = i < units_.size() ? units_[i] : "";
      if (metric != nullptr) ATTUNE_RETURN_IF_ERROR(TakeFigure(*metric, fields[i], unit, launch));
    }
    return Status::Ok();
  }

  // ncu has the shape of a launch in columns of every layout, except in old versions.
  Status TakeExtents(const CsvFields& fields, PartialLaunch& launch) {
    for (const auto& [column, extents] :
         {std::pair("Grid Size", &launch.launch.grid), {"Block Size", &launch.launch.block}}) {
      if (!Has(column) || extents->has_value()) continue;
      *extents = ExtentsOf(At(fields, column).text);
      if (!extents->has_value()) return WrongValue(At(fields, column), column, "three extents");
    }
    return Status::Ok();
  }

  Status TakeMetricRow(const CsvFields& fields, std::string_view name_column,
                       std::string_view value_column) {
    std::string key = "k";
    for (const std::string_view column : {"ID", "Process ID", "Device", "Context", "Stream"}) {
      if (Has(column)) key += At(fields, column).text + ",";
    }
    if (!Has("ID")) key += At(fields, name_column).text;
    ATTUNE_ASSIGN_OR_RETURN(PartialLaunch * launch, LaunchOf(fields, name_column, key));
    if (launch->launch.kernel != WithoutNumber(At(fields, name_column).text)) {
      return Wrong(At(fields, name_column).offset, "two kernels have one ID.");
    }
    ATTUNE_RETURN_IF_ERROR(TakeExtents(fields, *launch));
    if (Has("Invocations")) {
      ATTUNE_ASSIGN_OR_RETURN(launch->launch.launches, CountIn(fields, "Invocations"));
    }
    const std::string& name = At(fields, "Metric Name").text;
    const std::string unit = Has("Metric Unit") ? At(fields, "Metric Unit").text : "";
    const CsvField& value = At(fields, value_column);
    // Old versions have these as metrics, not as columns.
    const Metric* metric = FindMetric(name);
    constexpr Metric kOldGrid = {"Grid Size", kGrid, Measure::kCount};
    constexpr Metric kOldBlock = {"Block Size", kBlock, Measure::kCount};
    if (name == kOldGrid.name && !launch->launch.grid) metric = &kOldGrid;
    if (name == kOldBlock.name && !launch->launch.block) metric = &kOldBlock;
    return metric == nullptr ? Status::Ok() : TakeFigure(*metric, value, unit, *launch);
  }

  Status TakeTimeRow(const CsvFields& fields) {
    const bool is_api = Has("Type") && At(fields, "Type").text != "GPU activities";
    if (is_api || At(fields, "Name").text.starts_with("[CUDA ")) return Status::Ok();
    ATTUNE_ASSIGN_OR_RETURN(PartialLaunch * launch, LaunchOf(fields, "Name", ""));
    ATTUNE_ASSIGN_OR_RETURN(launch->launch.launches, CountIn(fields, "Calls"));
    const Metric average = {"Avg", kTime, Measure::kMilliseconds};
    return TakeFigure(average, At(fields, "Avg"), units_[columns_.at("Avg")], *launch);
  }

  Result<int64_t> CountIn(const CsvFields& fields, std::string_view column) const {
    const auto count = NumberOf(At(fields, column).text);
    if (count.has_value() && *count >= 1 && *count <= 1e12) return std::llround(*count);
    return WrongValue(At(fields, column), column, "a number of launches");
  }

  Status WrongValue(const CsvField& field, std::string_view name, std::string_view what) const {
    return Wrong(field.offset,
                 fmt::format("{} is '{}', and has to be {}.", name, Excerpt(field.text), what));
  }

  // The first value of a metric counts: a section of ncu may repeat one of another.
  Status TakeFigure(const Metric& metric, const CsvField& field, const std::string& unit,
                    PartialLaunch& launch) {
    std::optional<double>& figure = launch.figures[metric.figure];
    if (figure.has_value() || IsUnknown(field.text)) return Status::Ok();
    const auto factor = FactorOf(unit, metric.measure);
    if (!factor.has_value()) {
      // The metric of that name in another unit, such as a throughput in bytes.
      if (metric.measure == Measure::kTenths) return Status::Ok();
      return Wrong(field.offset,
                   fmt::format("the unit '{}' of {} is not known.", Excerpt(unit), metric.name));
    }
    const auto value =
        metric.measure == Measure::kTenths ? TenthsOf(field.text) : NumberOf(field.text);
    if (!value.has_value() || *value < 0 || *value > 1e18) {
      return WrongValue(field, metric.name, "a number of 0 or more");
    }
    figure = *value * *factor;
    return Status::Ok();
  }

  const std::string_view text_;
  std::optional<Layout> layout_;
  Columns columns_;
  std::vector<std::string> names_;
  std::vector<std::string> units_;
  bool awaits_units_ = false;
  bool has_table_ = false;
  std::vector<PartialLaunch> launches_;
  std::map<std::string, size_t> in_table_;  // Launches of the table by their key.
};

template <class Value>
void TakeIfUnknown(const std::optional<Value>& from, std::optional<Value>& to) {
  if (!to.has_value()) to = from;
}

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

template <class Value>
std::string ValueText(const std::optional<Value>& value) {
  return value.has_value() ? fmt::format("{}", *value) : std::string();
}

std::string ExtentsText(const std::optional<std::array<int64_t, 3>>& extents) {
  if (!extents.has_value()) return "";
  return fmt::format("{}x{}x{}", (*extents)[0], (*extents)[1], (*extents)[2]);
}

}  // namespace

Result<std::vector<ProfiledLaunch>> ReadProfilerCsv(std::string_view text) {
  return ProfilerReader(text).Read();
}

Result<std::vector<ProfiledLaunch>> MergeLaunches(
    std::span<const std::vector<ProfiledLaunch>> outputs) {
  if (outputs.empty()) return std::vector<ProfiledLaunch>();
  std::vector<ProfiledLaunch> merged = outputs.front();
  for (size_t i = 1; i < outputs.size(); ++i) {
    if (outputs[i].size() != merged.size()) {
      return InvalidArgument(fmt::format("output 1 has {} launches, and output {} has {}.",
                                         merged.size(), i + 1, outputs[i].size()));
    }
    for (size_t at = 0; at < merged.size(); ++at) {
      ProfiledLaunch& to = merged[at];
      const ProfiledLaunch& from = outputs[i][at];
      if (to.kernel != from.kernel || to.launches != from.launches) {
        return InvalidArgument(fmt::format(
            "launch {} is '{}' ({} times) in output 1, and '{}' ({} times) in output {}.", at + 1,
            Excerpt(to.kernel), to.launches, Excerpt(from.kernel), from.launches, i + 1));
      }
      TakeIfUnknown(from.grid, to.grid);
      TakeIfUnknown(from.block, to.block);
      TakeIfUnknown(from.registers, to.registers);
      TakeIfUnknown(from.shared_bytes, to.shared_bytes);
      TakeIfUnknown(from.time_ms, to.time_ms);
      TakeIfUnknown(from.instructions, to.instructions);
      TakeIfUnknown(from.read_sectors, to.read_sectors);
      TakeIfUnknown(from.write_sectors, to.write_sectors);
      TakeIfUnknown(from.fp_utilisation, to.fp_utilisation);
      TakeIfUnknown(from.dram_utilisation, to.dram_utilisation);
    }
  }
  return merged;
}

std::string Csv(std::span<const ProfiledLaunch> launches) {
  std::string text =
      "kernel,launches,grid,block,registers,shared_bytes,time_ms,instructions,read_sectors,"
      "write_sectors,fp_utilisation,dram_utilisation\n";
  for (const ProfiledLaunch& x : launches) {
    text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{}\n", Quoted(x.kernel), x.launches,
                        ExtentsText(x.grid), ExtentsText(x.block), ValueText(x.registers),
                        ValueText(x.shared_bytes), ValueText(x.time_ms), ValueText(x.instructions),
                        ValueText(x.read_sectors), ValueText(x.write_sectors),
                        ValueText(x.fp_utilisation), ValueText(x.dram_utilisation));
  }
  return text;
}

}  // namespace attune::seer
