#include "extensions/interposers/capture/opencl_objects.h"

#include "attune/kernel/capture/spool_format.h"

namespace attune::capture {
namespace {

// Null for an index that no device accepts: OpenCL itself reports the error.
ClArgument* Place(ClKernel& kernel, cl_uint index) {
  if (index >= kMostArguments) return nullptr;
  if (index >= kernel.arguments.size()) kernel.arguments.resize(index + 1);
  return &kernel.arguments[index];
}

}  // namespace

void ClObjects::SetArgument(cl_kernel kernel, cl_uint index, size_t size_bytes, const void* value) {
  const std::lock_guard lock(mutex_);
  ClArgument* argument = Place(kernels_[kernel], index);
  if (argument == nullptr) return;
  argument->is_set = true;
  argument->is_pointer = false;
  argument->size_bytes = size_bytes;
  argument->has_value = value != nullptr;
  argument->value.clear();
  if (value == nullptr) return;
  const auto* bytes = static_cast<const unsigned char*>(value);
  argument->value.assign(bytes, bytes + size_bytes);
}

void ClObjects::SetPointer(cl_kernel kernel, cl_uint index) {
  const std::lock_guard lock(mutex_);
  ClArgument* argument = Place(kernels_[kernel], index);
  if (argument == nullptr) return;
  *argument = {};
  argument->is_set = argument->is_pointer = true;
}

void ClObjects::Forget(cl_kernel kernel) {
  const std::lock_guard lock(mutex_);
  kernels_.erase(kernel);
}

void ClObjects::Copy(cl_kernel from, cl_kernel to) {
  const std::lock_guard lock(mutex_);
  const ClKernel copy = kernels_[from];
  kernels_[to] = copy;
}

ClKernel ClObjects::Of(cl_kernel kernel) {
  const std::lock_guard lock(mutex_);
  const auto found = kernels_.find(kernel);
  return found == kernels_.end() ? ClKernel() : found->second;
}

ClIdentity ClObjects::IdentityOf(cl_kernel kernel, const std::function<ClIdentity()>& ask) {
  {
    const std::lock_guard lock(mutex_);
    const auto& identity = kernels_[kernel].identity;
    if (identity.has_value()) return *identity;
  }
  const ClIdentity identity = ask();
  const std::lock_guard lock(mutex_);
  kernels_[kernel].identity = identity;
  return identity;
}

void ClObjects::AddMemory(cl_mem memory) {
  if (memory == nullptr) return;
  const std::lock_guard lock(mutex_);
  memories_[memory] = true;
}

void ClObjects::RemoveMemory(cl_mem memory) {
  const std::lock_guard lock(mutex_);
  memories_.erase(memory);
}

bool ClObjects::IsMemory(cl_mem memory) {
  const std::lock_guard lock(mutex_);
  return memories_.contains(memory);
}

void ClObjects::AddUserEvent(cl_event event) {
  if (event == nullptr) return;
  const std::lock_guard lock(mutex_);
  user_events_[event] = true;
}

void ClObjects::CompleteUserEvent(cl_event event) {
  const std::lock_guard lock(mutex_);
  user_events_.erase(event);
}

bool ClObjects::HasUserEvents() {
  const std::lock_guard lock(mutex_);
  return !user_events_.empty();
}

ClObjects& TheClObjects() {
  static ClObjects* const objects = new ClObjects();
  return *objects;
}

}  // namespace attune::capture
