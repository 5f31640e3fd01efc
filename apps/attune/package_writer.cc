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

}  // namespace

Result<WrittenPackage> WritePackage(const PackageContent& content,
                                    const std::filesystem::path& folder) {
  ATTUNE_ASSIGN_OR_RETURN(const auto made, NewFolder::Make(folder));
  const Place& place = content.place;
  WrittenPackage written;
  ATTUNE_ASSIGN_OR_RETURN(
      written.problems,
      WritePackagedIndex(content.records, content.tag, place.target, SelectionAt(place), folder));
  ATTUNE_ASSIGN_OR_RETURN(const auto kernels, FolderKernelCache::Open(folder / "kernels"));
  const OpenedKernelCache own = OpenDefaultKernelCache();
  KernelPacker packer(place, *own.cache, *kernels);
  for (const auto& [problem, candidate] : content.winners) {
    if (FindSolver(place.backend->solvers(), candidate.solver) == nullptr) {
      written.left_out.push_back(
          fmt::format("{} for {} is not served: there is no such solver here.", Text(candidate),
                      Text(problem)));
      continue;
    }
    ATTUNE_RETURN_IF_ERROR(packer.Pack(problem, candidate));
  }
  for (const Problem& problem : content.problems) {
    ATTUNE_RETURN_IF_ERROR(packer.PackDynamic(problem));
  }
  Manifest manifest;
  manifest.attune_version = std::string(ProgramVersion());
  manifest.created = fmt::format(
      "{:%Y-%m-%dT%H:%M:%SZ}",
      fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
  manifest.target = Text(place.target);
  ATTUNE_ASSIGN_OR_RETURN(written.sha256, SealPackage(folder, manifest));
  written.kernels = packer.count();
  made->Keep();
  return written;
}

}  // namespace attune
