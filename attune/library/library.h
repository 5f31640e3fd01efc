// A library that runs outside of attune, as a separate program: it gets a problem and a config,
// computes them, and reports its time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "attune/problem/problem.h"
#include "attune/solver/backend.h"
#include "attune/solver/solver.h"
#include "attune/trial/trial.h"

namespace attune {

// One run. Borrows everything until the call returns.
struct LibraryRun {
  const Problem& problem;
  const Candidate& candidate;
  const Artifact& artifact;  // Result of Solver::Build; empty if nothing is built.
  std::string device;        // LibraryDevice::name.
};

// Values that a run reported.
struct LibraryTime {
  double time_ns = 0;  // Time of one launch; positive and finite.
  int64_t workspace_bytes = 0;

  friend bool operator==(const LibraryTime&, const LibraryTime&) = default;
};

// Result of a search, and the artifact for its Run.
struct FoundCandidate {
  Candidate candidate;
  Artifact artifact;

  friend bool operator==(const FoundCandidate&, const FoundCandidate&) = default;
};

struct LibraryDevice {
  std::string name;    // Empty: the processors.
  std::string reason;  // Why it cannot be used; empty if it can.
};

// Thread-safe. Its solvers build (Solver::Build) and are never loaded: Run takes their place.
class Library {
 public:
  virtual ~Library() = default;

  // Prefix of device names: "tool" in "tool:vadd".
  virtual std::string_view backend_name() const = 0;
  // [a-z][a-z0-9_]*. Behind `backend_name`, and the name of its field in the environment.
  virtual std::string_view name() const = 0;
  virtual const SolverList& solvers() const = 0;
  // Version and build of the program, and where it is.
  virtual LibraryReport Report() const = 0;
  virtual Target target() const = 0;
  virtual std::vector<LibraryDevice> Devices() const = 0;

  // Runs the candidate once, within the library's own deadline. Leaves nothing running, even on
  // failure.
  virtual tl::expected<LibraryTime, Failure> Run(const LibraryRun& run) const = 0;

  // For a solver that searches (SolverTraits::searches): the candidate to run in place of one of
  // its space. As Run. Empty for a candidate that a search has found.
  virtual tl::expected<std::optional<FoundCandidate>, Failure> Search(const LibraryRun&) const {
    return std::nullopt;
  }
};

}  // namespace attune
