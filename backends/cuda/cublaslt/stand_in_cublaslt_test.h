// cuBLASLt's functions without the library: algorithms and results of checks that a test makes up.
// Nothing is computed.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "backends/cuda/cublaslt/cublaslt.h"

namespace attune::cuda {

// One id, and the fields that the check accepts for it.
struct MadeAlgorithm {
  int id = 0;
  std::vector<uint32_t> tiles = {};  // Empty: it lists none and takes only 0, as for `stages`.
  std::vector<uint32_t> stages = {};
  uint32_t last_custom = 0;
  bool swizzles = false;
  bool splits = false;
  uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_NONE;
  // 0: fields for these mean nothing, and every value is accepted.
  uint32_t last_cluster = 0;
  uint32_t last_inner = 0;
  std::array<uint32_t, 4> alignments_bytes = {1, 1, 1, 1};  // A, B, C, D.
};

// One at a time; not thread-safe.
class StandInCublasLt {
 public:
  using Fields = std::array<uint32_t, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID + 1>;

  StandInCublasLt() {
    current_ = this;
    FillDescriptors();
    FillAlgorithms();
  }
  StandInCublasLt(const StandInCublasLt&) = delete;
  StandInCublasLt& operator=(const StandInCublasLt&) = delete;
  ~StandInCublasLt() { current_ = nullptr; }

  // `id` with all fields at their defaults.
  static cublasLtMatmulAlgo_t Initialised(int id) {
    Fields fields = {};
    fields[CUBLASLT_ALGO_CONFIG_ID] = static_cast<uint32_t>(id);
    fields[CUBLASLT_ALGO_CONFIG_SPLITK_NUM] = 1;
    return Packed(fields);
  }
  static cublasLtMatmulAlgo_t With(cublasLtMatmulAlgo_t algorithm,
                                   cublasLtMatmulAlgoConfigAttributes_t which, uint32_t value) {
    Fields fields = FieldsOf(algorithm);
    fields[which] = value;
    return Packed(fields);
  }

  std::vector<MadeAlgorithm> algorithms;
  std::vector<cublasLtMatmulAlgo_t> answers;  // From the heuristic.
  size_t workspace_bytes = 0;                 // Per algorithm, the same for all.
  int checks = 0;                             // Number of checks.
  CublasLt lt;

 private:
  static Fields FieldsOf(const cublasLtMatmulAlgo_t& algorithm) {
    Fields fields;
    static_assert(sizeof fields <= sizeof algorithm);
    std::memcpy(fields.data(), &algorithm, sizeof fields);
    return fields;
  }
  static cublasLtMatmulAlgo_t Packed(const Fields& fields) {
    cublasLtMatmulAlgo_t algorithm = {};
    std::memcpy(&algorithm, fields.data(), sizeof fields);
    return algorithm;
  }
  static size_t BytesOf(cublasLtMatmulAlgoConfigAttributes_t which) {
    return which >= CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID ? 2 : 4;
  }

  const MadeAlgorithm* Find(int id) const {
    const auto found = std::find_if(algorithms.begin(), algorithms.end(),
                                    [id](const MadeAlgorithm& made) { return made.id == id; });
    return found == algorithms.end() ? nullptr : &*found;
  }

  static bool Lists(const std::vector<uint32_t>& values, uint32_t value) {
    if (values.empty()) return value == 0;
    return std::find(values.begin(), values.end(), value) != values.end();
  }

  bool Accepts(const Fields& fields) const {
    const MadeAlgorithm* made = Find(static_cast<int>(fields[CUBLASLT_ALGO_CONFIG_ID]));
    if (made == nullptr || !Lists(made->tiles, fields[CUBLASLT_ALGO_CONFIG_TILE_ID]) ||
        !Lists(made->stages, fields[CUBLASLT_ALGO_CONFIG_STAGES_ID])) {
      return false;
    }
    const uint32_t reduction = fields[CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME];
    const bool reduces =
        fields[CUBLASLT_ALGO_CONFIG_SPLITK_NUM] == 1
            ? reduction == 0
            : made->splits && reduction != 0 && (reduction & ~made->reductions) == 0;
    const auto heeds = [&](uint32_t last, cublasLtMatmulAlgoConfigAttributes_t which) {
      return last == 0 || fields[which] <= last;
    };
    return reduces && fields[CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION] <= made->last_custom &&
           fields[CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING] <= (made->swizzles ? 1u : 0u) &&
           heeds(made->last_cluster, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID) &&
           heeds(made->last_inner, CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID);
  }

