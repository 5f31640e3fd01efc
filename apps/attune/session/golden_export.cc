// attune golden export: a version as a package that run times open.

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/attune/counted.h"
#include "apps/attune/json_text.h"
#include "apps/attune/package_writer.h"
#include "apps/attune/session/absent_backend.h"
#include "apps/attune/session/golden_validity.h"
#include "apps/attune/session/golden_verbs.h"
#include "apps/attune/session/record_place.h"
#include "apps/attune/session/solver_survey.h"
#include "attune/session/golden_records.h"

namespace attune {
namespace {

struct ExportOptions {
  std::string name;
  GoldenPart part;
  std::string folder;
  bool with_kernels = false;
  bool json = false;
};

// Whether `target` is what `wanted` names: its whole text, its device or its architecture.
bool IsMeant(const Target& target, const std::string& wanted) {
  return wanted == Text(target) || wanted == target.device || wanted == target.arch;
}

// Whether `wanted` is spelled as a target is, whichever there are: the text of one, or what
// compilers call a GPU ("sm_90", "gfx90a:xnack-").
bool IsSpelledAsTarget(const std::string& wanted) {
  const std::string arch = wanted.substr(0, wanted.find(':'));
  const auto is_arch = [&arch](std::string_view prefix, std::string_view digits) {
    return arch.size() > prefix.size() && arch.starts_with(prefix) &&
           arch.find_first_not_of(digits, prefix.size()) == std::string::npos;
  };
  return ParseTarget(wanted).ok() || is_arch("sm_", "0123456789") ||
         is_arch("gfx", "0123456789abcdef");
}

// The only target of the entries that is meant. kNotFound where it is not among them, and
// kInvalidArgument where none or several are named, list those that there are.
Result<Target> TargetOf(const std::vector<GoldenEntry>& entries, const std::string& wanted) {
  std::vector<Target> meant;
  std::string known;
  std::vector<Target> seen;
  for (const GoldenEntry& entry : entries) {
    if (std::find(seen.begin(), seen.end(), entry.target) != seen.end()) continue;
    seen.push_back(entry.target);
    known += fmt::format("{}{}", known.empty() ? "" : ", ", Text(entry.target));
    if (wanted.empty() || IsMeant(entry.target, wanted)) meant.push_back(entry.target);
  }
  if (meant.size() == 1) return meant.front();
  const std::string what =
      wanted.empty()  ? "Several targets are in this version"
      : meant.empty() ? fmt::format("No target of this version is '{}'", Printable(wanted))
                      : fmt::format("Several targets of this version are '{}'", Printable(wanted));
  const std::string message = fmt::format(
      "{}; it has {}. Name one with --target, by its text, its device or its architecture.", what,
      known);
  return meant.empty() && IsSpelledAsTarget(wanted) ? NotFound(message) : InvalidArgument(message);
}

// Where the package is made: at what compiles for the target, or, if nothing is compiled, anywhere.
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
  // What can fail comes before the package, which would be there all the same.
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

// Whoever serves has no question of two answers.
Status CheckOneForEachProblem(const std::vector<GoldenEntry>& entries, const GoldenPart& part) {
  if (entries.empty()) {
    return InvalidArgument(
        fmt::format("The version has nothing with {} caches for this target.", part.cache));
  }
  std::set<std::string> problems;
  for (const GoldenEntry& entry : entries) {
    if (problems.insert(Text(entry.problem)).second) continue;
    std::set<std::string_view> states;
    for (const GoldenEntry& each : entries) states.insert(CacheName(each));
    return InvalidArgument(fmt::format(
        "The version has results of the same problems with caches in several states: {}. Name one "
        "with --cache.",
        fmt::join(states, ", ")));
  }
  return Status::Ok();
}

}  // namespace

CLI::Option* AddGoldenCacheOption(CLI::App& verb, std::string& cache) {
  return verb
      .add_option("--cache", cache,
                  "Results with caches in this state alone; needed if a problem has several")
      ->check(CLI::IsMember({"warm", "cold", "rotating"}));
}

Result<GoldenForTarget> OpenGoldenFor(Application& application, const std::string& name,
                                      const GoldenPart& part) {
  ATTUNE_ASSIGN_OR_RETURN(OpenedGolden opened, OpenGolden(application, name));
  ATTUNE_ASSIGN_OR_RETURN(const auto versions, application.golden()->List());
  if (const GoldenVersion* withdrawn = FindWithdrawn(versions, opened.version)) {
    return FailedPrecondition(
        withdrawn->name == opened.version.name
            ? fmt::format("Golden version '{}' was rolled back: {}", withdrawn->name,
                          withdrawn->withdrawn_because)
            : fmt::format("Golden version '{}' begins from '{}', which was rolled back: {}",
                          opened.version.name, withdrawn->name, withdrawn->withdrawn_because));
  }
  if (opened.entries.empty()) {
    return FailedPrecondition(fmt::format(
        "Golden version '{0}' is empty, so there is nothing to export. 'attune golden add {0} "
        "--session NAME' fills it.",
        opened.version.name));
  }
  GoldenForTarget golden;
  ATTUNE_ASSIGN_OR_RETURN(golden.target, TargetOf(opened.entries, part.target));
  std::erase_if(opened.entries, [&](const GoldenEntry& entry) {
    const bool is_of_cache = part.cache.empty() || part.cache == CacheName(entry);
    return entry.target != golden.target || !is_of_cache;
  });
  ATTUNE_RETURN_IF_ERROR(CheckOneForEachProblem(opened.entries, part));
  golden.version = std::move(opened.version);
  golden.entries = std::move(opened.entries);
  return golden;
}

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
