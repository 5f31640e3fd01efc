#include "extensions/interposers/capture/cuda_launch.h"

#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "extensions/interposers/capture/settings.h"
#include "extensions/interposers/preload/lookup.h"

namespace attune::capture {
namespace {

constexpr size_t kMostNameBytes = 256;

std::string Failed(const char* function, CUresult code) {
  return std::string(function) + " failed with " + std::to_string(static_cast<int>(code));
}

// Keeps copies and waits out of the graph capture of another stream.
class RelaxedCapture {
 public:
  explicit RelaxedCapture(const void* caller) : caller_(caller) { Exchange(); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;
  ~RelaxedCapture() { Exchange(); }

 private:
  void Exchange() { ATTUNE_REAL_CUDA(cuThreadExchangeStreamCaptureMode, caller_)(&mode_); }

  const void* const caller_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

}  // namespace

std::string CudaLaunch::Look() {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  // Asking the legacy stream would end the capture of another one.
  const bool is_legacy = call_.stream == nullptr || call_.stream == CU_STREAM_LEGACY;
  if (!is_legacy) ATTUNE_REAL_CUDA(cuStreamIsCapturing, call_.caller)(call_.stream, &status);
  if (status != CU_STREAM_CAPTURE_STATUS_NONE) {
    return "its stream is captured into a graph, so that it does not run now";
  }
  if (call_.attribute_count > 0) {
    return "it has launch attributes (clusters, for one), which kernel files have not";
  }
  if (function_.source == nullptr && function_.image == nullptr) {
    return "neither its source nor what was loaded is known";
  }
  geometry_.dimensions = 3;
  while (geometry_.dimensions > 1 && call_.grid[geometry_.dimensions - 1] == 1 &&
         call_.block[geometry_.dimensions - 1] == 1) {
    --geometry_.dimensions;
  }
  for (int i = 0; i < 3; ++i) {
    geometry_.local[i] = call_.block[i];
    geometry_.global[i] = uint64_t{call_.block[i]} * call_.grid[i];
    if (geometry_.global[i] == 0) return "it has no threads";
  }
  geometry_.shared_bytes = call_.shared_bytes;
  if (std::string hindered = LookAtArguments(); !hindered.empty()) return hindered;
  DivideAllocations();
  uint64_t all_bytes = 0;
  for (const Argument& argument : arguments_) {
    const bool is_first = argument.address != 0 && argument.told.same_as < 0;
    if (is_first) all_bytes += argument.told.size_bytes;
  }
  return TheSettings().Excess(all_bytes);
}

std::string CudaLaunch::LookAtArguments() {
  if (call_.extra != nullptr) {
    return "its arguments are packed (CU_LAUNCH_PARAM_BUFFER_POINTER), which is not read";
  }
  // Drivers before CUDA 12.4 lack this function.
  const auto tell = reinterpret_cast<decltype(&::cuFuncGetParamInfo)>(interposer::FindBeside(
      reinterpret_cast<const void*>(ATTUNE_REAL_CUDA(cuLaunchKernel, call_.caller)),
      "cuFuncGetParamInfo"));
  if (tell == nullptr) return "the driver does not tell its arguments, as those of CUDA 12.4 do";
  for (size_t i = 0; i < kMostArguments; ++i) {
    size_t offset = 0;
    size_t size = 0;
    const CUresult code = tell(call_.function, i, &offset, &size);
    if (code == CUDA_ERROR_INVALID_VALUE) return "";
    if (code != CUDA_SUCCESS) return Failed("cuFuncGetParamInfo", code);
    if (call_.parameters == nullptr) return "it has no arguments, and its kernel takes some";
    Argument& argument = arguments_.emplace_back();
    argument.value.assign(static_cast<const char*>(call_.parameters[i]), size);
    argument.told.size_bytes = size;
    if (size == sizeof(CUdeviceptr)) LookForBuffer(argument);
  }
  return "";
}

// Treats a number that is an address of the device's memory as a buffer.
void CudaLaunch::LookForBuffer(Argument& argument) const {
  CUdeviceptr address = 0;
  std::memcpy(&address, argument.value.data(), sizeof address);
  CUdeviceptr allocation = 0;
  size_t size = 0;
  if (address == 0 || ATTUNE_REAL_CUDA(cuMemGetAddressRange, call_.caller)(
                          &allocation, &size, address) != CUDA_SUCCESS) {
    return;
  }
  argument.told.kind = SpoolArgumentKind::kBuffer;
  argument.told.size_bytes = allocation + size - address;
  argument.address = address;
  argument.allocation = allocation;
}

void CudaLaunch::DivideAllocations() {
  for (size_t i = 0; i < arguments_.size(); ++i) {
    Argument& argument = arguments_[i];
    for (size_t j = 0; j < arguments_.size() && argument.address != 0; ++j) {
      const Argument& other = arguments_[j];
      if (other.address == 0 || other.allocation != argument.allocation) continue;
      if (other.address > argument.address) {
        argument.told.size_bytes =
            std::min<uint64_t>(argument.told.size_bytes, other.address - argument.address);
      }
      if (j < i && other.address == argument.address && argument.told.same_as < 0) {
        argument.told.same_as = static_cast<int32_t>(j);
      }
    }
  }
}

uint64_t CudaLaunch::Shape() const {
  std::string text(reinterpret_cast<const char*>(&geometry_), sizeof geometry_);
  for (const Argument& argument : arguments_) {
    text += std::to_string(argument.told.size_bytes) + ' ';
    if (argument.address == 0) text += argument.value;
  }
  return XXH3_64bits(text.data(), text.size());
}

SpoolFile::Reader CudaLaunch::ReaderOf(CUdeviceptr address) const {
  return [this, address](size_t at, size_t size, void* to) -> std::string {
    const CUresult code = ATTUNE_REAL_CUDA(cuMemcpy, call_.caller)(
        reinterpret_cast<CUdeviceptr>(to), address + at, size);
    return code == CUDA_SUCCESS ? "" : Failed("reading a buffer: cuMemcpy", code);
  };
}

bool CudaLaunch::PutCode() {
  if (function_.source == nullptr) {
    return file_.Put(SpoolTag::kSource, 0, "") && file_.Put(SpoolTag::kBinary, 0, *function_.image);
  }
  bool is_written = file_.Put(SpoolTag::kSource, 0, function_.source->text) &&
                    file_.Put(SpoolTag::kOptions, 0, function_.source->options);
  for (const auto& [name, text] : function_.source->headers) {
    is_written = is_written && file_.Put(SpoolTag::kHeader, 0, name + '\0' + text);
  }
  return is_written;
}

bool CudaLaunch::PutAll(uint64_t number) {
  char folder[PATH_MAX] = "";
  if (::getcwd(folder, sizeof folder) == nullptr) folder[0] = '\0';
  char device_name[kMostNameBytes] = "";
  CUdevice device = 0;
  if (ATTUNE_REAL_CUDA(cuCtxGetDevice, call_.caller)(&device) == CUDA_SUCCESS) {
    ATTUNE_REAL_CUDA(cuDeviceGetName, call_.caller)(device_name, sizeof device_name, device);
  }
  bool is_written = file_.Put(SpoolTag::kLanguage, 0, "cuda") &&
                    file_.Put(SpoolTag::kFunction, 0, function_.name) && PutCode() &&
                    file_.Put(SpoolTag::kDevice, 0, device_name) &&
                    file_.Put(SpoolTag::kFolder, 0, folder) &&
                    file_.PutValue(SpoolTag::kGeometry, 0, geometry_) &&
                    file_.PutValue(SpoolTag::kNumber, 0, number);
  for (size_t i = 0; i < arguments_.size() && is_written; ++i) {
    const auto index = static_cast<uint32_t>(i);
    Argument& argument = arguments_[i];
    is_written = file_.PutValue(SpoolTag::kArgument, index, argument.told);
    if (is_written && argument.address == 0) {
      is_written = file_.Put(SpoolTag::kValue, index, argument.value);
    } else if (is_written && argument.told.same_as < 0) {
      is_written = file_.PutBefore(index, argument.told.size_bytes, ReaderOf(argument.address),
                                   argument.hash);
    }
  }
  return is_written;
}

std::string CudaLaunch::Begin(uint64_t number) {
  const RelaxedCapture relaxed(call_.caller);
  const CUresult waited = ATTUNE_REAL_CUDA(cuStreamSynchronize, call_.caller)(call_.stream);
  if (waited != CUDA_SUCCESS) return Failed("cuStreamSynchronize", waited);
  return file_.Create() && PutAll(number) ? "" : file_.error();
}

std::string CudaLaunch::End(bool& is_changed) {
  is_changed = false;
  const RelaxedCapture relaxed(call_.caller);
  const CUresult waited = ATTUNE_REAL_CUDA(cuStreamSynchronize, call_.caller)(call_.stream);
  if (waited != CUDA_SUCCESS) return Failed("cuStreamSynchronize behind the launch", waited);
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const Argument& argument = arguments_[i];
    if (argument.address == 0 || argument.told.same_as >= 0) continue;
    if (!file_.PutAfter(static_cast<uint32_t>(i), argument.told.size_bytes,
                        ReaderOf(argument.address), argument.hash, is_changed)) {
      return file_.error();
    }
  }
  return !is_changed || file_.Commit() ? "" : file_.error();
}

}  // namespace attune::capture
