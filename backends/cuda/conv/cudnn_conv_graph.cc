#include "backends/cuda/conv/cudnn_conv_graph.h"

#include <array>
#include <utility>
#include <vector>

#include "attune/base/fingerprint.h"
#include "attune/problem/problem.h"
#include "backends/cuda/conv/cudnn_words.h"
#include "backends/cuda/cudnn/cudnn_graph_parts.h"

namespace attune::cuda {
namespace {

using Part = CudnnGraphParts::Part;

std::vector<int64_t> LastOf(const Spatial& extents, int rank) {
  return {extents.end() - rank, extents.end()};
}

Result<Part> AddConvolution(const Conv& conv, CudnnGraphParts& parts) {
  ATTUNE_ASSIGN_OR_RETURN(CudnnDescriptor made, parts.Begin(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR));
  const int rank = conv.spatial_rank;
  const cudnnDataType_t compute = CudnnSumType(conv.type);
  const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  const auto set = [&](cudnnBackendAttributeName_t name, const Spatial& values) {
    return made.SetInt64s(name, LastOf(values, rank));
  };
  ATTUNE_RETURN_IF_ERROR(
      made.SetOne(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, compute));
  ATTUNE_RETURN_IF_ERROR(
      made.SetOne(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, mode));
  ATTUNE_RETURN_IF_ERROR(
      made.SetOne(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, int64_t{rank}));
  ATTUNE_RETURN_IF_ERROR(set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, conv.pad));
  ATTUNE_RETURN_IF_ERROR(set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, conv.pad));
  ATTUNE_RETURN_IF_ERROR(set(CUDNN_ATTR_CONVOLUTION_DILATIONS, conv.dilation));
  ATTUNE_RETURN_IF_ERROR(set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, conv.stride));
  return parts.Add(std::move(made));
}

// The attributes of an operation: the three operands, the convolution, alpha and beta.
struct OperationNames {
  cudnnBackendDescriptorType_t type;
  std::array<cudnnBackendAttributeName_t, 6> attributes;
};

OperationNames NamesOfOperation(ConvDirection direction) {
  switch (direction) {
    case ConvDirection::kForward:
      return {
          CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
          {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
           CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
           CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
           CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
           CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA}};
    case ConvDirection::kBackwardData:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
               CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
               CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
               CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
               CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
               CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA}};
    case ConvDirection::kBackwardWeights:
      break;
  }
  return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
          {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
           CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
           CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
           CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
           CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
           CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA}};
}

// `described`: the three operands and the convolution.
Status AddOperation(const Conv& conv, const std::vector<Part>& described, CudnnGraphParts& parts) {
  const OperationNames names = NamesOfOperation(conv.direction);
  ATTUNE_ASSIGN_OR_RETURN(CudnnDescriptor made, parts.Begin(names.type));
  for (size_t i = 0; i < described.size(); ++i) {
    ATTUNE_RETURN_IF_ERROR(made.SetDescriptor(names.attributes[i], parts[described[i]]));
  }
  if (conv.type == DataType::kF64) {
    ATTUNE_RETURN_IF_ERROR(made.SetOne(names.attributes[4], CUDNN_TYPE_DOUBLE, 1.0));
    ATTUNE_RETURN_IF_ERROR(made.SetOne(names.attributes[5], CUDNN_TYPE_DOUBLE, 0.0));
  } else {
    ATTUNE_RETURN_IF_ERROR(made.SetOne(names.attributes[4], CUDNN_TYPE_FLOAT, 1.0F));
    ATTUNE_RETURN_IF_ERROR(made.SetOne(names.attributes[5], CUDNN_TYPE_FLOAT, 0.0F));
  }
  return parts.AddOperation(std::move(made));
}

CudnnEngineTerms TermsOf(const Conv& conv, CudnnEngines engines) {
  CudnnEngineTerms terms;
  terms.is_exact = conv.type == DataType::kF32 && conv.math == MathMode::kStrict;
  terms.is_deterministic = conv.deterministic;
  terms.is_direct = engines == CudnnEngines::kTensorCores;
  return terms;
}

}  // namespace

Result<CudnnGraph> MakeCudnnConvGraph(const Cudnn& cudnn, cudnnHandle_t handle, const Conv& conv,
                                      CudnnEngines engines) {
  CudnnGraphParts parts(cudnn, handle);
  std::vector<Part> described;
  for (const Operand& operand : Operands(Problem(conv))) {
    ATTUNE_ASSIGN_OR_RETURN(
        const Part part,
        parts.AddTensor({.tensor = operand.tensor, .alignment_bytes = conv.alignment_bytes}));
    described.push_back(part);
  }
  ATTUNE_ASSIGN_OR_RETURN(const Part convolution, AddConvolution(conv, parts));
  described.push_back(convolution);
  ATTUNE_RETURN_IF_ERROR(AddOperation(conv, described, parts));
  const uint64_t seed = FingerprintOf(Text(Problem(conv))).low;
  return CudnnGraph::Create(std::move(parts), TermsOf(conv, engines), seed);
}

}  // namespace attune::cuda
