// attune package: makes, checks and shows packages of records and compiled kernels.

#include <chrono>
#include <filesystem>
#include <memory>
#include <set>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "apps/attune/choices.h"
#include "apps/attune/json_text.h"
#include "apps/attune/terminal.h"
#include "apps/attune/verbs.h"
#include "attune/compile/builder.h"
#include "attune/compile/default_kernel_cache.h"
#include "attune/package/package_folder.h"

namespace attune {
namespace {

struct PackageOptions {
  std::string tag;
  std::string folder;
  std::string device = "cpu";
  std::string sha256;
  bool json = false;
};

// Compiles into the user's cache what is not there, and copies it to the package.
class KernelPacker {
 public:
  KernelPacker(const Place& place, KernelCache& own, KernelCache& package)
      : place_(place), package_(package), builder_(own) {}

  Status Pack(const Problem& problem, const Candidate& candidate) {
    const Solver* solver = FindSolver(place_.backend->solvers(), candidate.solver);
    if (solver == nullptr || !solver->traits().compiles) return Status::Ok();
    ATTUNE_ASSIGN_OR_RETURN(const BuildRecipe recipe,
                            solver->Recipe(problem, candidate.config, place_.target));
    if (!keys_.insert(KernelCacheKey(recipe)).second) return Status::Ok();
    const BuildOutcome outcome = builder_.Build({solver, problem, candidate.config}, place_.target);
    const Artifact* artifact = outcome.artifact();
    if (artifact == nullptr) {
      return Unavailable(
          fmt::format("{} cannot be built: {}", Text(candidate), outcome.failure()->message));
    }
    return package_.Store(recipe, *artifact);
  }

  // Of every solver that serves any size with one build, so that a shape that was never tuned needs
  // no compiler either.
  Status PackDynamic(const Problem& problem) {
    for (const auto& solver : place_.backend->solvers()) {
      const SolverTraits& traits = solver->traits();
      if (!traits.dynamic || !traits.compiles) continue;
      if (!solver->IsApplicable(problem, place_.target).ok()) continue;
      ATTUNE_ASSIGN_OR_RETURN(Config config, solver->DefaultConfig(problem, place_.target));
      ATTUNE_RETURN_IF_ERROR(Pack(problem, {solver->id(), std::move(config)}));
    }
    return Status::Ok();
  }

  size_t count() const { return keys_.size(); }

 private:
  const Place& place_;
  KernelCache& package_;
  Builder builder_;
  std::set<Fingerprint> keys_;
};

// The folder of a package that is being made; emptied again unless it is kept.
class NewFolder {
 public:
  // An empty folder that is there will do; one that is not is made, its parents are not.
  static Result<std::unique_ptr<NewFolder>> Make(const std::filesystem::path& path) {
    std::error_code error;
    const bool was_there = !std::filesystem::create_directory(path, error);
    if (error) {
      return Unavailable(fmt::format("Cannot make the folder '{}' of the package: {}.",
                                     path.string(), error.message()));
    }
    if (was_there && !std::filesystem::is_empty(path, error)) {
      return FailedPrecondition(fmt::format(
          "'{}' exists and is no empty folder; a package is made anew.", path.string()));
    }
    return std::unique_ptr<NewFolder>(new NewFolder(path, was_there));
  }
  ~NewFolder() {
    if (is_kept_) return;
    std::error_code ignored;
    // By their names: a folder that was there may have got other files meanwhile.
    for (const char* made : {"index", "kernels", "manifest.json"}) {
      std::filesystem::remove_all(path_ / made, ignored);
    }
    if (!was_there_) std::filesystem::remove(path_, ignored);
  }
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  void Keep() { is_kept_ = true; }

 private:
  NewFolder(std::filesystem::path path, bool was_there)
      : path_(std::move(path)), was_there_(was_there) {}

