// A graph of cuDNN that is ready to be computed: its engines, their knobs, and plans.
#pragma once

#include <cuda.h>
#include <cudnn.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attune/base/status.h"
#include "attune/space/config.h"
#include "backends/cuda/cudnn/cudnn.h"
#include "backends/cuda/cudnn/cudnn_backend.h"
#include "backends/cuda/cudnn/cudnn_call.h"
#include "backends/cuda/cudnn/cudnn_graph_parts.h"
#include "backends/cuda/cudnn/cudnn_knobs.h"
#include "backends/cuda/cudnn/cudnn_plan.h"

namespace attune::cuda {

// A plan that was made, or read from the text of an earlier one.
struct CudnnKeptPlan {
  CudnnPlan plan;
  bool is_read = false;
  std::string json;  // To be kept; empty if it was read, or is made as quickly as read.
};

// Limit of the workspace of first calls, which should not empty the device; more than any quick
// engine wanted.
inline constexpr size_t kMostQuickBytes = size_t{64} << 20;

// A plan that was made quickly, and the engine that it is of.
struct CudnnQuickPlan {
  CudnnPlan plan;
  CudnnEngineChoice choice;
};

// Which engines may compute a graph, by the numerical notes that they report. Engines that add in a
// type narrower than f32 never may.
struct CudnnEngineTerms {
  bool is_exact = false;          // f32 stays f32: no tensor cores.
  bool is_deterministic = false;  // Sums are the same every time.
  // Tensor cores only, which multiply operands in place, neither transformed nor in waves.
  bool is_direct = false;
};

// Solver::ServesUntried of solvers with engines and knobs as configs. Engines that compile at run
// time accept any number for the kernel (CUDNN_KNOB_TYPE_KERNEL_CFG), and some numbers compute NaN
// or anything else: 71, 72 and 78 of cuDNN 9.19.
bool ServesUntriedOfCudnn(const Config& config);

// Immutable; used by one thread at a time.
class CudnnGraph {
 public:
  // kUnsupported if the library does not take the graph. `seed` draws the combinations of knobs
  // that Enumeration() has.
  static Result<CudnnGraph> Create(CudnnGraphParts parts, const CudnnEngineTerms& terms,
                                   uint64_t seed);

  // The library's recommendations, best guess first: modes A, B and fallback, in this order and
  // without repetition. Engines that are not allowed (Allows) are left out.
  Result<std::vector<Config>> Recommendations() const;

  // The recommendations of one mode, best guess first; none where it does not know the graph.
  Result<std::vector<Config>> RecommendationsOf(cudnnBackendHeurMode_t mode) const;

  // Every engine that computes the graph and is allowed, with the knobs of VariantsOf.
  Result<std::vector<Config>> Enumeration() const;

  // Recommendations, then the rest of the enumeration; in both, engines that compile when a plan is
  // made come last.
  Result<std::vector<Config>> AllConfigs() const;

  // The plan of `config`, or the first one for a config without fields: out of `json`, which an
  // earlier call left for the same, unless that is empty or the library does not take it.
  Result<CudnnKeptPlan> PlanWith(std::string_view json, const Config& config) const;

  // The plan of `config`, which is out of one of the lists above. kUnsupported if its engine does
  // not compute this graph, or not with these knobs. May compile for seconds.
  Result<CudnnPlan> PlanOf(const Config& config) const;
  // The plan of the first recommendation that has one.
  Result<CudnnPlan> FirstPlan() const;

  // The plan of the first of `choices` that takes the graph with the requested numerical
  // properties, compiles nothing and needs little memory; asks the library for no recommendation.
  // kUnsupported if there is none.
  Result<CudnnQuickPlan> QuickPlan(std::span<const CudnnEngineChoice> choices) const;

  // Recommendations of engines that compile nothing; none where the library has no answer.
  std::vector<CudnnEngineChoice> QuickRecommendations() const;

  // `addresses` of the tensors that have one, in the order in which they were added to the parts.
  // Those of values are in host memory, which is read before Run() returns. REQUIRES: the workspace
  // has plan.workspace_bytes.
  Status Run(const CudnnPlan& plan, std::span<const void* const> addresses, void* workspace,
             CUstream stream) const;
  // Likewise. REQUIRES: it has three tensors.
  Status Run(const CudnnPlan& plan, const CudnnCall& call) const;

  const Cudnn& library() const;

 private:
  struct Descriptors;

  explicit CudnnGraph(std::shared_ptr<const Descriptors> descriptors)
      : descriptors_(std::move(descriptors)) {}

  Result<CudnnDescriptor> Engine(int64_t index) const;
  // Its engine, if it is allowed and compiles nothing.
  Result<CudnnDescriptor> QuickEngine(const CudnnEngineChoice& choice) const;
  // True if the notes of the engine itself allow it.
  bool Allows(const CudnnDescriptor& engine) const;
  // Nothing if the engine is not allowed.
  Result<std::optional<Config>> ConfigOf(const CudnnDescriptor& engine_config) const;
  Status AddVariants(int64_t index, uint64_t seed, std::vector<Config>& configs) const;
  // REQUIRES: the engine is allowed.
  Result<CudnnPlan> PlanOf(const CudnnDescriptor& engine, const KnobValues& knobs) const;

  std::shared_ptr<const Descriptors> descriptors_;
};

}  // namespace attune::cuda
