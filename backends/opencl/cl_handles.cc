#include "backends/opencl/cl_handles.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace attune::opencl {
namespace {

struct NamedError {
  cl_int code;
  std::string_view name;
};

#define ATTUNE_CL_ERROR(name) \
  NamedError { name, #name }
constexpr NamedError kErrors[] = {ATTUNE_CL_ERROR(CL_DEVICE_NOT_FOUND),
                                  ATTUNE_CL_ERROR(CL_DEVICE_NOT_AVAILABLE),
                                  ATTUNE_CL_ERROR(CL_COMPILER_NOT_AVAILABLE),
                                  ATTUNE_CL_ERROR(CL_MEM_OBJECT_ALLOCATION_FAILURE),
                                  ATTUNE_CL_ERROR(CL_OUT_OF_RESOURCES),
                                  ATTUNE_CL_ERROR(CL_OUT_OF_HOST_MEMORY),
                                  ATTUNE_CL_ERROR(CL_BUILD_PROGRAM_FAILURE),
                                  ATTUNE_CL_ERROR(CL_MISALIGNED_SUB_BUFFER_OFFSET),
                                  ATTUNE_CL_ERROR(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST),
                                  ATTUNE_CL_ERROR(CL_INVALID_VALUE),
                                  ATTUNE_CL_ERROR(CL_INVALID_PLATFORM),
                                  ATTUNE_CL_ERROR(CL_INVALID_DEVICE),
                                  ATTUNE_CL_ERROR(CL_INVALID_CONTEXT),
                                  ATTUNE_CL_ERROR(CL_INVALID_COMMAND_QUEUE),
                                  ATTUNE_CL_ERROR(CL_INVALID_MEM_OBJECT),
                                  ATTUNE_CL_ERROR(CL_INVALID_BINARY),
                                  ATTUNE_CL_ERROR(CL_INVALID_BUILD_OPTIONS),
                                  ATTUNE_CL_ERROR(CL_INVALID_PROGRAM),
                                  ATTUNE_CL_ERROR(CL_INVALID_PROGRAM_EXECUTABLE),
                                  ATTUNE_CL_ERROR(CL_INVALID_KERNEL_NAME),
                                  ATTUNE_CL_ERROR(CL_INVALID_KERNEL),
                                  ATTUNE_CL_ERROR(CL_INVALID_ARG_INDEX),
                                  ATTUNE_CL_ERROR(CL_INVALID_ARG_VALUE),
                                  ATTUNE_CL_ERROR(CL_INVALID_ARG_SIZE),
                                  ATTUNE_CL_ERROR(CL_INVALID_KERNEL_ARGS),
                                  ATTUNE_CL_ERROR(CL_INVALID_WORK_DIMENSION),
                                  ATTUNE_CL_ERROR(CL_INVALID_WORK_GROUP_SIZE),
                                  ATTUNE_CL_ERROR(CL_INVALID_WORK_ITEM_SIZE),
                                  ATTUNE_CL_ERROR(CL_INVALID_EVENT),
                                  ATTUNE_CL_ERROR(CL_INVALID_OPERATION),
                                  ATTUNE_CL_ERROR(CL_INVALID_BUFFER_SIZE),
                                  ATTUNE_CL_ERROR(CL_INVALID_GLOBAL_WORK_SIZE)};
#undef ATTUNE_CL_ERROR

}  // namespace

std::string ClErrorName(cl_int code) {
  const auto found = std::find_if(std::begin(kErrors), std::end(kErrors),
                                  [&](const NamedError& error) { return error.code == code; });
  return found == std::end(kErrors) ? fmt::format("error {}", code) : std::string(found->name);
}

Status ClStatus(cl_int code, std::string_view what) {
  if (code == CL_SUCCESS) return Status::Ok();
  std::string message = fmt::format("{}: {}.", what, ClErrorName(code));
  const bool exhausted = code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_RESOURCES ||
                         code == CL_OUT_OF_HOST_MEMORY;
  return exhausted ? ResourceExhausted(std::move(message)) : Internal(std::move(message));
}

}  // namespace attune::opencl
