#include "apps/attune/recorded_program.h"

#include <stdlib.h>

#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "apps/attune/waited_program.h"
#include "attune/spool/recording_run.h"
#include "storage/sql/sql_store.h"

namespace attune {
namespace {

// Problems that the database has under `tag`; none if it cannot be read.
int64_t CountUnder(const std::filesystem::path& database, const std::string& tag) {
  SqlStoreOptions options;
  options.use = StoreUse::kRead;
  const auto store = OpenSqlStore(database.string(), options);
  const auto tags = store.ok() ? (*store)->Tags() : store.status();
  if (!tags.ok()) return 0;
  for (const auto& [name, count] : *tags) {
    if (name == tag) return count;
  }
  return 0;
}

class Report {
 public:
  Report(Output& err, std::string_view verb) : err_(err), verb_(verb) {}

  void Say(const std::string& sentence) {
    err_.Print(fmt::format("attune {}: {}\n", verb_, Printable(sentence)));
  }

  // What the processes could not record, by its reason.
  void SayLosses(const std::vector<SpoolLoss>& losses) {
    int64_t lost = 0;
    std::set<std::string> reasons;
    for (const SpoolLoss& loss : losses) {
      lost += loss.count;
      reasons.insert(loss.reason);
    }
    for (const std::string& reason : reasons) {
      Say(lost > 0
              ? fmt::format("{} problems were not recorded: {}", lost, reason)
              : fmt::format("Problems could not be written for a while, and those of a process "
                            "that was killed meanwhile are lost: {}",
                            reason));
    }
  }

 private:
  Output& err_;
  const std::string_view verb_;
};

// What the database takes of it now; why not, if it does not.
Status ImportAll(const std::filesystem::path& database, Report& report) {
  if (!HasSpools(database)) return Status::Ok();
  SqlStoreOptions options;
  options.imported = [&](const SpoolImport& imported) {
    for (const std::string& complaint : imported.complaints) report.Say(complaint);
  };
  return OpenSqlDatabase(database.string(), options).status();
}

void ReportEnd(Report& report, RecordingRun& run, const ProgramDatabase& database,
               const RecordedProgram& program) {
  const std::string& tag = program.tag;
  const int64_t before = CountUnder(database.file, tag);
  const Status imported = ImportAll(database.file, report);
  const RecordedCount count = run.Count();
  const int64_t added = CountUnder(database.file, tag) - before;
  std::string line = fmt::format("{} problem{} recorded under tag {}", count.problems,
                                 count.problems == 1 ? "" : "s", tag);
  if (count.waiting > 0) {
    line += fmt::format(", and {} of them wait{} beside the database", count.waiting,
                        count.waiting == 1 ? "s" : "");
    if (!imported.ok() && database.usable.ok()) line += fmt::format(": {}", imported.message());
  } else if (count.problems > 0) {
    line += fmt::format(", {} of them new", std::clamp<int64_t>(added, 0, count.problems));
  }
  report.Say(line);
  report.SayLosses(count.losses);
}

}  // namespace

Result<RecordedEnd> RunRecorded(Application& application, const ProgramDatabase& database,
                                const RecordedProgram& program) {
  Report report(application.err(), program.verb);
  std::optional<RecordingRun> run;
  {
    auto begun = RecordingRun::Begin(SpoolPlaceOf(database.file, database.is_default));
    if (!begun.ok()) return begun.error();
    run.emplace(*std::move(begun));
  }
  ::setenv(kRecordRunVariable, run->id().c_str(), 1);
  const auto end = RunWaited(program.command, program.in_child);
  if (!end.ok()) {
    ::unsetenv(kRecordRunVariable);
    return end.error();
  }
  if (end->start_error == 0) ReportEnd(report, *run, database, program);
  application.err().Flush();
  return RecordedEnd{end->start_error, end->wait_status};
}

}  // namespace attune
