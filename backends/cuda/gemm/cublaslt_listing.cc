#include "backends/cuda/gemm/cublaslt_listing.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "attune/ops/gemm/gemm.h"

namespace attune::cuda {
namespace {

// The library has never given more than 8.
constexpr int kMaxAnswers = 64;
// The likely first.
constexpr int kSplits[] = {2, 4, 3, 8, 6, 5, 16, 12, 32, 64};
// A shorter part of k is over before its pipeline is full.
constexpr int64_t kShortestPart = 64;
// Two tiles of the largest size (256 x 128) for each multiprocessor of the largest devices: with so
// many outputs a split cannot win.
constexpr double kOutputsOfBusyDevice = 2.0 * 256 * 128 * 132;
// Ids with fields that span more combinations are listed at custom option 0 only: checking one
// combination takes about a microsecond.
constexpr uint64_t kMaxChecksPerId = 100'000;

// The values that the capabilities of one id allow.
struct Axes {
  std::vector<uint32_t> tiles;
  std::vector<uint32_t> stages;
  std::vector<uint32_t> customs;
  std::vector<uint32_t> swizzles;
  std::vector<uint16_t> clusters;

  uint64_t size() const {
    return uint64_t{tiles.size()} * stages.size() * customs.size() * swizzles.size() *
           clusters.size();
  }
};

// One id, and an accepted algorithm for each tile and number of stages.
struct Accepted {
  cublasLtMatmulAlgo_t base;
  std::vector<cublasLtMatmulAlgo_t> algorithms;
};

class Lister {
 public:
  Lister(const CublasLt& lt, const CublasLtProduct& product) : lt_(lt), product_(product) {}

  Status AddAnswers() {
    ATTUNE_ASSIGN_OR_RETURN(const auto answers, product_.Heuristics(kMaxAnswers));
    for (const auto& answer : answers) ATTUNE_RETURN_IF_ERROR(AddIfAccepted(answer.algo));
    for (const auto& answer : answers) {
      for (const int split : kSplits) {
        cublasLtMatmulAlgo_t algorithm = answer.algo;
        for (const uint32_t reduction : ReductionsOf(algorithm)) {
          if (Set(algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, split) &&
              Set(algorithm, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, reduction)) {
            ATTUNE_RETURN_IF_ERROR(AddIfAccepted(algorithm));
          }
        }
      }
    }
    return Status::Ok();
  }

  Status AddSpace() {
    ATTUNE_ASSIGN_OR_RETURN(const std::vector<int> ids, product_.Ids());
    for (const int id : ids) {
      const Result<cublasLtMatmulAlgo_t> base = product_.Initialised(id);
      // Listed for the types, and refused for this product.
      if (!base.ok()) continue;
      accepted_.push_back({*base, {}});
      ATTUNE_RETURN_IF_ERROR(AddAll(*base, AxesOf(*base)));
    }
    return Status::Ok();
  }

  // After AddSpace.
  Status AddInnerShapes() {
    constexpr int kShapes = CUBLASLT_MATMUL_INNER_SHAPE_END - 1;
    for (const Accepted& accepted : accepted_) {
      if (accepted.algorithms.empty() || !HeedsInnerShapes(accepted.algorithms.front())) continue;
      for (int shape = 1; shape <= kShapes; ++shape) {
        const auto value = static_cast<uint16_t>(shape);
        ATTUNE_RETURN_IF_ERROR(
            AddVariants(accepted, {kMaxVariantsPerId / kShapes, shape}, [&](auto& algorithm) {
              return Set(algorithm, CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, value);
            }));
      }
    }
    return Status::Ok();
  }

  // After AddSpace.
  Status AddSplits() {
    const std::vector<int> splits = UsefulSplits();
    for (const int split : splits) {
      for (const Accepted& accepted : accepted_) {
        if (lt_.Capability(accepted.base, CUBLASLT_ALGO_CAP_SPLITK_SUPPORT) == 0) continue;
        const std::vector<uint32_t> reductions = ReductionsOf(accepted.base);
        const auto ways = static_cast<int>(splits.size() * reductions.size());
        for (const uint32_t reduction : reductions) {
          ATTUNE_RETURN_IF_ERROR(
              AddVariants(accepted, {kMaxVariantsPerId / ways, split}, [&](auto& algorithm) {
                return Set(algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, split) &&
                       Set(algorithm, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, reduction);
              }));
        }
      }
    }
    return Status::Ok();
  }

