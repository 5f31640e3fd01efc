// Writes packages: choices, and compiled kernels for them and for untuned shapes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attune/base/status.h"
#include "attune/index/manifest.h"
#include "attune/index/package_folder.h"
#include "attune/record/record_store.h"
#include "attune/trial/candidate.h"
#include "runtime/places.h"

namespace attune {

// The content of a package.
struct PackageContent {
  RecordStore& records;  // Source of the packed ones: on the target of `place`, for `packed`.
  PackedProblems packed;
  const Place& place;  // Its solvers compile; its device may be absent.
  std::vector<std::pair<Problem, Candidate>> winners;  // Their kernels are packed.
  // For which the default kernel of every solver is packed that serves any size with one build.
  std::vector<Problem> problems;
  std::optional<PackagedGolden> golden;  // The version that it is of, for the manifest.
};

// One that a package should hold.
struct PackageKernel {
  const Solver* solver = nullptr;
  Problem problem;
  Candidate candidate;
  BuildRecipe recipe;
  bool is_winner = false;  // Or else a default that serves any size.
};

// The kernels of `winners`, and for each of `problems` the default of every solver that serves any
// size with one build, so that a shape that was never tuned needs no compiler either: each recipe
// once, winners first. Winners with a missing solver have none.
Result<std::vector<PackageKernel>> KernelsOf(
    const Place& place, const std::vector<std::pair<Problem, Candidate>>& winners,
    const std::vector<Problem>& problems);

struct WrittenPackage {
  int64_t problems = 0;  // For which there is a choice.
  size_t kernels = 0;
  std::vector<std::string> left_out;  // A sentence for each winner with a missing solver.
  std::string sha256;                 // Hash of the manifest.
};

// Makes the package in the new or empty folder `folder`; a failure leaves that as it was.
Result<WrittenPackage> WritePackage(const PackageContent& content,
                                    const std::filesystem::path& folder);

}  // namespace attune
