// Convolution solvers of MIOpen, by the names that its databases have for them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "attune/formats/miopen/conv_words.h"

namespace attune::miopen {

enum class Algorithm { kDirect, kWinograd, kImplicitGemm, kGemm, kFft };

struct SolverFacts {
  std::string_view name;  // As in databases: "ConvOclBwdWrW2<16>".
  int id = 0;             // As in the API; never reused.
  Algorithm algorithm = Algorithm::kDirect;
  bool is_tunable = false;  // Has a row in a perf-db.
  bool is_removed = false;  // MIOpen passes over it in databases.
};

// Sorted by name.
std::span<const SolverFacts> KnownSolvers();
// Null for a name that no version up to 3.3 gave to a convolution solver.
const SolverFacts* FindSolver(std::string_view name);

// "miopenConvolutionFwdAlgoDirect".
std::string AlgorithmName(Direction direction, Algorithm algorithm);

struct DirectedAlgorithm {
  Direction direction = Direction::kForward;
  Algorithm algorithm = Algorithm::kDirect;
};
// The inverse, for the 14 present names and the historic one.
std::optional<DirectedAlgorithm> ParseAlgorithm(std::string_view name);

}  // namespace attune::miopen
