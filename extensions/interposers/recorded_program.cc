#include "extensions/interposers/recorded_program.h"

#include <stdlib.h>

#include <optional>
#include <set>

#include <fmt/format.h>

#include "attune/record/recording_run.h"
#include "extensions/interposers/waited_program.h"
#include "storage/sql/sql_store.h"

namespace attune {
namespace {

// Keys of the problems under `tag`; none if the database is unreadable.
std::set<Fingerprint> KeysUnder(const std::filesystem::path& database, const std::string& tag) {
  std::set<Fingerprint> keys;
  SqlStoreOptions options;
  options.use = StoreUse::kRead;
  const auto store = OpenSqlStore(database.string(), options);
  if (!store.ok()) return keys;
  const auto problems = (*store)->Problems(tag);
  if (!problems.ok()) return keys;
  for (const TaggedProblem& tagged : *problems) keys.insert(KeyOf(tagged.problem));
  return keys;
}

class Report {
 public:
  Report(Output& err, std::string_view verb) : err_(err), verb_(verb) {}

  void Say(const std::string& sentence) {
    err_.Print(fmt::format("attune {}: {}\n", verb_, Printable(sentence)));
  }

  // Prints one line for each reason for which processes could not record problems.
  void SayLosses(const std::vector<SpoolLoss>& losses) {
    int64_t lost = 0;
    std::set<std::string> reasons;
    for (const SpoolLoss& loss : losses) {
      lost += loss.count;
      reasons.insert(loss.reason);
    }
    for (const std::string& reason : reasons) {
      Say(lost > 0 ? fmt::format("{} problems were not recorded: {}", lost, reason)
                   : fmt::format("Writing problems failed for a while. Processes that were killed "
                                 "meanwhile have lost theirs: {}",
                                 reason));
    }
  }

 private:
  Output& err_;
  const std::string_view verb_;
};

// Imports the recorded problems. Returns the reason if the database does not take them.
Status ImportAll(const std::filesystem::path& database, Report& report) {
  if (!HasSpools(database)) return Status::Ok();
  SqlStoreOptions options;
  options.imported = [&](const SpoolImport& imported) {
    for (const std::string& complaint : imported.complaints) report.Say(complaint);
  };
  return OpenSqlDatabase(database.string(), options).status();
}

void ReportEnd(Report& report, RecordingRun& run, const ProgramDatabase& database,
               const std::string& tag, const std::set<Fingerprint>& known) {
  const Status imported = ImportAll(database.file, report);
  const RecordedCount count = run.Count(known);
  std::string line = fmt::format("{} problem{} recorded under tag {}", count.problems,
                                 count.problems == 1 ? "" : "s", tag);
  if (count.waiting > 0) {
    line += fmt::format(", and {} of them wait{} beside the database", count.waiting,
                        count.waiting == 1 ? "s" : "");
    if (!imported.ok() && database.usable.ok()) line += fmt::format(": {}", imported.message());
  } else if (count.problems > 0) {
    line += fmt::format(", {} of them new", count.added);
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
  // Read before the program starts: other commands can import its problems while it runs.
  const std::set<Fingerprint> known = KeysUnder(database.file, program.tag);
  ::setenv(kRecordRunVariable, run->id().c_str(), 1);
  const auto end = RunWaited(program.command, program.in_child);
  if (!end.ok()) {
    ::unsetenv(kRecordRunVariable);
    return end.error();
  }
  if (end->start_error == 0) ReportEnd(report, *run, database, program.tag, known);
  application.err().Flush();
  return RecordedEnd{end->start_error, end->wait_status};
}

}  // namespace attune
