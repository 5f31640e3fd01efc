// A platform: its devices, its solvers, and the libraries that it found or missed.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/device/device.h"
#include "attune/problem/target.h"
#include "attune/solver/solver.h"

namespace attune {

// One line of `attune devices`: a library that was looked for.
struct LibraryReport {
  std::string name;  // "openblas"
  bool available = false;
  std::string version;   // "0.3.21"; empty if not available.
  std::string build_id;  // Identifies the exact build: file hash, commit, configuration string.
  std::string path;      // Where it was loaded from.
  std::string missing;   // If not available: why, and which package brings it.
  // The environment variable that names it in place of the usual one. A library that was chosen and
  // is missing is an error where candidates are measured.
  std::string chosen_by = "";
};

// One device that could be opened, or the reason why not.
struct DeviceReport {
  std::string spec;  // The value for `--device`: "cpu", "opencl:0".
  Target target;
  std::string reason;  // Empty if usable.
  // Identifies the piece of hardware, independent of its number in this process; empty if `spec`
  // does.
  std::string identity = "";
  size_t cache_bytes = 0;  // Size of the last level before its memory; 0: unknown.
  // Why its hardware counts nothing for this process, which is normal; empty if it does, and where
  // that is not known before it is opened.
  std::string no_counters = "";
};

// Implemented by backends/*, each of which exports one factory function. Thread-safe.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;
  virtual const SolverList& solvers() const = 0;
  virtual std::vector<DeviceReport> Devices() const = 0;
  virtual std::vector<LibraryReport> Libraries() const = 0;
  // The part of the environment that this backend knows: "library.*", "driver.*", "policy.*".
  virtual Environment DescribeEnvironment() const = 0;
  // True if devices can be opened in a process that was forked from one that had opened them.
  virtual bool OpensAfterFork() const { return false; }
  // Opens the device called `spec`; kNotFound lists the specs that exist.
  virtual Result<std::unique_ptr<Device>> Open(std::string_view spec) const = 0;
  // True if a process needs long (about half a second) to open a device or to use its compiler for
  // the first time. Candidates then share a process until one fails, and on a GPU are tried one at
  // a time.
  virtual bool IsCostlyToOpen() const { return false; }
  // True if the device called `spec` computes on the cores of this machine, so that compilers
  // running at the same time slow it down.
  virtual bool IsProcessor(std::string_view) const { return false; }
  // Computes references on an opened device, for Solver::Build, Load and Executable::Run like any
  // other solver; null if the processor must. It is no candidate: behind the operands of a problem
  // it takes the reference, f64 as ProblemData::reference() lays it out, and writes all of it but
  // the gaps. Views of write-only operands are null. One config and one build serve every problem
  // that it accepts.
  virtual const Solver* reference_solver() const { return nullptr; }
  // Measures the best rates of an opened device: a fraction of a second.
  virtual Result<Peaks> MeasurePeaks(Device& device) const = 0;
};

using BackendList = std::vector<std::unique_ptr<const Backend>>;

// The backend that has a device called `spec`; kNotFound lists every spec of every backend.
Result<const Backend*> FindBackend(const BackendList& backends, std::string_view spec);

}  // namespace attune
