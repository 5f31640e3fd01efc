#include "backends/cuda/cudnn/cudnn_backend.h"

#include <algorithm>

#include <fmt/format.h>

namespace attune::cuda {

Result<CudnnDescriptor> CudnnDescriptor::Create(const Cudnn& cudnn,
                                                cudnnBackendDescriptorType_t type) {
  cudnnBackendDescriptor_t descriptor = nullptr;
  ATTUNE_RETURN_IF_ERROR(
      cudnn.Check(cudnn.cudnnBackendCreateDescriptor(type, &descriptor),
                  fmt::format("cannot make a descriptor of type {}", static_cast<int>(type))));
  return CudnnDescriptor(cudnn, descriptor);
}

CudnnDescriptor::~CudnnDescriptor() {
  if (descriptor_ != nullptr) cudnn_->cudnnBackendDestroyDescriptor(descriptor_);
}

Status CudnnDescriptor::SetInt64s(cudnnBackendAttributeName_t name,
                                  const std::vector<int64_t>& values) {
  return SetRaw(name, CUDNN_TYPE_INT64, static_cast<int64_t>(values.size()), values.data());
}

Status CudnnDescriptor::SetRaw(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                               int64_t count, const void* values) {
  return cudnn_->Check(
      cudnn_->cudnnBackendSetAttribute(descriptor_, name, type, count, values),
      fmt::format("does not take attribute {} of a graph", static_cast<int>(name)));
}

Status CudnnDescriptor::Finalize() {
  return cudnn_->Check(cudnn_->cudnnBackendFinalize(descriptor_),
                       "does not compute this as a graph");
}

Result<int64_t> CudnnDescriptor::GetInt64(cudnnBackendAttributeName_t name) const {
  int64_t value = 0;
  int64_t count = 0;
  ATTUNE_RETURN_IF_ERROR(cudnn_->Check(
      cudnn_->cudnnBackendGetAttribute(descriptor_, name, CUDNN_TYPE_INT64, 1, &count, &value),
      fmt::format("does not tell attribute {} of a graph", static_cast<int>(name))));
  return value;
}

int64_t CudnnDescriptor::CountOf(cudnnBackendAttributeName_t name,
                                 cudnnBackendAttributeType_t type) const {
  return GetRaw(name, type, 0, nullptr);
}

int64_t CudnnDescriptor::GetRaw(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                                int64_t count, void* values) const {
  int64_t there = 0;
  const cudnnStatus_t code =
      cudnn_->cudnnBackendGetAttribute(descriptor_, name, type, count, &there, values);
  return code == CUDNN_STATUS_SUCCESS ? there : 0;
}

Result<std::vector<CudnnDescriptor>> CudnnDescriptor::GetDescriptors(
    cudnnBackendAttributeName_t name, cudnnBackendDescriptorType_t type, int64_t most) const {
  const int64_t there = std::min(most, CountOf(name, CUDNN_TYPE_BACKEND_DESCRIPTOR));
  // The library fills descriptors that it is given.
  std::vector<CudnnDescriptor> descriptors;
  std::vector<cudnnBackendDescriptor_t> pointers;
  for (int64_t i = 0; i < there; ++i) {
    ATTUNE_ASSIGN_OR_RETURN(CudnnDescriptor descriptor, Create(*cudnn_, type));
    pointers.push_back(descriptor.descriptor_);
    descriptors.push_back(std::move(descriptor));
  }
  const int64_t filled = std::min(
      there, there == 0 ? 0 : GetRaw(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, there, pointers.data()));
  while (std::ssize(descriptors) > filled) descriptors.pop_back();
  return descriptors;
}

}  // namespace attune::cuda
