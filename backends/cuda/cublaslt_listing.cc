#include "backends/cuda/cublaslt_listing.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

namespace attune::cuda {
namespace {

// The library has never given more than 8.
constexpr int kMaxAnswers = 64;
constexpr int kSplits[] = {2, 3, 4, 5, 6, 8, 12, 16, 32, 64};
// Ids whose fields span more combinations than this are listed at custom option 0 only: checking
// one combination takes about a microsecond.
constexpr uint64_t kMaxChecksPerId = 100'000;

// What the capabilities of one id allow.
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
      ATTUNE_RETURN_IF_ERROR(AddAll(*base, AxesOf(*base)));
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

  // Of products that are split along k: one bit for each.
  std::vector<uint32_t> ReductionsOf(const cublasLtMatmulAlgo_t& algorithm) const {
    const uint32_t mask = lt_.Capability(algorithm, CUBLASLT_ALGO_CAP_REDUCTION_SCHEME_MASK);
    std::vector<uint32_t> schemes;
    for (uint32_t bit = 1; bit <= mask; bit *= 2) {
      if ((mask & bit) != 0) schemes.push_back(bit);
    }
    return schemes;
  }

  // Whether the cluster shape means anything to `algorithm`: those before Hopper take every value,
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
    for (const uint32_t custom : axes.customs) {
      Set(algorithm, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, custom);
      for (const uint32_t swizzle : axes.swizzles) {
        Set(algorithm, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, swizzle);
        for (const uint16_t cluster : axes.clusters) {
          Set(algorithm, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, cluster);
          ATTUNE_RETURN_IF_ERROR(AddIfAccepted(algorithm));
        }
      }
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
  std::set<Config> seen_;
  std::vector<Config> found_;
};

}  // namespace

Result<std::vector<Config>> ListAlgorithms(const CublasLt& lt, const CublasLtProduct& product) {
  Lister lister(lt, product);
  ATTUNE_RETURN_IF_ERROR(lister.AddAnswers());
  ATTUNE_RETURN_IF_ERROR(lister.AddSpace());
  return lister.Take();
}

}  // namespace attune::cuda
