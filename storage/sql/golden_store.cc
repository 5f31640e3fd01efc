// The GoldenStore over a database.
#include "attune/session/golden_store.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "attune/base/unix_time.h"
#include "storage/sql/golden_rows.h"
#include "storage/sql/sql_database.h"
#include "storage/sql/sql_store.h"

namespace attune {
namespace sql {
namespace {

Status Unknown(std::string_view name, const std::vector<GoldenVersion>& versions) {
  std::string known;
  for (const GoldenVersion& version : versions) {
    known += fmt::format("{}{}", known.empty() ? "" : ", ", version.name);
  }
  return NotFound(fmt::format(
      "There is no golden version '{}'. {}", name,
      known.empty() ? "The database has none yet; 'attune golden create NAME' makes one."
                    : fmt::format("Versions here: {}.", known)));
}

const GoldenVersion* FindNamed(const std::vector<GoldenVersion>& versions, std::string_view name) {
  const auto found = std::find_if(versions.begin(), versions.end(),
                                  [&](const GoldenVersion& each) { return each.name == name; });
  return found == versions.end() ? nullptr : &*found;
}

std::vector<GoldenVersion> VersionsOf(const std::vector<GoldenRow>& rows) {
  std::vector<GoldenVersion> versions;
  for (const GoldenRow& row : rows) versions.push_back(row.version);
  return versions;
}

// The id of the base of a new version; nothing for the first version, and for the next one if no
// base is left.
Result<std::optional<int64_t>> FindBase(const std::vector<GoldenVersion>& versions,
                                        std::string_view name, std::string_view base) {
  if (base.empty()) {
    if (FindNewestBase(versions) == nullptr && FindOpenDraft(versions) == nullptr) {
      return std::optional<int64_t>();
    }
    return FailedPrecondition(
        fmt::format("Golden version '{}' cannot begin from nothing, because there are versions "
                    "already. {}",
                    name, HowToBegin(versions)));
  }
  const GoldenVersion* const found = FindNamed(versions, base);
  if (found == nullptr) return Unknown(base, versions);
  const GoldenVersion* const withdrawn = FindWithdrawn(versions, *found);
  if (found->is_approved() && withdrawn == nullptr) return std::optional<int64_t>(found->id);
  const std::string why =
      withdrawn == nullptr ? "it is a draft, which may change"
      : withdrawn->name == base
          ? "it was rolled back"
          : fmt::format("'{}', which it begins from, was rolled back", withdrawn->name);
  return FailedPrecondition(
      fmt::format("Golden version '{}' is no base: {}. {}", base, why, HowToBegin(versions)));
}

// kFailedPrecondition if `version` or one of its bases was rolled back: `what` cannot be done.
Status CheckStands(const std::vector<GoldenVersion>& versions, const GoldenVersion& version,
                   std::string_view what) {
  const GoldenVersion* const withdrawn = FindWithdrawn(versions, version);
  if (withdrawn == nullptr) return Status::Ok();
  const std::string which = withdrawn->name == version.name
                                ? std::string("it")
                                : fmt::format("'{}', which it begins from,", withdrawn->name);
  return FailedPrecondition(fmt::format("Golden version '{}' {}: {} was rolled back ({}). {}",
                                        version.name, what, which, withdrawn->withdrawn_because,
                                        HowToBegin(versions)));
}

Status ValidateEntry(const GoldenEntry& entry) {
  for (const double time : {entry.median_ns, entry.low_ns, entry.high_ns}) {
    if (std::isfinite(time) && time > 0) continue;
    return InvalidArgument(
        fmt::format("A time of {} for {} is {} ns; it must be finite and above 0.",
                    Text(entry.candidate), Text(entry.problem), time));
  }
  return Status::Ok();
}

class SqlGoldenStore final : public GoldenStore {
 public:
  explicit SqlGoldenStore(std::shared_ptr<SqlDatabase> database) : database_(std::move(database)) {}

  Result<GoldenVersion> Create(std::string_view name, std::string_view base,
                               std::string_view created_by) override {
    ATTUNE_RETURN_IF_ERROR(ValidateGoldenName(name));
    GoldenVersion created;
    const Status ended =
        database_->Write([&](DatabaseSession&, WriteTransaction& transaction) -> Status {
          ATTUNE_ASSIGN_OR_RETURN(const auto rows, ReadGolden(transaction.connection()));
          const std::vector<GoldenVersion> versions = VersionsOf(rows);
          if (FindNamed(versions, name) != nullptr) {
            return FailedPrecondition(
                fmt::format("There is a golden version '{}' already. Choose another name.", name));
          }
          GoldenRow row;
          ATTUNE_ASSIGN_OR_RETURN(row.base_id, FindBase(versions, name, base));
          row.version.name = name;
          row.version.created_by = created_by;
          row.version.created_unix_ns = UnixNowNs();
          ATTUNE_ASSIGN_OR_RETURN(row, InsertGolden(transaction, row));
          created = std::move(row.version);
          created.base = base;
          return Status::Ok();
        });
    if (!ended.ok()) return ended;
    return created;
  }

  Result<std::vector<GoldenVersion>> List() override {
    std::vector<GoldenVersion> versions;
    const Status ended = database_->ReadIfAny(GoldenTable(), [&](Connection& connection) -> Status {
      ATTUNE_ASSIGN_OR_RETURN(const auto rows, ReadGolden(connection));
      versions = VersionsOf(rows);
      return Status::Ok();
    });
    if (!ended.ok()) return ended;
    return versions;
  }

