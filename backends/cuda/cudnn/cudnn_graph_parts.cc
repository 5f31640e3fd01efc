#include "backends/cuda/cudnn/cudnn_graph_parts.h"

#include <algorithm>
#include <utility>

// Handles of graphs are deprecated in newer versions, and needed in older ones.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace attune::cuda {

Result<CudnnGraphParts::Part> CudnnGraphParts::AddTensor(const CudnnTensor& tensor) {
  ATTUNE_ASSIGN_OR_RETURN(CudnnDescriptor made, Begin(CUDNN_BACKEND_TENSOR_DESCRIPTOR));
  const int64_t alignment_bytes =
      std::min(tensor.alignment_bytes, CudnnTensor::kMostAlignmentBytes);
  const int64_t id = ++last_id_;
  const cudnnDataType_t type = CudnnTypeOf(tensor.tensor.type);
  ATTUNE_RETURN_IF_ERROR(made.SetOne(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type));
  ATTUNE_RETURN_IF_ERROR(made.SetInt64s(CUDNN_ATTR_TENSOR_DIMENSIONS, tensor.tensor.extents));
  ATTUNE_RETURN_IF_ERROR(made.SetInt64s(CUDNN_ATTR_TENSOR_STRIDES, tensor.tensor.strides));
  ATTUNE_RETURN_IF_ERROR(made.SetOne(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, id));
  ATTUNE_RETURN_IF_ERROR(
      made.SetOne(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, alignment_bytes));
  if (tensor.kind == CudnnTensorKind::kVirtual) {
    ATTUNE_RETURN_IF_ERROR(made.SetOne(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, true));
  }
  if (tensor.kind == CudnnTensorKind::kValue) {
    ATTUNE_RETURN_IF_ERROR(made.SetOne(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, true));
  }
  if (tensor.kind != CudnnTensorKind::kVirtual) ids_.push_back(id);
  return Add(std::move(made));
}

Result<CudnnGraphParts::Part> CudnnGraphParts::Add(CudnnDescriptor described) {
  ATTUNE_RETURN_IF_ERROR(described.Finalize());
  parts_.push_back(std::move(described));
  return parts_.size() - 1;
}

Status CudnnGraphParts::AddOperation(CudnnDescriptor described) {
  ATTUNE_ASSIGN_OR_RETURN(const Part part, Add(std::move(described)));
  operations_.push_back(parts_[part].get());
  return Status::Ok();
}

Result<CudnnDescriptor> CudnnGraphParts::MakeGraph() const {
  ATTUNE_ASSIGN_OR_RETURN(CudnnDescriptor made, Begin(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR));
  ATTUNE_RETURN_IF_ERROR(made.SetOne(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle_));
  ATTUNE_RETURN_IF_ERROR(made.SetRaw(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                     std::ssize(operations_), operations_.data()));
  ATTUNE_RETURN_IF_ERROR(made.Finalize());
  return made;
}

}  // namespace attune::cuda
