#include "backends/cuda/gemm/cublaslt_product.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "attune/ops/gemm/gemm.h"

namespace attune::cuda {
namespace {

// The types that cuBLASLt uses for one pair of element types.
struct TypeRow {
  DataType type;    // A and B.
  DataType c_type;  // C and bias.
  MathMode math;
  cublasComputeType_t compute;
  cudaDataType_t scale;
  cudaDataType_t a_code;
  cudaDataType_t c_code;
};
constexpr TypeRow kTypes[] = {
    {DataType::kF64, DataType::kF64, MathMode::kStrict, CUBLAS_COMPUTE_64F, CUDA_R_64F, CUDA_R_64F,
     CUDA_R_64F},
    {DataType::kF32, DataType::kF32, MathMode::kStrict, CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_32F,
     CUDA_R_32F},
    {DataType::kF32, DataType::kF32, MathMode::kTf32, CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F,
     CUDA_R_32F, CUDA_R_32F},
    {DataType::kF32, DataType::kF32, MathMode::kBf16, CUBLAS_COMPUTE_32F_FAST_16BF, CUDA_R_32F,
     CUDA_R_32F, CUDA_R_32F},
    {DataType::kF16, DataType::kF16, MathMode::kStrict, CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_16F,
     CUDA_R_16F},
    {DataType::kF16, DataType::kF32, MathMode::kStrict, CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_16F,
     CUDA_R_32F},
    {DataType::kBf16, DataType::kBf16, MathMode::kStrict, CUBLAS_COMPUTE_32F, CUDA_R_32F,
     CUDA_R_16BF, CUDA_R_16BF},
    {DataType::kBf16, DataType::kF32, MathMode::kStrict, CUBLAS_COMPUTE_32F, CUDA_R_32F,
     CUDA_R_16BF, CUDA_R_32F},
    {DataType::kI8, DataType::kI32, MathMode::kStrict, CUBLAS_COMPUTE_32I, CUDA_R_32I, CUDA_R_8I,
     CUDA_R_32I},
    // It has no row for f8e5m2 by f8e5m2. The device decides which storage orders and alignments it
    // multiplies: Hopper takes TN and multiples of 16 bytes.
    {DataType::kF8E4M3, DataType::kBf16, MathMode::kStrict, CUBLAS_COMPUTE_32F, CUDA_R_32F,
     CUDA_R_8F_E4M3, CUDA_R_16BF},
    {DataType::kF8E4M3, DataType::kF16, MathMode::kStrict, CUBLAS_COMPUTE_32F, CUDA_R_32F,
     CUDA_R_8F_E4M3, CUDA_R_16F},
    {DataType::kF8E4M3, DataType::kF32, MathMode::kStrict, CUBLAS_COMPUTE_32F, CUDA_R_32F,
     CUDA_R_8F_E4M3, CUDA_R_32F},
};

const TypeRow* FindTypes(const Gemm& gemm) {
  for (const TypeRow& row : kTypes) {
    if (row.type == gemm.type && row.c_type == gemm.c_type && row.math == gemm.math) return &row;
  }
  return nullptr;
}

// Fields of an algorithm in the order of their enumeration; all but the id may be set.
struct Field {
  std::string_view name;
  cublasLtMatmulAlgoConfigAttributes_t attribute;
  size_t bytes;
};
constexpr Field kFields[] = {
    {"id", CUBLASLT_ALGO_CONFIG_ID, 4},
    {"tile", CUBLASLT_ALGO_CONFIG_TILE_ID, 4},
    {"split_k", CUBLASLT_ALGO_CONFIG_SPLITK_NUM, 4},
    {"reduction", CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, 4},
    {"swizzle", CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, 4},
    {"custom", CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, 4},
    {"stages", CUBLASLT_ALGO_CONFIG_STAGES_ID, 4},
    {"inner", CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, 2},
    {"cluster", CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, 2},
};

// More than any version has had.
constexpr int kMaxIds = 1024;
// The widest load of a thread, and the alignment of Hopper's tensor maps.
constexpr int64_t kLargestAccessBytes = 16;

// alpha and beta in the type that the computation scales with.
class ScalarPair {
 public:
  ScalarPair(cudaDataType_t type, double alpha, double beta) {
    switch (type) {
      case CUDA_R_64F:
        Keep(alpha, beta);
        break;
      case CUDA_R_32I:
        Keep(static_cast<int32_t>(alpha), static_cast<int32_t>(beta));
        break;
      default:
        Keep(static_cast<float>(alpha), static_cast<float>(beta));
        break;
    }
  }

  const void* alpha() const { return alpha_.data(); }
  const void* beta() const { return beta_.data(); }

