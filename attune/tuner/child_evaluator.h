// An Evaluator that runs every candidate in child processes, so that one that crashes, hangs,
// allocates without end or corrupts memory costs one trial. docs/formats/child_protocol.md.
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

// How children are started and bounded.
struct ChildOptions {
  std::filesystem::path program;  // The evaluator executable, see FindEvaluatorProgram().
  std::string device;             // `cpu`, `opencl:0`, ...: opened by the child.
  // "NAME=value": in the environment of children, instead of what this process has.
  std::vector<std::string> variables = {};
  // Children that qualify at once; 0 means one for each core, or one where candidates share it.
  int jobs = 0;
  // A child qualifies one candidate after another until one fails; who fails behind others is tried
  // again in a child of its own, unless it hung. With one job it lists, too, and lives until others
  // are timed. Backend::IsCostlyToOpen.
  bool share_children = false;
  // The device is this processor (Backend::IsProcessor). With shared children, `jobs` of them build
  // and verify candidates concurrently, and all but one pause while a candidate is timed. A wrong
  // result ends the child, because the candidate can write to its memory.
  bool on_processor = false;
  // Another problem usually follows: with shared children, one more opens the device with those of
  // this problem, and waits for the next one. It is gone with the evaluator.
  bool opens_ahead = false;
  // Solvers that compile. With shared children, others compile their candidates ahead of the one
  // that has the device.
  std::vector<SolverId> compiling;
  // Whether the device is asked for the reference of a problem before this processor computes it:
  // in the child that then qualifies candidates, so with shared children and one job only. Null:
  // never.
  std::function<bool(const Problem&)> pays_on_device;
  // Children that compile at once, with shared children; 0 means one for each core.
  int compile_jobs = 0;
  // Resident size past which a child is killed, at any moment; 0 means an equal share of what this
  // process may use.
  int64_t memory_limit_bytes = 0;
  int64_t build_deadline_ns = 60'000'000'000;
  int64_t load_deadline_ns = 20'000'000'000;
  // Also of one timed block, unless its launches are known to take long: see BlockDeadlineNs.
  int64_t run_deadline_ns = 20'000'000'000;
  // Asked several times a second while an answer of a child is awaited: it is killed, and its
  // candidate given up, when this says no. Null: nobody is asked.
  std::function<bool()> go_on = nullptr;
  // Gets the output of children and of their compilers as it arrives, on the threads that wait for
  // children. May be null. The output of a failed child is in its Failure, too.
  std::function<void(std::string_view)> on_output = nullptr;
};

// Sets up sharing for the device of `options`, which belongs to `backend`: children share it if it
// is costly to open, and compute references on it if the backend can and it pays (PaysOnDevice).
void ShareIfCostly(const Backend& backend, ChildOptions& options);

// attune-evaluator beside the running program (../libexec/attune/ when installed, the same folder
// in a build tree), or $ATTUNE_EVALUATOR. kNotFound lists what was tried.
Result<std::filesystem::path> FindEvaluatorProgram();

// kInvalidArgument, with the least that could do, if a child exceeds the memory limit of `options`
// before it runs its first candidate. Ok where no limit is given, and if no child comes up: whoever
// needs one says why.
Status CheckMemoryLimit(const ChildOptions& options);

// Of the device of `options`, in a child of its own: to measure is to compile and to launch, and
// what a driver does then must not end this process. It is no candidate, so that their memory limit
// is not its own. At `end_ns` (steady clock) it is given up. kUnavailable says what became of the
// child.
Result<Peaks> MeasurePeaksInChild(const ChildOptions& options,
                                  int64_t end_ns = QualifyTime::kForever);

std::unique_ptr<Evaluator> MakeChildEvaluator(ChildOptions options);

}  // namespace attune
