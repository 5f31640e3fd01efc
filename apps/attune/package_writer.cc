#include "apps/attune/package_writer.h"

#include <chrono>
#include <memory>
#include <set>
#include <system_error>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "apps/attune/application.h"
#include "attune/compile/builder.h"
#include "attune/compile/default_kernel_cache.h"
#include "attune/package/package_folder.h"

namespace attune {
namespace {

// Kernels that a package should hold, each recipe once.
class KernelList {
 public:
  explicit KernelList(const Place& place) : place_(place) {}

  Status Add(const Problem& problem, const Candidate& candidate, bool is_winner) {
    const Solver* solver = FindSolver(place_.backend->solvers(), candidate.solver);
    if (solver == nullptr || !solver->traits().compiles) return Status::Ok();
    ATTUNE_ASSIGN_OR_RETURN(BuildRecipe recipe,
                            solver->Recipe(problem, candidate.config, place_.target));
    if (!keys_.insert(KernelCacheKey(recipe)).second) return Status::Ok();
    kernels_.push_back({solver, problem, candidate, std::move(recipe), is_winner});
    return Status::Ok();
  }

  Status AddDynamic(const Problem& problem) {
    for (const auto& solver : place_.backend->solvers()) {
      const SolverTraits& traits = solver->traits();
      if (!traits.dynamic || !traits.compiles) continue;
      if (!solver->IsApplicable(problem, place_.target).ok()) continue;
      ATTUNE_ASSIGN_OR_RETURN(Config config, solver->DefaultConfig(problem, place_.target));
      ATTUNE_RETURN_IF_ERROR(Add(problem, {solver->id(), std::move(config)}, false));
    }
    return Status::Ok();
  }

  std::vector<PackageKernel> Take() { return std::move(kernels_); }

 private:
  const Place& place_;
  std::vector<PackageKernel> kernels_;
  std::set<Fingerprint> keys_;
};

// Compiles into the user's cache what is not there, and copies it to the package.
Status Pack(const std::vector<PackageKernel>& kernels, const Target& target, KernelCache& package) {
  const OpenedKernelCache own = OpenDefaultKernelCache();
  Builder builder(*own.cache);
  for (const PackageKernel& kernel : kernels) {
    const BuildOutcome outcome =
        builder.Build({kernel.solver, kernel.problem, kernel.candidate.config}, target);
    const Artifact* artifact = outcome.artifact();
    if (artifact == nullptr) {
      return Unavailable(fmt::format("{} cannot be built: {}", Text(kernel.candidate),
                                     outcome.failure()->message));
    }
    ATTUNE_RETURN_IF_ERROR(package.Store(kernel.recipe, *artifact));
  }
  return Status::Ok();
}

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

}  // namespace

Result<std::vector<PackageKernel>> KernelsOf(
    const Place& place, const std::vector<std::pair<Problem, Candidate>>& winners,
    const std::vector<Problem>& problems) {
  KernelList list(place);
  for (const auto& [problem, candidate] : winners) {
    ATTUNE_RETURN_IF_ERROR(list.Add(problem, candidate, true));
  }
  for (const Problem& problem : problems) ATTUNE_RETURN_IF_ERROR(list.AddDynamic(problem));
  return list.Take();
}

Result<WrittenPackage> WritePackage(const PackageContent& content,
                                    const std::filesystem::path& folder) {
  ATTUNE_ASSIGN_OR_RETURN(const auto made, NewFolder::Make(folder));
  const Place& place = content.place;
  WrittenPackage written;
  ATTUNE_ASSIGN_OR_RETURN(
      const PackagedIndex index,
      WritePackagedIndex(content.records, content.tag, place.target, SelectionAt(place), folder));
  written.problems = index.problems;
  ATTUNE_ASSIGN_OR_RETURN(const auto kernels, FolderKernelCache::Open(folder / "kernels"));
  for (const auto& [problem, candidate] : content.winners) {
    if (FindSolver(place.backend->solvers(), candidate.solver) != nullptr) continue;
    written.left_out.push_back(fmt::format("{} for {} is not served: there is no such solver here.",
                                           Text(candidate), Text(problem)));
  }
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<PackageKernel> packed,
                          KernelsOf(place, content.winners, content.problems));
  ATTUNE_RETURN_IF_ERROR(Pack(packed, place.target, *kernels));
  Manifest manifest;
  manifest.attune_version = std::string(ProgramVersion());
  manifest.created = fmt::format(
      "{:%Y-%m-%dT%H:%M:%SZ}",
      fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
  manifest.target = Text(place.target);
  manifest.golden = content.golden;
  manifest.caches = index.caches;
  ATTUNE_ASSIGN_OR_RETURN(written.sha256, SealPackage(folder, manifest));
  written.kernels = packed.size();
  made->Keep();
  return written;
}

}  // namespace attune