 private:
  template <class T>
  void Keep(T alpha, T beta) {
    std::memcpy(alpha_.data(), &alpha, sizeof alpha);
    std::memcpy(beta_.data(), &beta, sizeof beta);
  }

  alignas(double) std::array<std::byte, sizeof(double)> alpha_ = {};
  alignas(double) std::array<std::byte, sizeof(double)> beta_ = {};
};

std::optional<cublasLtEpilogue_t> EpilogueOf(const Gemm& gemm) {
  const bool has_bias = gemm.bias == Bias::kPerRow;
  if (gemm.bias == Bias::kPerColumn) return std::nullopt;
  switch (gemm.activation) {
    case Activation::kNone:
      return has_bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
    case Activation::kRelu:
      return has_bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
    case Activation::kGelu:  // The library's is the tanh form.
    case Activation::kTanh:
    case Activation::kSigmoid:
      return std::nullopt;
  }
  return std::nullopt;
}

// The ways to add the partial sums of a product that is split along k. A strict product accumulates
// in f32 or wider, which excludes sums rounded to a narrower C; by default the library adds such
// sums, too. In place it adds in the order in which blocks end.
uint32_t AllowedReductions(const Gemm& gemm) {
  uint32_t schemes = CUBLASLT_REDUCTION_SCHEME_MASK;
  if (SizeBytes(gemm.c_type) < sizeof(float)) schemes = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  if (gemm.deterministic) schemes &= ~uint32_t{CUBLASLT_REDUCTION_SCHEME_INPLACE};
  return schemes;
}

// Integers are multiplied as words of four, without an epilogue (NVIDIA's documentation of
// cublasLtMatmul). Their operands begin at words, because those of i32 do. The library's answer
// decides which storage orders and extents it multiplies; tensor cores take those with the index of
// the sum innermost and m and k of whole words.
Status CheckIntegers(const Gemm& gemm) {
  constexpr int64_t kWord = 4;
  if (gemm.bias != Bias::kNone || gemm.activation != Activation::kNone) {
    return Unsupported("cuBLASLt has no epilogue for products of integers.");
  }
  std::vector<int64_t> distances = {gemm.lda, gemm.ldb, gemm.ldc};
  if (gemm.batch_count > 1) {
    distances.insert(distances.end(), {gemm.stride_a, gemm.stride_b, gemm.stride_c});
  }
  for (const int64_t distance : distances) {
    if (distance % kWord == 0) continue;
    return Unsupported(fmt::format(
        "cuBLASLt multiplies integers whose leading dimensions and distances of a batch "
        "are multiples of {}; {} is none.",
        kWord, distance));
  }
  return Status::Ok();
}

cublasOperation_t OperationOf(Transpose transpose) {
  return transpose == Transpose::kYes ? CUBLAS_OP_T : CUBLAS_OP_N;
}

}  // namespace

Status CheckCublasLtTakes(const Gemm& gemm) {
  if (FindTypes(gemm) == nullptr) {
    return Unsupported(fmt::format("cuBLASLt does not multiply {} into {} with math '{}'.",
                                   Name(gemm.type), Name(gemm.c_type), Name(gemm.math)));
  }
  if (gemm.type == DataType::kI8) return CheckIntegers(gemm);
  if (gemm.type == DataType::kF8E4M3 && gemm.c_type == DataType::kF32 && gemm.bias != Bias::kNone) {
    return Unsupported("cuBLASLt takes a bias of bf16 for products of f8 into f32, not of f32.");
  }
  if (!EpilogueOf(gemm).has_value()) {
    return Unsupported(
        "cuBLASLt has this epilogue in no form that rounds as asked: it adds a bias to rows and "
        "computes relu.");
  }
  return Status::Ok();
}

bool CublasLtKeepsSpecialValues(const Problem& problem) {
  const Gemm* gemm = problem.As<Gemm>();
  return gemm != nullptr && gemm->activation != Activation::kRelu;
}

// Everything that one product needs, destroyed together.
struct CublasLtProduct::Descriptors {
  Descriptors(const CublasLt& library, cublasLtHandle_t its_handle, const Gemm& product)
      : lt(library), handle(its_handle), gemm(product), types(*FindTypes(product)) {}
  Descriptors(const Descriptors&) = delete;
  Descriptors& operator=(const Descriptors&) = delete;
  ~Descriptors() {
    if (preference != nullptr) lt.cublasLtMatmulPreferenceDestroy(preference);
    for (cublasLtMatrixLayout_t layout : {a, b, c}) {
      if (layout != nullptr) lt.cublasLtMatrixLayoutDestroy(layout);
    }
    if (operation != nullptr) lt.cublasLtMatmulDescDestroy(operation);
  }