  std::vector<Config> Take() { return std::move(found_); }

 private:
  template <class T>
  bool Set(cublasLtMatmulAlgo_t& algorithm, cublasLtMatmulAlgoConfigAttributes_t which,
           T value) const {
    return lt_.cublasLtMatmulAlgoConfigSetAttribute(&algorithm, which, &value, sizeof value) ==
           CUBLAS_STATUS_SUCCESS;
  }

  // An algorithm that lists none has one way, which the library calls undefined.
  std::vector<uint32_t> CapabilityList(const cublasLtMatmulAlgo_t& algorithm,
                                       cublasLtMatmulAlgoCapAttributes_t which) const {
    size_t bytes = 0;
    lt_.cublasLtMatmulAlgoCapGetAttribute(&algorithm, which, nullptr, 0, &bytes);
    std::vector<uint32_t> values(bytes / sizeof(uint32_t));
    if (values.empty()) return {0};
    lt_.cublasLtMatmulAlgoCapGetAttribute(&algorithm, which, values.data(), bytes, &bytes);
    return values;
  }

  // The reduction schemes of products split along k: one bit for each.
  std::vector<uint32_t> ReductionsOf(const cublasLtMatmulAlgo_t& algorithm) const {
    const uint32_t mask = lt_.Capability(algorithm, CUBLASLT_ALGO_CAP_REDUCTION_SCHEME_MASK);
    std::vector<uint32_t> schemes;
    for (uint32_t bit = 1; bit <= mask; bit *= 2) {
      if ((mask & bit) != 0) schemes.push_back(bit);
    }
    return schemes;
  }

  // The kSplits that may be useful for this product.
  std::vector<int> UsefulSplits() const {
    const Gemm& gemm = product_.gemm();
    const double outputs = static_cast<double>(gemm.m) * static_cast<double>(gemm.n) *
                           static_cast<double>(gemm.batch_count);
    std::vector<int> splits;
    if (outputs >= kOutputsOfBusyDevice) return splits;
    for (const int split : kSplits) {
      if (gemm.k / split >= kShortestPart) splits.push_back(split);
    }
    return splits;
  }

  // True if the inner shape has an effect on `algorithm`, as for clusters below.
  bool HeedsInnerShapes(cublasLtMatmulAlgo_t algorithm) const {
    constexpr auto kImpossible = static_cast<uint16_t>(CUBLASLT_MATMUL_INNER_SHAPE_END);
    return !Set(algorithm, CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, kImpossible) ||
           !product_.Check(algorithm).has_value();
  }

  // True if the cluster shape has an effect on `algorithm`: those before Hopper take every value,
  // even one with more blocks than a cluster can have, and ignore it.
  bool HeedsClusters(cublasLtMatmulAlgo_t algorithm) const {
    constexpr auto kImpossible = static_cast<uint16_t>(CUBLASLT_CLUSTER_SHAPE_END);
    return !Set(algorithm, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, kImpossible) ||
           !product_.Check(algorithm).has_value();
  }

  Axes AxesOf(const cublasLtMatmulAlgo_t& base) const {
    Axes axes;
    axes.tiles = CapabilityList(base, CUBLASLT_ALGO_CAP_TILE_IDS);
    axes.stages = CapabilityList(base, CUBLASLT_ALGO_CAP_STAGES_IDS);
    axes.swizzles = {0};
    if (lt_.Capability(base, CUBLASLT_ALGO_CAP_CTA_SWIZZLING_SUPPORT) != 0)
      axes.swizzles.push_back(1);
    axes.clusters = {CUBLASLT_CLUSTER_SHAPE_AUTO};
    cublasLtMatmulAlgo_t first = base;
    Set(first, CUBLASLT_ALGO_CONFIG_TILE_ID, axes.tiles.front());
    Set(first, CUBLASLT_ALGO_CONFIG_STAGES_ID, axes.stages.front());
    if (HeedsClusters(first)) {
      for (int shape = CUBLASLT_CLUSTER_SHAPE_1x1x1; shape <= CUBLASLT_CLUSTER_SHAPE_4x4x1;
           ++shape) {
        axes.clusters.push_back(static_cast<uint16_t>(shape));
      }
    }
    axes.customs = {0};
    const uint32_t last = lt_.Capability(base, CUBLASLT_ALGO_CAP_CUSTOM_OPTION_MAX);
    if (axes.size() * (last + 1) <= kMaxChecksPerId) {
      for (uint32_t custom = 1; custom <= last; ++custom) axes.customs.push_back(custom);
    }
    return axes;
  }

