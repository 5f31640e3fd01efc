// cuDNN's legacy convolutions, batch norms, pooling and its graphs, loaded at run time, with one
// handle for each context.
#pragma once

#include <cuda.h>
#include <cudnn.h>

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "attune/base/data_type.h"
#include "attune/base/status.h"
#include "attune/solver/backend.h"

namespace attune::cuda {

#define ATTUNE_CUDNN_FUNCTIONS(X)                             \
  X(cudnnCreate)                                              \
  X(cudnnGetVersion)                                          \
  X(cudnnGetErrorString)                                      \
  X(cudnnGetLastErrorString)                                  \
  X(cudnnSetStream)                                           \
  X(cudnnCreateTensorDescriptor)                              \
  X(cudnnDestroyTensorDescriptor)                             \
  X(cudnnSetTensorNdDescriptor)                               \
  X(cudnnCreateFilterDescriptor)                              \
  X(cudnnDestroyFilterDescriptor)                             \
  X(cudnnSetFilterNdDescriptor)                               \
  X(cudnnCreateConvolutionDescriptor)                         \
  X(cudnnDestroyConvolutionDescriptor)                        \
  X(cudnnSetConvolutionNdDescriptor)                          \
  X(cudnnSetConvolutionGroupCount)                            \
  X(cudnnSetConvolutionMathType)                              \
  X(cudnnGetConvolutionForwardAlgorithm_v7)                   \
  X(cudnnGetConvolutionForwardWorkspaceSize)                  \
  X(cudnnConvolutionForward)                                  \
  X(cudnnGetConvolutionBackwardDataAlgorithm_v7)              \
  X(cudnnGetConvolutionBackwardDataWorkspaceSize)             \
  X(cudnnConvolutionBackwardData)                             \
  X(cudnnGetConvolutionBackwardFilterAlgorithm_v7)            \
  X(cudnnGetConvolutionBackwardFilterWorkspaceSize)           \
  X(cudnnConvolutionBackwardFilter)                           \
  X(cudnnCreatePoolingDescriptor)                             \
  X(cudnnDestroyPoolingDescriptor)                            \
  X(cudnnSetPooling2dDescriptor)                              \
  X(cudnnPoolingForward)                                      \
  X(cudnnPoolingBackward)                                     \
  X(cudnnTransformTensor)                                     \
  X(cudnnCreateActivationDescriptor)                          \
  X(cudnnDestroyActivationDescriptor)                         \
  X(cudnnSetActivationDescriptor)                             \
  X(cudnnDeriveBNTensorDescriptor)                            \
  X(cudnnBatchNormalizationForwardInference)                  \
  X(cudnnBatchNormalizationForwardTraining)                   \
  X(cudnnBatchNormalizationBackward)                          \
  X(cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize) \
  X(cudnnGetBatchNormalizationBackwardExWorkspaceSize)        \
  X(cudnnGetBatchNormalizationTrainingExReserveSpaceSize)     \
  X(cudnnBatchNormalizationForwardTrainingEx)                 \
  X(cudnnBatchNormalizationBackwardEx)                        \
  X(cudnnBackendCreateDescriptor)                             \
  X(cudnnBackendDestroyDescriptor)                            \
  X(cudnnBackendSetAttribute)                                 \
  X(cudnnBackendGetAttribute)                                 \
  X(cudnnBackendFinalize)                                     \
  X(cudnnBackendExecute)

// The type of elements; f32 for a type that no solver passes to cuDNN.
cudnnDataType_t CudnnTypeOf(DataType type);

// Loaded by its constructor. Thread-safe.
class Cudnn {
 public:
  Cudnn();
  // For a stand-in of the library: with `report`, and no functions until the stand-in sets them.
  explicit Cudnn(LibraryReport report) : report_(std::move(report)) {}

  // cuDNN marks these deprecated in favour of graphs; they are candidates of their own.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#define ATTUNE_CUDNN_DECLARE(NAME) decltype(&::NAME) NAME = nullptr;
  ATTUNE_CUDNN_FUNCTIONS(ATTUNE_CUDNN_DECLARE)
#undef ATTUNE_CUDNN_DECLARE
#pragma GCC diagnostic pop

  const LibraryReport& report() const { return report_; }
  bool available() const { return report_.available; }

  // The handle for the device of `stream`. REQUIRES: its context is current in this thread. Handles
  // stay for the life of the process, as their contexts do.
  Result<cudnnHandle_t> HandleOf(CUstream stream) const;

  // Calls `enqueue` with `handle` computing on `stream`, and returns its result. Calls wait for
  // each other: the stream is a setting of the handle.
  template <class Enqueue>
  Status EnqueueOn(CUstream stream, cudnnHandle_t handle, const Enqueue& enqueue) const {
    const std::lock_guard lock(enqueue_mutex_);
    ATTUNE_RETURN_IF_ERROR(Direct(handle, stream));
    return enqueue();
  }

  // Held during every call of EnqueueOn, and by callers that must make several of them, or related
  // calls, in one piece.
  std::recursive_mutex& enqueue_mutex() const { return enqueue_mutex_; }

  // Ok, or "cuDNN <what>: CUDNN_STATUS_NOT_SUPPORTED (<the library's reason>).": kUnsupported for
  // problems beyond the library, kResourceExhausted if memory ran out, kInternal otherwise.
  Status Check(cudnnStatus_t code, std::string_view what) const;

 private:
  LibraryReport report_;
  // The library's reason for the last error of this thread, in parentheses; empty without one.
  std::string LastReason() const;
  // REQUIRES: enqueue_mutex_ is held.
  Status Direct(cudnnHandle_t handle, CUstream stream) const;

  mutable std::mutex mutex_;  // Guards handles_.
  mutable std::map<CUstream, cudnnHandle_t> handles_;
  mutable std::recursive_mutex enqueue_mutex_;  // Guards directed_.
  mutable std::map<cudnnHandle_t, CUstream> directed_;
};

}  // namespace attune::cuda