  Status CreateOperation() {
    ATTUNE_RETURN_IF_ERROR(lt.Check(
        lt.cublasLtMatmulDescCreate(&operation, types.compute, types.scale), "cannot describe"));
    ATTUNE_RETURN_IF_ERROR(Set(CUBLASLT_MATMUL_DESC_TRANSA, OperationOf(gemm.trans_a)));
    ATTUNE_RETURN_IF_ERROR(Set(CUBLASLT_MATMUL_DESC_TRANSB, OperationOf(gemm.trans_b)));
    return Set(CUBLASLT_MATMUL_DESC_EPILOGUE, *EpilogueOf(gemm));
  }

  Status CreateLayouts() {
    ATTUNE_RETURN_IF_ERROR(CreateLayout(
        a, types.a_code, {StoredRowsA(gemm), StoredColumnsA(gemm), gemm.lda, gemm.stride_a}));
    ATTUNE_RETURN_IF_ERROR(CreateLayout(
        b, types.a_code, {StoredRowsB(gemm), StoredColumnsB(gemm), gemm.ldb, gemm.stride_b}));
    return CreateLayout(c, types.c_code, {gemm.m, gemm.n, gemm.ldc, gemm.stride_c});
  }

  Status CreatePreference() {
    ATTUNE_RETURN_IF_ERROR(
        lt.Check(lt.cublasLtMatmulPreferenceCreate(&preference), "cannot make a preference"));
    ATTUNE_RETURN_IF_ERROR(
        Prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kCublasLtWorkspaceBytes));
    ATTUNE_RETURN_IF_ERROR(
        Prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, AllowedReductions(gemm)));
    const auto alignment_bytes = static_cast<uint32_t>(std::min(gemm.alignment_bytes, 256));
    for (const auto which :
         {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
      ATTUNE_RETURN_IF_ERROR(Prefer(which, alignment_bytes));
    }
    return Status::Ok();
  }

  // Ok if the library computes the product with `algorithm`; then `result` holds its demands.
  cublasStatus_t CheckAlgorithm(const cublasLtMatmulAlgo_t& algorithm,
                                cublasLtMatmulHeuristicResult_t& result) const {
    return lt.cublasLtMatmulAlgoCheck(handle, operation, a, b, c, c, &algorithm, &result);
  }

  // True if partial sums are added as AllowedReductions says.
  bool ReducesAsAllowed(const cublasLtMatmulAlgo_t& algorithm) const {
    uint32_t scheme = 0;
    size_t written = 0;
    lt.cublasLtMatmulAlgoConfigGetAttribute(&algorithm, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME,
                                            &scheme, sizeof scheme, &written);
    return (scheme & ~AllowedReductions(gemm)) == 0;
  }

  // The alignment in bytes that the algorithm demands of every operand: its check by the library
  // sees layouts and no pointers.
  uint32_t LeastAlignment(const cublasLtMatmulAlgo_t& algorithm) const {
    constexpr cublasLtMatmulAlgoCapAttributes_t kOperands[] = {
        CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_A_BYTES, CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_C_BYTES, CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_D_BYTES};
    uint32_t least_bytes = 1;
    for (const auto operand : kOperands) {
      least_bytes = std::max(least_bytes, lt.Capability(algorithm, operand));
    }
    return least_bytes;
  }

  // True if the algorithm reads and writes operands with the alignment of the problem.
  bool TakesAlignment(const cublasLtMatmulAlgo_t& algorithm) const {
    return gemm.alignment_bytes >= kLargestAccessBytes ||
           LeastAlignment(algorithm) <= static_cast<uint32_t>(gemm.alignment_bytes);
  }

  template <class T>
  Status Set(cublasLtMatmulDescAttributes_t which, T value) {
    return lt.Check(lt.cublasLtMatmulDescSetAttribute(operation, which, &value, sizeof value),
                    "does not take the operation");
  }

  const CublasLt& lt;
  const cublasLtHandle_t handle;
  const Gemm gemm;
  const TypeRow& types;
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t a = nullptr;
  cublasLtMatrixLayout_t b = nullptr;
  cublasLtMatrixLayout_t c = nullptr;
  cublasLtMatmulPreference_t preference = nullptr;

 private:
  // In elements.
  struct StoredMatrices {
    int64_t rows = 0;
    int64_t columns = 0;
    int64_t leading = 0;
    int64_t stride = 0;
  };