  // The words of one capability; empty if an algorithm lists none.
  std::vector<uint32_t> CapabilityOf(const MadeAlgorithm& made,
                                     cublasLtMatmulAlgoCapAttributes_t which) const {
    switch (which) {
      case CUBLASLT_ALGO_CAP_TILE_IDS:
        return made.tiles;
      case CUBLASLT_ALGO_CAP_STAGES_IDS:
        return made.stages;
      case CUBLASLT_ALGO_CAP_CUSTOM_OPTION_MAX:
        return {made.last_custom};
      case CUBLASLT_ALGO_CAP_CTA_SWIZZLING_SUPPORT:
        return {made.swizzles ? 1u : 0u};
      case CUBLASLT_ALGO_CAP_SPLITK_SUPPORT:
        return {made.splits ? 1u : 0u};
      case CUBLASLT_ALGO_CAP_REDUCTION_SCHEME_MASK:
        return {made.reductions};
      case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_A_BYTES:
      case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_B_BYTES:
      case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_C_BYTES:
      case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_D_BYTES:
        return {made.alignments_bytes[static_cast<size_t>(
            which - CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_A_BYTES)]};
      default:
        return {0};
    }
  }

  void FillDescriptors() {
    static cublasLtMatmulDescOpaque_t operation;
    static cublasLtMatrixLayoutOpaque_t layout;
    static cublasLtMatmulPreferenceOpaque_t preference;
    lt.cublasLtGetStatusName = [](cublasStatus_t) { return "CUBLAS_STATUS_OF_A_STAND_IN"; };
    lt.cublasLtMatmulDescCreate = [](cublasLtMatmulDesc_t* made, cublasComputeType_t,
                                     cudaDataType_t) {
      *made = &operation;
      return CUBLAS_STATUS_SUCCESS;
    };
    lt.cublasLtMatmulDescDestroy = [](cublasLtMatmulDesc_t) { return CUBLAS_STATUS_SUCCESS; };
    lt.cublasLtMatmulDescSetAttribute = [](cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t,
                                           const void*, size_t) { return CUBLAS_STATUS_SUCCESS; };
    lt.cublasLtMatrixLayoutCreate = [](cublasLtMatrixLayout_t* made, cudaDataType, uint64_t,
                                       uint64_t, int64_t) {
      *made = &layout;
      return CUBLAS_STATUS_SUCCESS;
    };
    lt.cublasLtMatrixLayoutDestroy = [](cublasLtMatrixLayout_t) { return CUBLAS_STATUS_SUCCESS; };
    lt.cublasLtMatrixLayoutSetAttribute = [](cublasLtMatrixLayout_t,
                                             cublasLtMatrixLayoutAttribute_t, const void*,
                                             size_t) { return CUBLAS_STATUS_SUCCESS; };
    lt.cublasLtMatmulPreferenceCreate = [](cublasLtMatmulPreference_t* made) {
      *made = &preference;
      return CUBLAS_STATUS_SUCCESS;
    };
    lt.cublasLtMatmulPreferenceDestroy = [](cublasLtMatmulPreference_t) {
      return CUBLAS_STATUS_SUCCESS;
    };
    lt.cublasLtMatmulPreferenceSetAttribute = [](cublasLtMatmulPreference_t,
                                                 cublasLtMatmulPreferenceAttributes_t, const void*,
                                                 size_t) { return CUBLAS_STATUS_SUCCESS; };
  }