  Status AddAll(const cublasLtMatmulAlgo_t& base, const Axes& axes) {
    cublasLtMatmulAlgo_t algorithm = base;
    for (const uint32_t tile : axes.tiles) {
      Set(algorithm, CUBLASLT_ALGO_CONFIG_TILE_ID, tile);
      for (const uint32_t stages : axes.stages) {
        Set(algorithm, CUBLASLT_ALGO_CONFIG_STAGES_ID, stages);
        ATTUNE_RETURN_IF_ERROR(AddRest(algorithm, axes));
      }
    }
    return Status::Ok();
  }

  Status AddRest(cublasLtMatmulAlgo_t algorithm, const Axes& axes) {
    bool is_first = true;
    for (const uint32_t custom : axes.customs) {
      Set(algorithm, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, custom);
      for (const uint32_t swizzle : axes.swizzles) {
        Set(algorithm, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, swizzle);
        for (const uint16_t cluster : axes.clusters) {
          Set(algorithm, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, cluster);
          if (!product_.Check(algorithm).has_value()) continue;
          if (is_first) accepted_.back().algorithms.push_back(algorithm);
          is_first = false;
          ATTUNE_RETURN_IF_ERROR(Add(algorithm));
        }
      }
    }
    return Status::Ok();
  }

  // The part of the accepted algorithms that is varied in one way.
  struct Share {
    int most = 0;
    int offset = 0;  // Lets other ways vary others.
  };

  // Adds the variants that `change` makes of evenly spaced algorithms, as far as the library
  // accepts them.
  template <class Change>
  Status AddVariants(const Accepted& accepted, Share share, const Change& change) {
    const auto most = static_cast<size_t>(std::max(share.most, 1));
    const size_t step = (accepted.algorithms.size() + most - 1) / most;
    if (step == 0) return Status::Ok();
    for (size_t i = static_cast<size_t>(share.offset) % step; i < accepted.algorithms.size();
         i += step) {
      cublasLtMatmulAlgo_t algorithm = accepted.algorithms[i];
      if (change(algorithm)) ATTUNE_RETURN_IF_ERROR(AddIfAccepted(algorithm));
    }
    return Status::Ok();
  }

  Status AddIfAccepted(const cublasLtMatmulAlgo_t& algorithm) {
    return product_.Check(algorithm).has_value() ? Add(algorithm) : Status::Ok();
  }

  Status Add(const cublasLtMatmulAlgo_t& algorithm) {
    ATTUNE_ASSIGN_OR_RETURN(Config config, product_.FieldsOf(algorithm));
    if (seen_.insert(config).second) found_.push_back(std::move(config));
    return Status::Ok();
  }

  const CublasLt& lt_;
  const CublasLtProduct& product_;
  std::vector<Accepted> accepted_;  // Filled by AddSpace.
  std::set<Config> seen_;
  std::vector<Config> found_;
};

}  // namespace

Result<std::vector<Config>> ListAlgorithms(const CublasLt& lt, const CublasLtProduct& product) {
  Lister lister(lt, product);
  ATTUNE_RETURN_IF_ERROR(lister.AddAnswers());
  ATTUNE_RETURN_IF_ERROR(lister.AddSpace());
  ATTUNE_RETURN_IF_ERROR(lister.AddInnerShapes());
  ATTUNE_RETURN_IF_ERROR(lister.AddSplits());
  return lister.Take();
}

Result<std::vector<Config>> ListAlgorithms(const CublasLt& lt, CUcontext context,
                                           const Gemm& gemm) {
  ATTUNE_ASSIGN_OR_RETURN(const CublasLtProduct product, CublasLtProduct::On(lt, context, gemm));
  return ListAlgorithms(lt, product);
}

}  // namespace attune::cuda