  Status CreateLayout(cublasLtMatrixLayout_t& layout, cudaDataType_t type,
                      const StoredMatrices& stored) {
    ATTUNE_RETURN_IF_ERROR(lt.Check(
        lt.cublasLtMatrixLayoutCreate(&layout, type, static_cast<uint64_t>(stored.rows),
                                      static_cast<uint64_t>(stored.columns), stored.leading),
        "does not take a matrix"));
    if (gemm.batch_count == 1) return Status::Ok();
    const auto count = static_cast<int32_t>(gemm.batch_count);
    ATTUNE_RETURN_IF_ERROR(
        lt.Check(lt.cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
                                                     &count, sizeof count),
                 "does not take the batch"));
    return lt.Check(
        lt.cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                            &stored.stride, sizeof stored.stride),
        "does not take the stride of a batch");
  }

  template <class T>
  Status Prefer(cublasLtMatmulPreferenceAttributes_t which, T value) {
    return lt.Check(
        lt.cublasLtMatmulPreferenceSetAttribute(preference, which, &value, sizeof value),
        "does not take the preference");
  }
};

Result<CublasLtProduct> CublasLtProduct::Create(const CublasLt& lt, cublasLtHandle_t handle,
                                                const Gemm& gemm) {
  auto descriptors = std::make_shared<Descriptors>(lt, handle, gemm);
  ATTUNE_RETURN_IF_ERROR(descriptors->CreateOperation());
  ATTUNE_RETURN_IF_ERROR(descriptors->CreateLayouts());
  ATTUNE_RETURN_IF_ERROR(descriptors->CreatePreference());
  return CublasLtProduct(std::move(descriptors));
}

Result<CublasLtProduct> CublasLtProduct::On(const CublasLt& lt, CUcontext context,
                                            const Gemm& gemm) {
  ATTUNE_ASSIGN_OR_RETURN(const cublasLtHandle_t handle, lt.HandleOf(context));
  return Create(lt, handle, gemm);
}

Result<std::vector<cublasLtMatmulHeuristicResult_t>> CublasLtProduct::Heuristics(int count) const {
  const Descriptors& d = *descriptors_;
  std::vector<cublasLtMatmulHeuristicResult_t> answers(static_cast<size_t>(count));
  int found = 0;
  ATTUNE_RETURN_IF_ERROR(
      d.lt.Check(d.lt.cublasLtMatmulAlgoGetHeuristic(d.handle, d.operation, d.a, d.b, d.c, d.c,
                                                     d.preference, count, answers.data(), &found),
                 "has no answer for this product"));
  answers.resize(static_cast<size_t>(found));
  std::erase_if(answers, [](const auto& answer) { return answer.state != CUBLAS_STATUS_SUCCESS; });
  if (answers.empty()) return Unsupported("cuBLASLt has no algorithm for this product.");
  return answers;
}

Result<cublasLtMatmulHeuristicResult_t> CublasLtProduct::Algorithm(const Config& config) const {
  if (config.empty()) {
    ATTUNE_ASSIGN_OR_RETURN(const auto answers, Heuristics(1));
    return answers.front();
  }
  const Descriptors& d = *descriptors_;
  if ((IntegerAt(config, "reduction") & ~int64_t{AllowedReductions(d.gemm)}) != 0) {
    return Unsupported(
        "This algorithm adds partial sums in the type of C, or in the order in which blocks end.");
  }
  ATTUNE_ASSIGN_OR_RETURN(cublasLtMatmulAlgo_t algorithm,
                          Initialised(static_cast<int>(IntegerAt(config, "id"))));
  for (const Field& field : kFields) {
    if (field.attribute == CUBLASLT_ALGO_CONFIG_ID) continue;
    // Little-endian, so that the first two bytes are the number that two bytes hold.
    const auto value = static_cast<uint32_t>(IntegerAt(config, field.name));
    ATTUNE_RETURN_IF_ERROR(d.lt.Check(
        d.lt.cublasLtMatmulAlgoConfigSetAttribute(&algorithm, field.attribute, &value, field.bytes),
        fmt::format("does not take {}={}", field.name, value)));
  }
  // It may have been measured on operands that are aligned better.
  if (!d.TakesAlignment(algorithm)) {
    return Unsupported(fmt::format(
        "cuBLASLt's {} takes operands that begin at multiples of {} bytes, and those of this "
        "problem begin at multiples of {}.",
        Text(config), d.LeastAlignment(algorithm), d.gemm.alignment_bytes));
  }
  cublasLtMatmulHeuristicResult_t result = {};
  ATTUNE_RETURN_IF_ERROR(d.lt.Check(d.CheckAlgorithm(algorithm, result),
                                    fmt::format("does not compute this with {}", Text(config))));
  if (result.workspaceSize > kCublasLtWorkspaceBytes) {
    return Unsupported(fmt::format(
        "cuBLASLt's {} takes {} bytes of scratch memory for this problem; at most {} are given.",
        Text(config), result.workspaceSize, kCublasLtWorkspaceBytes));
  }
  result.algo = algorithm;
  return result;
}

