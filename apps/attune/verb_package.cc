// attune package: makes, checks, lints and shows packages of records and compiled kernels.

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/attune/choices.h"
#include "apps/attune/counted.h"
#include "apps/attune/json_text.h"
#include "apps/attune/package_lint.h"
#include "apps/attune/package_writer.h"
#include "apps/attune/session/solver_survey.h"
#include "apps/attune/terminal.h"
#include "apps/attune/verbs.h"
#include "attune/index/package_folder.h"

namespace attune {
namespace {

struct PackageOptions {
  ProblemSelection selection;  // A tag or a model, a session, or both.
  std::string folder;
  std::string device;  // FindRecordPlace.
  std::string sha256;
  bool json = false;
};

// The place to compile the kernels of `list`: its device, or the compilers for it, if anything must
// be compiled. kUnavailable if there is none here.
Result<SessionPlace> FindPackingPlace(Application& application, const ChosenList& list) {
  if (list.where.has_device()) return SessionPlaceAt(list.where.place);
  const Session& session = *application.session();
  auto compiles = FindSessionPlace(application, session);
  if (compiles.ok()) return compiles;
  if (compiles.error().code() != StatusCode::kNotFound) return compiles.error();
  const std::string subject = fmt::format("session '{}'", session.name);
  ATTUNE_RETURN_IF_ERROR(
      CheckHaveNoKernels(application, {session.name}, subject, compiles.status()));
  return SessionPlaceAt(list.where.place);
}

// The choice, or the default if only the compilers for the device can give it.
std::optional<Candidate> WinnerOf(const Place& place, const ChosenProblem& problem) {
  return problem.choice ? problem.choice->candidate
                        : DefaultCandidate(place, problem.tagged.problem);
}

Result<int> RunCreate(Application& application, const PackageOptions& options) {
  ChoiceQuery choices;
  choices.selection = options.selection;
  ATTUNE_ASSIGN_OR_RETURN(const ChosenList list,
                          ChooseSelected(application, options.device, choices));
  std::vector<Problem> problems;
  for (const ChosenProblem& problem : list.problems) problems.push_back(problem.tagged.problem);
  ATTUNE_ASSIGN_OR_RETURN(const SessionPlace packing, FindPackingPlace(application, list));
  Place place = list.where.place;
  place.backend = packing.backend;
  PackageContent content{*list.store, {options.selection.tag, problems}, place, {}, problems, {}};
  for (const ChosenProblem& problem : list.problems) {
    if (const auto winner = WinnerOf(place, problem)) {
      content.winners.emplace_back(problem.tagged.problem, *winner);
    }
  }
  ATTUNE_ASSIGN_OR_RETURN(const WrittenPackage written, WritePackage(content, options.folder));
  application.out().Print(options.json
                              ? Dump({{"folder", options.folder},
                                      {"problems", written.problems},
                                      {"left_out", written.left_out},
                                      {"kernels", written.kernels},
                                      {"sha256", written.sha256}})
                              : fmt::format("{}: {}, {}, sha256 {}\n", Printable(options.folder),
                                            Counted(written.problems, "problem"),
                                            Counted(written.kernels, "kernel"), written.sha256));
  application.out().Flush();
  for (const std::string& sentence : written.left_out) {
    application.err().Print(Printable(sentence) + "\n");
  }
  return written.left_out.empty() ? kExitDone : kExitPartly;
}

// Faults of the files, or why they could not be checked.
Json JsonOf(const PackageReference& reference, const Status& verified) {
  Json json = {{"folder", reference.folder.string()},
               {"verified", verified.ok()},
               {"findings", Json::array()},
               {"error", ""}};
  if (verified.ok()) return json;
  const auto wrong = CheckFiles(reference);
  json["error"] = wrong.ok() ? "" : wrong.error().message();
  if (!wrong.ok()) return json;
  for (const WrongFile& file : *wrong) {
    json["findings"].push_back({{"fault", Name(FaultOf(file))}, {"subject", file.path}});
  }
  return json;
}

Result<int> RunVerify(Application& application, const PackageOptions& options) {
  const PackageReference reference{options.folder, options.sha256};
  const Status verified = VerifyPackage(reference);
  if (options.json) application.out().Print(Dump(JsonOf(reference, verified)));
  ATTUNE_RETURN_IF_ERROR(verified);
  if (!options.json) {
    application.out().Print(
        fmt::format("{}: every file is what the manifest says.\n", Printable(options.folder)));
  }
  return kExitDone;
}

Result<int> RunShow(Application& application, const PackageOptions& options) {
  ATTUNE_ASSIGN_OR_RETURN(const ManifestFile read,
                          ReadManifestFile({options.folder, options.sha256}));
  const Manifest& manifest = read.manifest;
  if (options.json) {
    application.out().Print(read.text);
    return kExitDone;
  }
  int64_t bytes = 0;
  for (const auto& [path, file] : manifest.files) bytes += file.size_bytes;
  std::string golden;
  if (manifest.golden) {
    golden = fmt::format("Golden   {}{}\n", Printable(manifest.golden->version),
                         manifest.golden->is_approved ? "" : ", a draft");
  }
  std::string caches;
  if (!manifest.caches.empty()) {
    caches = fmt::format("Caches   {}\n",
                         Printable(fmt::format("{}", fmt::join(manifest.caches, ", "))));
  }
  application.out().Print(fmt::format(
      "Target   {}\n{}{}Made     {} by {}\nFiles    {}, {} bytes\nSha256   {}\n",
      Printable(manifest.target), golden, caches, Printable(manifest.created),
      Printable(manifest.attune_version), manifest.files.size(), bytes, Sha256Hex(read.text)));
  return kExitDone;
}

Json JsonOf(const PackageOptions& options, const std::vector<PackageFinding>& findings) {
  Json json = {{"folder", options.folder}, {"findings", Json::array()}};
  for (const PackageFinding& finding : findings) {
    json["findings"].push_back({{"fault", Name(finding.fault)}, {"subject", finding.subject}});
  }
  return json;
}

Result<int> RunLint(Application& application, const PackageOptions& options) {
  const PackageReference reference{options.folder, options.sha256};
  ATTUNE_ASSIGN_OR_RETURN(const Manifest manifest, ReadManifest(reference));
  ATTUNE_ASSIGN_OR_RETURN(const Target target, ParseTarget(manifest.target));
  ATTUNE_ASSIGN_OR_RETURN(
      const SessionPlace found,
      FindTargetPlace(application, fmt::format("package '{}'", options.folder), target));
  Place place;
  place.backend = found.backend;
  place.target = target;
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<PackageFinding> findings,
                          LintPackage(reference, place));
  if (options.json) {
    application.out().Print(Dump(JsonOf(options, findings)));
  } else {
    application.out().Print(
        fmt::format("{}: {}\n", Printable(options.folder), Counted(findings.size(), "finding")));
    for (const PackageFinding& finding : findings) {
      application.out().Print(
          fmt::format("{:<22}  {}\n", Name(finding.fault), Printable(finding.subject)));
    }
  }
  return findings.empty() ? kExitDone : kExitPartly;
}

}  // namespace