  const std::filesystem::path path_;
  const bool was_there_;
  bool is_kept_ = false;
};

Result<int> RunCreate(Application& application, const PackageOptions& options) {
  ATTUNE_ASSIGN_OR_RETURN(const auto folder, NewFolder::Make(options.folder));
  ChoiceQuery choices;
  choices.selection.tag = options.tag;
  ATTUNE_ASSIGN_OR_RETURN(const ChosenList list,
                          ChooseSelected(application, options.device, choices));
  const Place& place = list.place;
  ATTUNE_RETURN_IF_ERROR(WritePackagedIndex(*list.store, options.tag, place.target,
                                            SelectionAt(place), options.folder));
  ATTUNE_ASSIGN_OR_RETURN(
      const auto kernels,
      FolderKernelCache::Open(std::filesystem::path(options.folder) / "kernels"));
  const OpenedKernelCache own = OpenDefaultKernelCache();
  KernelPacker packer(place, *own.cache, *kernels);
  for (const ChosenProblem& problem : list.problems) {
    if (problem.choice) {
      ATTUNE_RETURN_IF_ERROR(packer.Pack(problem.tagged.problem, problem.choice->candidate));
    }
    ATTUNE_RETURN_IF_ERROR(packer.PackDynamic(problem.tagged.problem));
  }
  Manifest manifest;
  manifest.attune_version = std::string(ProgramVersion());
  manifest.created = fmt::format(
      "{:%Y-%m-%dT%H:%M:%SZ}",
      fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
  manifest.target = Text(place.target);
  ATTUNE_ASSIGN_OR_RETURN(const std::string hash, SealPackage(options.folder, manifest));
  folder->Keep();
  application.out().Print(options.json ? Dump({{"folder", options.folder},
                                               {"problems", list.problems.size()},
                                               {"kernels", packer.count()},
                                               {"sha256", hash}})
                                       : fmt::format("{}: {} problems, {} kernels, sha256 {}\n",
                                                     Printable(options.folder),
                                                     list.problems.size(), packer.count(), hash));
  return kExitDone;
}

Result<int> RunVerify(Application& application, const PackageOptions& options) {
  ATTUNE_RETURN_IF_ERROR(VerifyPackage({options.folder, options.sha256}));
  application.out().Print(options.json ? Dump({{"folder", options.folder}, {"verified", true}})
                                       : fmt::format("{}: every file is what the manifest says.\n",
                                                     Printable(options.folder)));
  return kExitDone;
}

Result<int> RunShow(Application& application, const PackageOptions& options) {
  ATTUNE_ASSIGN_OR_RETURN(const Manifest manifest, ReadManifest({options.folder, options.sha256}));
  const std::string text = ManifestText(manifest);
  if (options.json) {
    application.out().Print(text);
    return kExitDone;
  }
  int64_t bytes = 0;
  for (const auto& [path, file] : manifest.files) bytes += file.size_bytes;
  application.out().Print(fmt::format(
      "Target   {}\nMade     {} by {}\nFiles    {}, {} bytes\nSha256   {}\n",
      Printable(manifest.target), Printable(manifest.created), Printable(manifest.attune_version),
      manifest.files.size(), bytes, Sha256Hex(text)));
  return kExitDone;
}

}  // namespace

void AddPackageVerb(CLI::App& program, Invocation& invocation) {
  auto options = std::make_shared<PackageOptions>();
  CLI::App* verb =
      AddVerb(program, "package", "Make, check or show a package of choices and compiled kernels",
              "  attune package create --tag resnet50 --device opencl:0 -o /opt/model/attune\n"
              "  attune package verify /opt/model/attune\n");
  verb->require_subcommand(1);
  CLI::App* create = verb->add_subcommand("create", "Make a package of a tag");
  create->fallthrough();
  create->add_option("--tag", options->tag, "Problems to pack")->required();
  create->add_option("-o,--output", options->folder, "New folder")->required();
  create->add_option("--device", options->device, "Device that they were tuned on")
      ->capture_default_str();
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
  CLI::App* show = verb->add_subcommand("show", "Print what a package says of itself");
  show->add_option("folder", options->folder, "The package")->required();
  AddJsonFlag(*show, options->json);
  show->callback([&invocation, options] {
    invocation.run = [options](Application& application) { return RunShow(application, *options); };
  });
}

}  // namespace attune