Result<Config> CublasLtProduct::FieldsOf(const cublasLtMatmulAlgo_t& algorithm) const {
  const Descriptors& d = *descriptors_;
  Config config;
  for (const Field& field : kFields) {
    uint32_t value = 0;
    size_t written = 0;
    ATTUNE_RETURN_IF_ERROR(
        d.lt.Check(d.lt.cublasLtMatmulAlgoConfigGetAttribute(&algorithm, field.attribute, &value,
                                                             field.bytes, &written),
                   fmt::format("does not tell the {} of an algorithm", field.name)));
    config[std::string(field.name)] = int64_t{value};
  }
  return config;
}

std::optional<cublasLtMatmulHeuristicResult_t> CublasLtProduct::Check(
    const cublasLtMatmulAlgo_t& algorithm) const {
  if (!descriptors_->ReducesAsAllowed(algorithm) || !descriptors_->TakesAlignment(algorithm)) {
    return std::nullopt;
  }
  cublasLtMatmulHeuristicResult_t result = {};
  const cublasStatus_t code = descriptors_->CheckAlgorithm(algorithm, result);
  if (code != CUBLAS_STATUS_SUCCESS || result.workspaceSize > kCublasLtWorkspaceBytes) {
    return std::nullopt;
  }
  result.algo = algorithm;
  return result;
}

const Gemm& CublasLtProduct::gemm() const { return descriptors_->gemm; }

Result<std::vector<int>> CublasLtProduct::Ids() const {
  const Descriptors& d = *descriptors_;
  std::vector<int> ids(kMaxIds);
  int count = 0;
  ATTUNE_RETURN_IF_ERROR(
      d.lt.Check(d.lt.cublasLtMatmulAlgoGetIds(d.handle, d.types.compute, d.types.scale,
                                               d.types.a_code, d.types.a_code, d.types.c_code,
                                               d.types.c_code, kMaxIds, ids.data(), &count),
                 "does not list its algorithms"));
  ids.resize(static_cast<size_t>(count));
  return ids;
}

Result<cublasLtMatmulAlgo_t> CublasLtProduct::Initialised(int id) const {
  const Descriptors& d = *descriptors_;
  cublasLtMatmulAlgo_t algorithm = {};
  ATTUNE_RETURN_IF_ERROR(d.lt.Check(
      d.lt.cublasLtMatmulAlgoInit(d.handle, d.types.compute, d.types.scale, d.types.a_code,
                                  d.types.a_code, d.types.c_code, d.types.c_code, id, &algorithm),
      fmt::format("has no algorithm {} for these types", id)));
  return algorithm;
}

Status CublasLtProduct::Run(const cublasLtMatmulAlgo_t& algorithm, const CublasLtCall& call) const {
  const Descriptors& d = *descriptors_;
  if (d.types.scale == CUDA_R_32I &&
      (std::trunc(call.alpha) != call.alpha || std::trunc(call.beta) != call.beta)) {
    return InvalidArgument(fmt::format(
        "Products of integers are scaled with whole numbers, and alpha is {} and beta {}.",
        call.alpha, call.beta));
  }
  if (call.bias != nullptr) {
    ATTUNE_RETURN_IF_ERROR(d.lt.Check(
        d.lt.cublasLtMatmulDescSetAttribute(d.operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER,
                                            &call.bias, sizeof call.bias),
        "does not take the bias"));
  }
  const ScalarPair scalars(d.types.scale, call.alpha, call.beta);
  return d.lt.Check(d.lt.cublasLtMatmul(d.handle, d.operation, scalars.alpha(), call.a, d.a, call.b,
                                        d.b, scalars.beta(), call.c, d.c, call.c, d.c, &algorithm,
                                        call.workspace, call.workspace_bytes, call.stream),
                    "cannot multiply");
}

Result<ChosenProduct> ChooseProduct(const CublasLt& lt, CUcontext context, const Gemm& gemm,
                                    const Config& config) {
  ATTUNE_ASSIGN_OR_RETURN(CublasLtProduct product, CublasLtProduct::On(lt, context, gemm));
  ATTUNE_ASSIGN_OR_RETURN(const auto algorithm, product.Algorithm(config));
  return ChosenProduct{std::move(product), algorithm};
}

}  // namespace attune::cuda