void AddPackageVerb(CLI::App& program, Invocation& invocation) {
  auto options = std::make_shared<PackageOptions>();
  CLI::App* verb = AddVerb(
      program, "package", "Make, check or show a package of choices and compiled kernels",
      "  attune package create --tag resnet50 --device opencl:0 -o /opt/model/attune\n"
      "  attune package verify /opt/model/attune\n"
      "  attune package lint /opt/model/attune\n\n"
      "Exit status: 0, 3 if lint has found something or create left something out, 1 if verify "
      "finds it damaged.");
  verb->require_subcommand(1);
  CLI::App* create =
      verb->add_subcommand("create", "Make a package of a tag, a model or a session");
  create->fallthrough();
  auto* group = AddListOptions(*create, options->selection, invocation);
  group->description("What to pack, at least one of");
  group->require_option(1, 2);
  create->add_option("-o,--output", options->folder, "New folder")->required();
  create->add_option("--device", options->device, "Device that they were tuned on")
      ->default_str("cpu, or that of the session");
  AddJsonFlag(*create, options->json);
  create->callback([&invocation, options] {
    invocation.run = [options](Application& application) {
      return RunCreate(application, *options);
    };
  });
  CLI::App* verify = verb->add_subcommand("verify", "Compare every file with the manifest");
  verify->add_option("folder", options->folder, "The package")->required();
  verify->add_option("--sha256", options->sha256, "Hash that the manifest has to have");
  AddJsonFlag(*verify, options->json);
  verify->callback([&invocation, options] {
    invocation.run = [options](Application& application) {
      return RunVerify(application, *options);
    };
  });
  CLI::App* lint = verb->add_subcommand(
      "lint", "Verify, then name the kernels that are missing, and those that nobody loads");
  lint->add_option("folder", options->folder, "The package")->required();
  lint->add_option("--sha256", options->sha256, "Hash that the manifest has to have");
  AddJsonFlag(*lint, options->json);
  lint->callback([&invocation, options] {
    invocation.run = [options](Application& application) { return RunLint(application, *options); };
  });
  CLI::App* show = verb->add_subcommand("show", "Print what a package says of itself");
  show->add_option("folder", options->folder, "The package")->required();
  AddJsonFlag(*show, options->json);
  show->callback([&invocation, options] {
    invocation.run = [options](Application& application) { return RunShow(application, *options); };
  });
}

}  // namespace attune
