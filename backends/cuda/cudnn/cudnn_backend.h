// Descriptors of cuDNN's graph interface, as values that destroy themselves.
#pragma once

#include <cudnn.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "attune/base/status.h"
#include "backends/cuda/cudnn/cudnn.h"

namespace attune::cuda {

// One descriptor: attributes are set, it is finalised, and then it is read. Move-only. Everything
// that it was given must outlive it.
class CudnnDescriptor {
 public:
  static Result<CudnnDescriptor> Create(const Cudnn& cudnn, cudnnBackendDescriptorType_t type);

  CudnnDescriptor(CudnnDescriptor&& other) noexcept
      : cudnn_(other.cudnn_), descriptor_(std::exchange(other.descriptor_, nullptr)) {}
  CudnnDescriptor& operator=(CudnnDescriptor&& other) noexcept {
    std::swap(cudnn_, other.cudnn_);
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~CudnnDescriptor();

  Status SetInt64s(cudnnBackendAttributeName_t name, const std::vector<int64_t>& values);
  // One value, of the size that `type` has.
  template <class T>
  Status SetOne(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                const T& value) {
    return SetRaw(name, type, 1, &value);
  }
  Status SetDescriptor(cudnnBackendAttributeName_t name, const CudnnDescriptor& value) {
    return SetOne(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, value.descriptor_);
  }
  Status SetRaw(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                const void* values);

  // kUnsupported if the library cannot compute the described operation.
  Status Finalize();

  Result<int64_t> GetInt64(cudnnBackendAttributeName_t name) const;
  // Values of an enumeration; none if the library reports none.
  template <class T>
  std::vector<T> GetAll(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type) const {
    std::vector<T> values(static_cast<size_t>(CountOf(name, type)));
    const auto room = static_cast<int64_t>(values.size());
    if (room == 0) return values;
    values.resize(static_cast<size_t>(std::min(room, GetRaw(name, type, room, values.data()))));
    return values;
  }
  // At most `most` descriptors of `type`.
  Result<std::vector<CudnnDescriptor>> GetDescriptors(cudnnBackendAttributeName_t name,
                                                      cudnnBackendDescriptorType_t type,
                                                      int64_t most) const;

  cudnnBackendDescriptor_t get() const { return descriptor_; }

 private:
  CudnnDescriptor(const Cudnn& cudnn, cudnnBackendDescriptor_t descriptor)
      : cudnn_(&cudnn), descriptor_(descriptor) {}

  int64_t CountOf(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type) const;
  // Returns the number of values and writes the first `count`; 0 if the library reports none.
  int64_t GetRaw(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                 void* values) const;

  const Cudnn* cudnn_;
  cudnnBackendDescriptor_t descriptor_ = nullptr;
};

}  // namespace attune::cuda
