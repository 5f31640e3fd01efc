#include "apps/attune/package_writer.h"

#include <chrono>
#include <memory>
#include <set>
#include <system_error>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "apps/attune/application.h"
#include "attune/base/diverted_errors.h"
#include "attune/compile/builder.h"
#include "attune/compile/default_kernel_cache.h"

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

// How far writing a package came.
struct Progress {
  int64_t index_bytes = 0;
  size_t kernels = 0;  // Number in the package, of...
  size_t kernels_needed = 0;
  int64_t kernel_bytes = 0;  // All needed kernels together.
};

// Compiles missing kernels into the user's cache, and copies all to the package. If that is full,
// the rest is compiled all the same, to report the room it takes.
Status Pack(const std::vector<PackageKernel>& kernels, const Target& target, KernelCache& package,
            Progress& progress) {
  Status stored;
  const OpenedKernelCache own = OpenDefaultKernelCache();
  const DivertedErrors errors(-1);  // PoCL's clang prints its warning count.
  Builder builder(*own.cache);
  for (const PackageKernel& kernel : kernels) {
    const BuildOutcome outcome =
        builder.Build({kernel.solver, kernel.problem, kernel.candidate.config}, target);
    const Artifact* artifact = outcome.artifact();
    if (artifact == nullptr) {
      return Unavailable(fmt::format("{} cannot be built: {}", Text(kernel.candidate),
                                     outcome.failure()->message));
    }
    progress.kernel_bytes += std::ssize(artifact->bytes);
    if (!stored.ok()) continue;
    stored = package.Store(kernel.recipe, *artifact);
    if (stored.ok()) ++progress.kernels;
    if (!stored.ok() && stored.code() != StatusCode::kResourceExhausted) return stored;
  }
  return stored;
}

// `failed`, with the required disk space. By then nothing of the package is there.
Status WithRoomNeeded(const Status& failed, const Progress& progress,
                      const std::filesystem::path& folder) {
  if (failed.code() != StatusCode::kResourceExhausted) return failed;
  std::error_code error;
  const auto parent = std::filesystem::absolute(folder, error).parent_path();
  const auto room = std::filesystem::space(parent, error);
  return Status(
      failed.code(),
      fmt::format(
          "{} The package '{}' had {} of {} kernels by then and needs {} bytes for its index "
          "and kernels; its disk has {} left. Nothing of it is kept. Make room, or name a "
          "folder on another disk after -o.",
          failed.message(), folder.string(), progress.kernels, progress.kernels_needed,
          progress.kernel_bytes > 0
              ? fmt::format("at least {}", progress.index_bytes + progress.kernel_bytes)
              : fmt::format("more than {}", progress.index_bytes),
          error ? std::string("an unknown number") : fmt::format("{}", room.available)));
}

// The folder of a package that is being made; emptied again unless it is kept.
class NewFolder {
 public:
  // An empty folder that is there will do; one that is not is made, its parents are not.
  static Result<std::unique_ptr<NewFolder>> Make(const std::filesystem::path& path) {
    std::error_code error;
    if (path == "-") {
      return InvalidArgument(
          "A package is a folder, and '-' is no name of one: standard output takes none. './-' "
          "would "
          "be.");
    }
    const bool was_there = !std::filesystem::create_directory(path, error);
    if (error) {
      return Unavailable(fmt::format("Cannot make the folder '{}' of the package: {}.",
                                     path.string(), error.message()));
    }
    if (was_there && !std::filesystem::is_empty(path, error)) {
      return FailedPrecondition(
          fmt::format("'{}' exists and is no empty folder; a package is made anew. Remove it, if "
                      "it is what a run "
                      "that was killed has left, or name another.",
                      path.string()));
    }
    return std::unique_ptr<NewFolder>(new NewFolder(path, was_there));
  }
  ~NewFolder() {
    if (is_kept_) return;
    std::error_code ignored;
    // By their names: a folder that was there may have got other files meanwhile.
    for (const char* made : {kPackageIndexName, "kernels", "manifest.json"}) {
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

namespace {

Result<WrittenPackage> WriteInto(const PackageContent& content, const std::filesystem::path& folder,
                                 Progress& progress) {
  ATTUNE_ASSIGN_OR_RETURN(const auto made, NewFolder::Make(folder));
  const Place& place = content.place;
  WrittenPackage written;
  ATTUNE_ASSIGN_OR_RETURN(const PackagedIndex index,
                          WritePackagedIndex(content.records, content.packed, place.target,
                                             SelectionAt(place), folder));
  written.problems = index.problems;
  std::error_code ignored;
  progress.index_bytes =
      static_cast<int64_t>(std::filesystem::file_size(folder / kPackageIndexName, ignored));
  ATTUNE_ASSIGN_OR_RETURN(const auto kernels, FolderKernelCache::Open(folder / "kernels"));
  for (const auto& [problem, candidate] : content.winners) {
    if (FindSolver(place.backend->solvers(), candidate.solver) != nullptr) continue;
    written.left_out.push_back(fmt::format("{} for {} is not served: there is no such solver here.",
                                           Text(candidate), Text(problem)));
  }
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<PackageKernel> packed,
                          KernelsOf(place, content.winners, content.problems));
  progress.kernels_needed = packed.size();
  ATTUNE_RETURN_IF_ERROR(Pack(packed, place.target, *kernels, progress));
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

}  // namespace

Result<WrittenPackage> WritePackage(const PackageContent& content,
                                    const std::filesystem::path& folder) {
  Progress progress;
  auto written = WriteInto(content, folder, progress);
  if (written.ok()) return written;
  return WithRoomNeeded(written.error(), progress, folder);
}

}  // namespace attune
