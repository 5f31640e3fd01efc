// A library that runs outside of attune: handed a problem and a config it computes by itself, as a
// program of its own, and tells how long that took.
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
  const Artifact& artifact;  // What Solver::Build made for it; empty where nothing is built.
  std::string device;        // LibraryDevice::name.
};

// What a run told.
struct LibraryTime {
  double time_ns = 0;  // Of one launch; positive and finite.
  int64_t workspace_bytes = 0;

  friend bool operator==(const LibraryTime&, const LibraryTime&) = default;
};

// What a search found, and what Run takes as its artifact.
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

  // Of the devices, "tool" in "tool:vadd".
  virtual std::string_view backend_name() const = 0;
  // [a-z][a-z0-9_]*. Behind `backend_name`, and the name of its field in the environment.
  virtual std::string_view name() const = 0;
  virtual const SolverList& solvers() const = 0;
  // Version and build of the program, and where it is.
  virtual LibraryReport Report() const = 0;
  virtual Target target() const = 0;
  virtual std::vector<LibraryDevice> Devices() const = 0;

  // Runs the candidate once, within a deadline of the library's own. Nothing of it is left running,
  // whatever comes of it.
  virtual tl::expected<LibraryTime, Failure> Run(const LibraryRun& run) const = 0;

  // Of a solver that searches (SolverTraits::searches): what is run in the place of a candidate of
  // its space. As Run. Nothing for a candidate that some search has found.
  virtual tl::expected<std::optional<FoundCandidate>, Failure> Search(const LibraryRun&) const {
    return std::nullopt;
  }
};

}  // namespace attune