  Result<GoldenVersion> Find(std::string_view name) override {
    ATTUNE_ASSIGN_OR_RETURN(const auto versions, List());
    const GoldenVersion* const found = FindNamed(versions, name);
    if (found == nullptr) return Unknown(name, versions);
    return *found;
  }

  Status Add(int64_t version_id, std::span<const GoldenEntry> entries, int64_t seen) override {
    for (const GoldenEntry& entry : entries) ATTUNE_RETURN_IF_ERROR(ValidateEntry(entry));
    return Change(version_id, [&](WriteTransaction& transaction, GoldenRow& row) -> Status {
      ATTUNE_ASSIGN_OR_RETURN(const auto rows, ReadGolden(transaction.connection()));
      const std::vector<GoldenVersion> versions = VersionsOf(rows);
      ATTUNE_RETURN_IF_ERROR(CheckStands(versions, row.version, "takes nothing more"));
      if (row.version.is_approved()) {
        return FailedPrecondition(
            fmt::format("Golden version '{}' is approved and never changes. {}", row.version.name,
                        HowToBegin(versions)));
      }
      ATTUNE_ASSIGN_OR_RETURN(const auto present, ReadGoldenEntries(transaction.connection(), row));
      if (!present.empty() && present.back().id > seen) {
        return Unavailable(
            fmt::format("Somebody has added to golden version '{}' meanwhile, so that nothing was "
                        "added. The same command compares again.",
                        row.version.name));
      }
      for (const GoldenEntry& entry : entries) {
        ATTUNE_RETURN_IF_ERROR(InsertGoldenEntry(transaction, version_id, entry));
      }
      row.entry_count += static_cast<int64_t>(entries.size());
      return Status::Ok();
    });
  }

  Status Approve(int64_t version_id, std::string_view approved_by) override {
    ATTUNE_ASSIGN_OR_RETURN(const auto entries, Entries(version_id));
    return Change(version_id, [&](WriteTransaction& transaction, GoldenRow& row) -> Status {
      ATTUNE_ASSIGN_OR_RETURN(const auto rows, ReadGolden(transaction.connection()));
      // Also for an approved one: "is approved" would suggest that it can be used.
      ATTUNE_RETURN_IF_ERROR(CheckStands(VersionsOf(rows), row.version, "cannot be approved"));
      if (row.version.is_approved()) return Status::Ok();
      if (entries.empty()) {
        return FailedPrecondition(fmt::format(
            "Golden version '{0}' holds nothing. 'attune golden add {0} --session NAME' "
            "fills it.",
            row.version.name));
      }
      row.version.approved_by = approved_by;
      row.version.approved_unix_ns = UnixNowNs();
      return Status::Ok();
    });
  }

  Status Withdraw(int64_t version_id, std::string_view withdrawn_by,
                  std::string_view because) override {
    return Change(version_id, [&](WriteTransaction&, GoldenRow& row) -> Status {
      if (row.version.is_withdrawn()) {
        return FailedPrecondition(fmt::format(
            "Golden version '{}' was rolled back already, {} by {} ({}). That reason stays, and "
            "the new one was not recorded. 'attune golden list' shows it.",
            row.version.name, FormatMoment(row.version.withdrawn_unix_ns), row.version.withdrawn_by,
            row.version.withdrawn_because));
      }
      row.version.withdrawn_by = withdrawn_by;
      row.version.withdrawn_unix_ns = UnixNowNs();
      row.version.withdrawn_because = because;
      return Status::Ok();
    });
  }

  Result<std::vector<GoldenEntry>> Entries(int64_t version_id) override {
    // The first entry for a question counts: the newest one, and a version before its base.
    std::map<GoldenQuestion, GoldenEntry> effective;
    const Status ended = database_->ReadIfAny(GoldenTable(), [&](Connection& connection) -> Status {
      std::optional<int64_t> id = version_id;
      while (id.has_value()) {
        ATTUNE_ASSIGN_OR_RETURN(const GoldenRow row, ReadGoldenById(connection, *id));
        ATTUNE_ASSIGN_OR_RETURN(auto entries, ReadGoldenEntries(connection, row));
        for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
          GoldenQuestion question = QuestionOf(*entry);
          effective.try_emplace(std::move(question), std::move(*entry));
        }
        // A base is older than its successor; this check keeps damage from making a cycle.
        if (row.base_id.has_value() && *row.base_id >= *id) {
          return DataLoss(
              fmt::format("Row {} of table golden: column base_id holds {}.", *id, *row.base_id));
        }
        id = row.base_id;
      }
      return Status::Ok();
    });
    if (!ended.ok()) return ended;
    std::vector<GoldenEntry> list;
    for (auto& [question, entry] : effective) list.push_back(std::move(entry));
    std::sort(list.begin(), list.end(),
              [](const GoldenEntry& a, const GoldenEntry& b) { return a.id < b.id; });
    return list;
  }

 private:
  Status Change(int64_t version_id,
                const std::function<Status(WriteTransaction&, GoldenRow&)>& body) {
    return database_->Write([&](DatabaseSession&, WriteTransaction& transaction) -> Status {
      ATTUNE_ASSIGN_OR_RETURN(GoldenRow row, ReadGoldenById(transaction.connection(), version_id));
      ATTUNE_RETURN_IF_ERROR(body(transaction, row));
      return UpdateGolden(transaction, row);
    });
  }

  const std::shared_ptr<SqlDatabase> database_;
};

}  // namespace
}  // namespace sql

std::unique_ptr<GoldenStore> GoldenIn(std::shared_ptr<SqlDatabase> database) {
  return std::make_unique<sql::SqlGoldenStore>(std::move(database));
}

}  // namespace attune
