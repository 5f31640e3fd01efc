// An Evaluator that runs every candidate in worker processes, so that a candidate that crashes,
// hangs, allocates without end or corrupts memory costs one trial. docs/formats/child_protocol.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "attune/base/status.h"
#include "attune/problem/problem.h"
#include "attune/problem/target.h"
#include "attune/solver/backend.h"
#include "attune/tuner/evaluator.h"

namespace attune {

// How worker processes are started and bounded.
struct ChildOptions {
  std::filesystem::path program;  // The evaluator executable, see FindEvaluatorProgram().
  std::string device;             // `cpu`, `opencl:0`, ...: opened by the worker.
  // "NAME=value": in the environment of worker processes, instead of the value in this process.
  std::vector<std::string> variables = {};
  // Worker processes that qualify at once; 0 means one for each core, or one where candidates share
  // it.
  int jobs = 0;
  // A worker process qualifies one candidate after another until one fails. A candidate that fails
  // behind others is tried again in a worker process of its own, unless it hung. With one job the
  // worker process lists, too, and lives until others are timed. Backend::IsCostlyToOpen.
  bool share_children = false;
  // The device is this processor (Backend::IsProcessor). With shared worker processes, `jobs` of
  // them build and verify candidates concurrently, and all but one pause while a candidate is
  // timed. A wrong result ends the worker process, because the candidate can write to its memory.
  bool on_processor = false;
  // Another problem usually follows: with shared worker processes, one more opens the device with
  // those of this problem, and waits for the next one. It ends with the evaluator.
  bool opens_ahead = false;
  // Solvers that compile. With shared worker processes, others compile their candidates ahead of
  // the one that has the device.
  std::vector<SolverId> compiling;
  // True if the device computes the reference of a problem before this processor does: in the
  // worker process that then qualifies candidates, so with shared worker processes and one job
  // only. Null: never.
  std::function<bool(const Problem&)> pays_on_device;
  // Worker processes that compile at once, if they are shared; 0 means one for each core.
  int compile_jobs = 0;
  // A worker process is killed as soon as its resident size exceeds this limit; 0 means an equal
  // share of the memory that this process may use.
  int64_t memory_limit_bytes = 0;
  int64_t build_deadline_ns = 60'000'000'000;
  int64_t load_deadline_ns = 20'000'000'000;
  // Also of one timed block, unless its launches are known to take long: see BlockDeadlineNs.
  int64_t run_deadline_ns = 20'000'000'000;
  // Called several times a second while this process awaits an answer of a worker process. If it
  // returns false, the worker process is killed and its candidate given up. Null: never called.
  std::function<bool()> go_on = nullptr;
  // Gets the output of worker processes and of their compilers as it arrives, on the threads that
  // wait for them. May be null. The output of a failed worker process is in its Failure, too.
  std::function<void(std::string_view)> on_output = nullptr;
};

// Sets up sharing for the device of `options`, which belongs to `backend`: candidates share worker
// processes if the device is costly to open, and compute references on it if the backend can and it
// pays (PaysOnDevice).
void ShareIfCostly(const Backend& backend, ChildOptions& options);

// Returns attune-evaluator beside the running program (../libexec/attune/ when installed, the same
// folder in a build tree), or $ATTUNE_EVALUATOR. kNotFound lists the paths that were tried.
Result<std::filesystem::path> FindEvaluatorProgram();

// kInvalidArgument, with the minimum that suffices, if a worker process exceeds the memory limit of
// `options` before it runs its first candidate. Ok without a limit, and if no worker process
// starts: its user reports the reason.
Status CheckMemoryLimit(const ChildOptions& options);

// Measures the peaks of the device of `options` in a worker process of its own, because measuring
// compiles and launches, and a driver fault must not end this process. The memory limit of
// candidates does not apply. Gives up at `end_ns` (steady clock). kUnavailable reports how the
// worker process failed.
Result<Peaks> MeasurePeaksInChild(const ChildOptions& options,
                                  int64_t end_ns = QualifyTime::kForever);

std::unique_ptr<Evaluator> MakeChildEvaluator(ChildOptions options);

}  // namespace attune
