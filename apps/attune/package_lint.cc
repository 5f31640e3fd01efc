#include "apps/attune/package_lint.h"

#include <set>
#include <utility>

#include <fmt/format.h>

#include "apps/attune/package_writer.h"
#include "attune/compile/kernel_cache.h"
#include "attune/index/choice_index.h"

namespace attune {
namespace {

struct PackagedChoices {
  std::vector<std::pair<Problem, Candidate>> winners;
  std::vector<Problem> problems;
};

Result<PackagedChoices> ReadChoices(const std::filesystem::path& index_path) {
  ATTUNE_ASSIGN_OR_RETURN(const auto index, ChoiceIndex::Open(index_path));
  PackagedChoices packaged;
  for (int64_t i = 0; i < index->problem_count(); ++i) {
    ATTUNE_ASSIGN_OR_RETURN(Problem problem, index->ProblemAt(i));
    ATTUNE_ASSIGN_OR_RETURN(const std::vector<IndexedChoice> choices, index->Find(problem));
    for (const IndexedChoice& choice : choices) {
      if (!choice.ranking.empty()) {
        packaged.winners.emplace_back(problem, choice.ranking.front().candidate);
      }
    }
    packaged.problems.push_back(std::move(problem));
  }
  return packaged;
}

// Compares the kernels in the manifest with those that the choices need.
Status LintKernels(const PackageReference& reference, const Manifest& manifest, const Place& place,
                   std::vector<PackageFinding>& findings) {
  ATTUNE_ASSIGN_OR_RETURN(const PackagedChoices choices,
                          ReadChoices(reference.folder / kPackageIndexName));
  const auto subject = [](const Problem& problem, const Candidate& candidate) {
    return fmt::format("{} for {}", Text(candidate), Text(problem));
  };
  for (const auto& [problem, candidate] : choices.winners) {
    if (FindSolver(place.backend->solvers(), candidate.solver) != nullptr) continue;
    findings.push_back({PackageFault::kNoSolver, subject(problem, candidate)});
  }
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<PackageKernel> needed,
                          KernelsOf(place, choices.winners, choices.problems));
  std::set<std::string> paths;
  for (const PackageKernel& kernel : needed) {
    std::string path = fmt::format("kernels/{}", KernelFileName(kernel.recipe));
    const bool is_packed = manifest.files.contains(path);
    paths.insert(std::move(path));
    if (is_packed) continue;
    findings.push_back(
        {kernel.is_winner ? PackageFault::kMissingKernel : PackageFault::kMissingDynamicKernel,
         subject(kernel.problem, kernel.candidate)});
  }
  for (const auto& [path, file] : manifest.files) {
    if (path == kPackageIndexName || paths.contains(path)) continue;
    findings.push_back({PackageFault::kOrphanedKernel, path});
  }
  return Status::Ok();
}

}  // namespace

PackageFault FaultOf(const WrongFile& file) {
  switch (file.fault) {
    case WrongFile::Fault::kMissing:
      return PackageFault::kMissingFile;
    case WrongFile::Fault::kDamaged:
      return PackageFault::kDamagedFile;
    case WrongFile::Fault::kNotInManifest:
      return PackageFault::kNotInManifest;
  }
  return PackageFault::kMissingFile;
}

std::string_view Name(PackageFault fault) {
  switch (fault) {
    case PackageFault::kMissingFile:
      return "missing_file";
    case PackageFault::kDamagedFile:
      return "damaged_file";
    case PackageFault::kNotInManifest:
      return "not_in_manifest";
    case PackageFault::kNoSolver:
      return "no_solver";
    case PackageFault::kMissingKernel:
      return "missing_kernel";
    case PackageFault::kMissingDynamicKernel:
      return "missing_dynamic_kernel";
    case PackageFault::kOrphanedKernel:
      return "orphaned_kernel";
  }
  return "";
}

Result<std::vector<PackageFinding>> LintPackage(const PackageReference& reference,
                                                const Place& place) {
  ATTUNE_ASSIGN_OR_RETURN(const Manifest manifest, ReadManifest(reference));
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<WrongFile> wrong, CheckFiles(reference));
  std::vector<PackageFinding> findings;
  bool has_index = manifest.files.contains(kPackageIndexName);
  for (const WrongFile& file : wrong) {
    findings.push_back({FaultOf(file), file.path});
    has_index = has_index && file.path != kPackageIndexName;
  }
  if (has_index) ATTUNE_RETURN_IF_ERROR(LintKernels(reference, manifest, place, findings));
  return findings;
}

}  // namespace attune
