// A tunable context over the fake backend and the real tuner, which obeys the context's switches as
// attune-tuner does, in a folder of its own.
#pragma once

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "attune/compile/kernel_cache.h"
#include "attune/dispatch/dispatcher.h"
#include "attune/measure/clock.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/record/memory_store.h"
#include "attune/tunable/offline_tuning.h"
#include "attune/tunable/tunable_context.h"
#include "attune/tuner/tuner.h"
#include "backends/fake/fake_backend.h"

namespace attune {

// A problem by its text. REQUIRES: it is one.
Problem ProblemOf(std::string_view text);

// A folder that goes with the object.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string operator/(std::string_view name) const { return path_ / name; }
  std::string Read(std::string_view name) const;
  void Write(std::string_view name, std::string_view content) const;

 private:
  std::filesystem::path path_;
};

// Variables that enable everything and put the files into `folder`.
ProcessVariables VariablesIn(const TemporaryFolder& folder, ProcessVariables more = {});

// The device, the tuner and their requests from a context.
class FakeTunable {
 public:
  explicit FakeTunable(const ProcessVariables& variables, int ordinal = 0,
                       std::string_view script = "");
  ~FakeTunable();

  TunableContext& context() { return *context_; }
  // Ends the context as the end of a runtime does.
  void End() { context_.reset(); }
  const SolverList& solvers() const { return backend_->solvers(); }
  Device& device() { return *device_; }
  int tunings() const { return tunings_; }
  // Buffers of the device that were allocated and not given back.
  int live_buffers() const { return live_buffers_; }
  Candidate DefaultOf(const Problem& problem) const;
  // The measured sets, in order.
  std::vector<RecordedSet> Sets();

  // The result of `candidate` for fixed data: the whole span of the output. Its gaps hold -1 before
  // and, if the problem does not read it, its elements hold NaN.
  std::vector<float> Run(const Problem& problem, const Candidate& candidate);
  // The same by three loops.
  static std::vector<float> Expected(const Gemm& gemm);
  // The answer of a dispatcher with the context's choices over no records.
  Result<Serving> Serve(const Problem& problem);

 private:
  Result<TunedCandidate> Tune(const Problem& problem);
  TunableParts Parts(int ordinal);

  std::atomic<int> live_buffers_ = 0;
  std::unique_ptr<const Backend> backend_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Evaluator> evaluator_;
  MemoryStore store_;
  SteadyClock clock_;
  MemoryKernelCache kernels_;
  std::unique_ptr<TunableContext> context_;
  std::atomic<int> tunings_ = 0;
  std::mutex tuner_mutex_;
};

// True if `actual` is `expected` within float rounding of sums of this length; NaN is itself.
::testing::AssertionResult IsClose(std::span<const float> expected, std::span<const float> actual);

// Op and params of every result line, as "op,params".
std::vector<std::string> KeysOf(std::string_view results_content);

}  // namespace attune