  void FillAlgorithms() {
    lt.cublasLtMatmulAlgoGetIds = [](cublasLtHandle_t, cublasComputeType_t, cudaDataType_t,
                                     cudaDataType_t, cudaDataType_t, cudaDataType_t, cudaDataType_t,
                                     int most, int* ids, int* count) {
      *count = 0;
      for (const MadeAlgorithm& made : current_->algorithms) {
        if (*count < most) ids[(*count)++] = made.id;
      }
      return CUBLAS_STATUS_SUCCESS;
    };
    lt.cublasLtMatmulAlgoInit = [](cublasLtHandle_t, cublasComputeType_t, cudaDataType_t,
                                   cudaDataType_t, cudaDataType_t, cudaDataType_t, cudaDataType_t,
                                   int id, cublasLtMatmulAlgo_t* made) {
      if (current_->Find(id) == nullptr) return CUBLAS_STATUS_NOT_SUPPORTED;
      *made = Initialised(id);
      return CUBLAS_STATUS_SUCCESS;
    };
    lt.cublasLtMatmulAlgoGetHeuristic =
        [](cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
           cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatmulPreference_t, int most,
           cublasLtMatmulHeuristicResult_t* results, int* count) {
          *count = 0;
          for (const cublasLtMatmulAlgo_t& answer : current_->answers) {
            if (*count < most) results[(*count)++].algo = answer;
          }
          return CUBLAS_STATUS_SUCCESS;
        };
    lt.cublasLtMatmulAlgoCapGetAttribute = ReadCapability;
    lt.cublasLtMatmulAlgoConfigGetAttribute = ReadField;
    lt.cublasLtMatmulAlgoConfigSetAttribute = WriteField;
    lt.cublasLtMatmulAlgoCheck = [](cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                                    cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                    cublasLtMatrixLayout_t, const cublasLtMatmulAlgo_t* algorithm,
                                    cublasLtMatmulHeuristicResult_t* result) {
      ++current_->checks;
      if (!current_->Accepts(FieldsOf(*algorithm))) return CUBLAS_STATUS_NOT_SUPPORTED;
      result->workspaceSize = current_->workspace_bytes;
      return CUBLAS_STATUS_SUCCESS;
    };
  }

  static cublasStatus_t ReadCapability(const cublasLtMatmulAlgo_t* algorithm,
                                       cublasLtMatmulAlgoCapAttributes_t which, void* to,
                                       size_t bytes, size_t* written) {
    const MadeAlgorithm* made =
        current_->Find(static_cast<int>(FieldsOf(*algorithm)[CUBLASLT_ALGO_CONFIG_ID]));
    if (made == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    const std::vector<uint32_t> words = current_->CapabilityOf(*made, which);
    *written = words.size() * sizeof(uint32_t);
    if (bytes < *written) return bytes == 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
    std::copy(words.begin(), words.end(), static_cast<uint32_t*>(to));
    return CUBLAS_STATUS_SUCCESS;
  }

  static cublasStatus_t ReadField(const cublasLtMatmulAlgo_t* algorithm,
                                  cublasLtMatmulAlgoConfigAttributes_t which, void* to,
                                  size_t bytes, size_t* written) {
    if (bytes != BytesOf(which)) return CUBLAS_STATUS_INVALID_VALUE;
    const Fields fields = FieldsOf(*algorithm);
    std::memcpy(to, &fields[which], bytes);
    *written = bytes;
    return CUBLAS_STATUS_SUCCESS;
  }

  static cublasStatus_t WriteField(cublasLtMatmulAlgo_t* algorithm,
                                   cublasLtMatmulAlgoConfigAttributes_t which, const void* from,
                                   size_t bytes) {
    if (bytes != BytesOf(which) || which == CUBLASLT_ALGO_CONFIG_ID) {
      return CUBLAS_STATUS_INVALID_VALUE;
    }
    uint32_t value = 0;
    std::memcpy(&value, from, bytes);
    *algorithm = With(*algorithm, which, value);
    return CUBLAS_STATUS_SUCCESS;
  }

  // The functions have no argument to pass the stand-in, so they use this one.
  static inline StandInCublasLt* current_ = nullptr;
};

}  // namespace attune::cuda
