// attune golden export: a version as a package that run times open.

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/attune/counted.h"
#include "apps/attune/json_text.h"
#include "apps/attune/package_writer.h"
#include "apps/attune/session/absent_backend.h"
#include "apps/attune/session/golden_part.h"
#include "apps/attune/session/golden_validity.h"
#include "apps/attune/session/record_place.h"
#include "apps/attune/session/solver_survey.h"
#include "attune/session/golden_records.h"
#include "extensions/fleet/fleet_verbs.h"

namespace attune {
namespace {

struct ExportOptions {
  std::string name;
  GoldenPart part;
  std::string folder;
  bool with_kernels = false;
  bool json = false;
};

// Finds a device context that compiles for the target, or any if nothing is compiled.
Result<SessionPlace> FindExportPlace(Application& application, const GoldenForTarget& golden,
                                     bool with_kernels) {
  const std::string subject = fmt::format("golden version '{}'", golden.version.name);
  auto found = FindTargetPlace(application, subject, golden.target);
  if (found.ok() || found.error().code() != StatusCode::kNotFound) return found;
  if (with_kernels) {
    std::set<std::string> sessions;
    for (const GoldenEntry& entry : golden.entries) sessions.insert(entry.session);
    ATTUNE_RETURN_IF_ERROR(CheckHaveNoKernels(application, sessions, subject, found.status()));
  }
  SessionPlace elsewhere;
  elsewhere.owned = MakeAbsentBackend(golden.target.backend, {});
  elsewhere.backend = elsewhere.owned.get();
  return elsewhere;
}

Result<int> RunExport(Application& application, const ExportOptions& options) {
  ATTUNE_ASSIGN_OR_RETURN(const GoldenForTarget golden,
                          OpenGoldenFor(application, options.name, options.part));
  const Target& target = golden.target;
  ATTUNE_ASSIGN_OR_RETURN(const SessionPlace found,
                          FindExportPlace(application, golden, options.with_kernels));
  Place place;
  place.backend = found.backend;
  place.target = target;
  place.environment = found.environment;
  const auto records = RecordsOf(golden.entries, application.all_records());
  PackageContent content{*records, {}, place, {}, {}, {}};
  content.golden = PackagedGolden{golden.version.name, golden.version.is_approved()};
  if (options.with_kernels && !found.backend->solvers().empty()) {
    for (const GoldenEntry& entry : golden.entries) {
      content.winners.emplace_back(entry.problem, entry.candidate);
      content.problems.push_back(entry.problem);
    }
  }
  // Steps that can fail run before the package is written: it would stay.
  ATTUNE_ASSIGN_OR_RETURN(const auto stale, ReasonsStale(application, golden.entries));
  ATTUNE_ASSIGN_OR_RETURN(const auto mixed, MixedEnvironments(application, golden.entries));
  ATTUNE_ASSIGN_OR_RETURN(const WrittenPackage written, WritePackage(content, options.folder));
  const bool is_draft = !golden.version.is_approved();
  if (options.json) {
    application.out().Print(Dump({{"folder", options.folder},
                                  {"version", golden.version.name},
                                  {"approved", !is_draft},
                                  {"target", Text(target)},
                                  {"problems", written.problems},
                                  {"left_out", written.left_out},
                                  {"stale", stale.size()},
                                  {"mixed", mixed},
                                  {"kernels", written.kernels},
                                  {"sha256", written.sha256}}));
  } else {
    application.out().Print(fmt::format(
        "{}: {} of golden version '{}'{}, {}, sha256 {}\n", Printable(options.folder),
        Counted(written.problems, "problem"), golden.version.name, is_draft ? " (a draft)" : "",
        Counted(written.kernels, "kernel"), written.sha256));
  }
  for (const std::string& sentence : written.left_out) {
    application.err().Print(Printable(sentence) + "\n");
  }
  for (const std::string& sentence : mixed) application.err().Print(Printable(sentence) + "\n");
  application.err().Print(StaleText(stale, golden.entries.size()));
  return written.left_out.empty() && stale.empty() ? kExitDone : kExitPartly;
}

}  // namespace

void AddGoldenExportVerb(CLI::App& golden, Invocation& invocation) {
  auto options = std::make_shared<ExportOptions>();
  CLI::App* verb = AddVerb(golden, "export", "Write the read-only package that run times open",
                           "  attune golden export 1 --with-kernels -o golden-1-kernels\n\n"
                           "Exit status: 0, or 3 if something was left out or is stale; 1 if the "
                           "version has nothing for\n--target, 2 if that is no target.");
  verb->add_option("version", options->name, "The version")
      ->required()
      ->check(NameWithin(kMaxSessionNameBytes))
      ->type_name("VERSION");
  verb->add_option("--target", options->part.target,
                   "Which of its targets, by text, name of its device or architecture; needed if "
                   "it has several")
      ->type_name("TARGET");
  AddGoldenCacheOption(*verb, options->part.cache);
  verb->add_flag("--with-kernels", options->with_kernels,
                 "Also every winner's compiled kernel, and every one that serves any size");
  verb->add_option("-o,--output", options->folder, "A new folder")->required()->type_name("FOLDER");
  AddJsonFlag(*verb, options->json);
  verb->callback([options, &invocation] {
    invocation.run = [options](Application& application) {
      return RunExport(application, *options);
    };
  });
}

}  // namespace attune
