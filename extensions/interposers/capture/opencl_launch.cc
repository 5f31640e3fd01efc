#include "extensions/interposers/capture/opencl_launch.h"

#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "extensions/interposers/capture/settings.h"

namespace attune::capture {
namespace {

// Text that OpenCL returns through `get(size, memory, size_out)`.
template <class Get>
std::string TextOf(const Get& get) {
  size_t size = 0;
  if (get(size_t{0}, nullptr, &size) != CL_SUCCESS || size == 0) return "";
  std::string text(size, '\0');
  if (get(size, text.data(), nullptr) != CL_SUCCESS) return "";
  text.resize(std::strlen(text.c_str()));
  return text;
}

cl_program ProgramOf(const ClLaunchCall& call) {
  cl_program program = nullptr;
  ATTUNE_REAL_CL(clGetKernelInfo, call.caller)
  (call.kernel, CL_KERNEL_PROGRAM, sizeof program, &program, nullptr);
  return program;
}

cl_device_id DeviceOf(const ClLaunchCall& call) {
  cl_device_id device = nullptr;
  ATTUNE_REAL_CL(clGetCommandQueueInfo, call.caller)
  (call.queue, CL_QUEUE_DEVICE, sizeof device, &device, nullptr);
  return device;
}

std::string SourceOf(const ClLaunchCall& call) {
  const auto real = ATTUNE_REAL_CL(clGetProgramInfo, call.caller);
  return TextOf([&](size_t size, void* memory, size_t* out) {
    return real(ProgramOf(call), CL_PROGRAM_SOURCE, size, memory, out);
  });
}

// The binary for the device of the launch; empty if the driver gives none.
std::string BinaryOf(const ClLaunchCall& call) {
  const auto real = ATTUNE_REAL_CL(clGetProgramInfo, call.caller);
  const cl_program program = ProgramOf(call);
  cl_uint count = 0;
  real(program, CL_PROGRAM_NUM_DEVICES, sizeof count, &count, nullptr);
  std::vector<cl_device_id> devices(count);
  std::vector<size_t> sizes(count);
  real(program, CL_PROGRAM_DEVICES, count * sizeof devices[0], devices.data(), nullptr);
  real(program, CL_PROGRAM_BINARY_SIZES, count * sizeof sizes[0], sizes.data(), nullptr);
  const auto here = std::find(devices.begin(), devices.end(), DeviceOf(call));
  if (here == devices.end()) return "";
  const auto index = static_cast<size_t>(here - devices.begin());
  std::string binary(sizes[index], '\0');
  // Null for binaries that are not wanted.
  std::vector<unsigned char*> places(count, nullptr);
  places[index] = reinterpret_cast<unsigned char*>(binary.data());
  const cl_int code =
      real(program, CL_PROGRAM_BINARIES, count * sizeof places[0], places.data(), nullptr);
  return code == CL_SUCCESS ? binary : "";
}

std::string OptionsOf(const ClLaunchCall& call) {
  const auto real = ATTUNE_REAL_CL(clGetProgramBuildInfo, call.caller);
  return TextOf([&](size_t size, void* memory, size_t* out) {
    return real(ProgramOf(call), DeviceOf(call), CL_PROGRAM_BUILD_OPTIONS, size, memory, out);
  });
}

template <class T>
T MemoryInfo(const ClLaunchCall& call, cl_mem memory, cl_mem_info what, T otherwise) {
  T value = otherwise;
  const cl_int code =
      ATTUNE_REAL_CL(clGetMemObjectInfo, call.caller)(memory, what, sizeof value, &value, nullptr);
  return code == CL_SUCCESS ? value : otherwise;
}

SpoolAddress AddressOf(cl_kernel_arg_address_qualifier qualifier) {
  switch (qualifier) {
    case CL_KERNEL_ARG_ADDRESS_GLOBAL:
      return SpoolAddress::kGlobal;
    case CL_KERNEL_ARG_ADDRESS_CONSTANT:
      return SpoolAddress::kConstant;
    case CL_KERNEL_ARG_ADDRESS_LOCAL:
      return SpoolAddress::kLocal;
    default:
      return SpoolAddress::kPrivate;
  }
}

std::string ArgumentText(size_t index, const std::string& name) {
  return "argument " + std::to_string(index) + (name.empty() ? "" : " (" + name + ")");
}

std::string Failed(const char* function, cl_int code) {
  return std::string(function) + " failed with " + std::to_string(code);
}

}  // namespace

std::string FunctionOf(const ClLaunchCall& call) {
  const auto real = ATTUNE_REAL_CL(clGetKernelInfo, call.caller);
  return TextOf([&](size_t size, void* memory, size_t* out) {
    return real(call.kernel, CL_KERNEL_FUNCTION_NAME, size, memory, out);
  });
}

uint64_t CodeOf(const ClLaunchCall& call) {
  std::string text = SourceOf(call);
  // Reading a binary at each launch would be slow. The program handle differs for two builds of one
  // kernel.
  if (text.empty()) text = std::to_string(reinterpret_cast<uintptr_t>(ProgramOf(call)));
  text += '\n' + OptionsOf(call);
  return XXH3_64bits(text.data(), text.size());
}

std::string ClLaunch::Look() {
  if (SourceOf(call_).empty() && BinaryOf(call_).empty()) {
    return "its program has no source, and its driver gives no binary of it";
  }
  if (std::string hindered = LookAtGeometry(); !hindered.empty()) return hindered;
  cl_uint count = 0;
  ATTUNE_REAL_CL(clGetKernelInfo, call_.caller)
  (call_.kernel, CL_KERNEL_NUM_ARGS, sizeof count, &count, nullptr);
  ClKernel kernel = TheClObjects().Of(call_.kernel);
  kernel.arguments.resize(count);
  for (cl_uint i = 0; i < count; ++i) {
    arguments_.emplace_back().given = std::move(kernel.arguments[i]);
    if (std::string hindered = LookAtArgument(i); !hindered.empty()) return hindered;
  }
  uint64_t all_bytes = 0;
  for (const Argument& argument : arguments_) {
    const bool is_first = argument.memory != nullptr && argument.told.same_as < 0;
    if (is_first) all_bytes += argument.told.size_bytes;
  }
  const std::string excess = TheSettings().Excess(all_bytes);
  return excess.empty() ? CheckOverlaps() : excess;
}

std::string ClLaunch::LookAtGeometry() {
  if (call_.dimensions < 1 || call_.dimensions > 3 || call_.global == nullptr) {
    return "it has no global size of one to three dimensions";
  }
  geometry_.dimensions = call_.dimensions;
  geometry_.has_local = call_.local != nullptr ? 1 : 0;
  for (cl_uint i = 0; i < 3; ++i) geometry_.global[i] = geometry_.local[i] = 1;
  for (cl_uint i = 0; i < call_.dimensions; ++i) {
    geometry_.global[i] = call_.global[i];
    if (call_.offset != nullptr && call_.offset[i] != 0) {
      return "its work-items begin at an offset (global_work_offset), which kernel files have not";
    }
    if (call_.global[i] == 0) return "it has no work-items";
    if (call_.local == nullptr) continue;
    geometry_.local[i] = call_.local[i];
    if (call_.local[i] == 0 || call_.global[i] % call_.local[i] != 0) {
      return "its last work-groups are smaller than the others (" +
             std::to_string(call_.global[i]) + " work-items in groups of " +
             std::to_string(call_.local[i]) + "), which kernel files have not";
    }
  }
  size_t required[3] = {};
  ATTUNE_REAL_CL(clGetKernelWorkGroupInfo, call_.caller)
  (call_.kernel, DeviceOf(call_), CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof required, required,
   nullptr);
  for (int i = 0; i < 3; ++i) geometry_.required[i] = required[i];
  return "";
}

std::string ClLaunch::LookAtArgument(cl_uint index) {
  Argument& argument = arguments_[index];
  const auto real = ATTUNE_REAL_CL(clGetKernelArgInfo, call_.caller);
  const auto text = [&](cl_kernel_arg_info what) {
    return TextOf([&](size_t size, void* memory, size_t* out) {
      return real(call_.kernel, index, what, size, memory, out);
    });
  };
  argument.name = text(CL_KERNEL_ARG_NAME);
  argument.type = text(CL_KERNEL_ARG_TYPE_NAME);
  cl_kernel_arg_address_qualifier address = 0;
  const bool is_told = real(call_.kernel, index, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof address,
                            &address, nullptr) == CL_SUCCESS;
  if (is_told) argument.told.address = AddressOf(address);
  cl_kernel_arg_type_qualifier type = 0;
  if (real(call_.kernel, index, CL_KERNEL_ARG_TYPE_QUALIFIER, sizeof type, &type, nullptr) ==
      CL_SUCCESS) {
    argument.told.is_const = (type & CL_KERNEL_ARG_TYPE_CONST) != 0 ? 1 : 0;
  }
  const ClArgument& given = argument.given;
  argument.told.size_bytes = given.size_bytes;
  if (!given.is_set) {
    return ArgumentText(index, argument.name) + " was set in a way that is not seen";
  }
  if (given.is_pointer) {
    return ArgumentText(index, argument.name) + " is in shared virtual memory";
  }
  if (!given.has_value) {
    argument.told.kind = SpoolArgumentKind::kNull;
    return "";
  }
  if (given.size_bytes != sizeof(cl_mem)) return "";
  cl_mem memory = nullptr;
  std::memcpy(&memory, given.value.data(), sizeof memory);
  const bool is_pointer = argument.told.address == SpoolAddress::kGlobal ||
                          argument.told.address == SpoolAddress::kConstant;
  if (is_pointer && memory == nullptr) {
    argument.told.kind = SpoolArgumentKind::kNull;
    return "";
  }
  if (!is_pointer && (is_told || !TheClObjects().IsMemory(memory))) return "";
  argument.memory = memory;
  return LookAtBuffer(index);
}

std::string ClLaunch::LookAtBuffer(size_t index) {
  Argument& argument = arguments_[index];
  const std::string who = ArgumentText(index, argument.name);
  const cl_mem memory = argument.memory;
  if (MemoryInfo<cl_mem_object_type>(call_, memory, CL_MEM_TYPE, 0) != CL_MEM_OBJECT_BUFFER) {
    return who + " is an image or a pipe";
  }
  if (MemoryInfo<cl_uint>(call_, memory, CL_MEM_MAP_COUNT, 0) != 0) {
    return who + " is a buffer that the program has mapped";
  }
  argument.told.kind = SpoolArgumentKind::kBuffer;
  argument.told.size_bytes = MemoryInfo<size_t>(call_, memory, CL_MEM_SIZE, 0);
  argument.parent = MemoryInfo<cl_mem>(call_, memory, CL_MEM_ASSOCIATED_MEMOBJECT, nullptr);
  if (argument.parent == nullptr) argument.parent = memory;
  argument.begin = MemoryInfo<size_t>(call_, memory, CL_MEM_OFFSET, 0);
  for (size_t i = 0; i < index; ++i) {
    const Argument& other = arguments_[i];
    const bool is_same = other.parent == argument.parent && other.begin == argument.begin &&
                         other.told.size_bytes == argument.told.size_bytes &&
                         other.memory != nullptr;
    if (is_same && argument.told.same_as < 0) argument.told.same_as = static_cast<int32_t>(i);
  }
  return "";
}

std::string ClLaunch::CheckOverlaps() const {
  for (size_t i = 0; i < arguments_.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const Argument& a = arguments_[i];
      const Argument& b = arguments_[j];
      const bool may_meet = a.memory != nullptr && b.memory != nullptr && a.parent == b.parent &&
                            a.told.same_as < 0 && b.told.same_as < 0;
      if (may_meet && a.begin < b.begin + b.told.size_bytes &&
          b.begin < a.begin + a.told.size_bytes) {
        return "arguments " + std::to_string(j) + " and " + std::to_string(i) +
               " are overlapping parts of one buffer";
      }
    }
  }
  return "";
}

uint64_t ClLaunch::Shape() const {
  std::string text(reinterpret_cast<const char*>(&geometry_), sizeof geometry_);
  for (const Argument& argument : arguments_) {
    text += std::to_string(argument.told.size_bytes) + ' ';
    if (argument.memory != nullptr) continue;
    text.append(argument.given.value.begin(), argument.given.value.end());
  }
  return XXH3_64bits(text.data(), text.size());
}

// Waits for all that the launch would wait for, so that the copies show its inputs. A wait for an
// event that only the program itself completes could last forever.
std::string ClLaunch::WaitForEarlier() const {
  if (TheClObjects().HasUserEvents()) {
    return "the program holds commands back by an event of its own (clCreateUserEvent)";
  }
  for (cl_uint i = 0; i < call_.event_count; ++i) {
    cl_command_queue queue = nullptr;
    ATTUNE_REAL_CL(clGetEventInfo, call_.caller)
    (call_.events[i], CL_EVENT_COMMAND_QUEUE, sizeof queue, &queue, nullptr);
    if (queue != nullptr) ATTUNE_REAL_CL(clFlush, call_.caller)(queue);
  }
  if (call_.event_count > 0) {
    const cl_int waited =
        ATTUNE_REAL_CL(clWaitForEvents, call_.caller)(call_.event_count, call_.events);
    if (waited != CL_SUCCESS) return Failed("clWaitForEvents", waited);
  }
  const cl_int finished = ATTUNE_REAL_CL(clFinish, call_.caller)(call_.queue);
  return finished == CL_SUCCESS ? "" : Failed("clFinish", finished);
}

SpoolFile::Reader ClLaunch::ReaderOf(cl_mem memory) const {
  return [this, memory](size_t at, size_t size, void* to) -> std::string {
    const cl_int code = ATTUNE_REAL_CL(clEnqueueReadBuffer, call_.caller)(
        call_.queue, memory, CL_TRUE, at, size, to, 0, nullptr, nullptr);
    return code == CL_SUCCESS ? "" : Failed("reading a buffer: clEnqueueReadBuffer", code);
  };
}

bool ClLaunch::PutProgram() {
  const auto device_info = ATTUNE_REAL_CL(clGetDeviceInfo, call_.caller);
  const std::string device = TextOf([&](size_t size, void* memory, size_t* out) {
    return device_info(DeviceOf(call_), CL_DEVICE_NAME, size, memory, out);
  });
  char folder[PATH_MAX] = "";
  if (::getcwd(folder, sizeof folder) == nullptr) folder[0] = '\0';
  return file_.Put(SpoolTag::kLanguage, 0, "opencl") &&
         file_.Put(SpoolTag::kFunction, 0, FunctionOf(call_)) &&
         file_.Put(SpoolTag::kSource, 0, SourceOf(call_)) &&
         (!SourceOf(call_).empty() || file_.Put(SpoolTag::kBinary, 0, BinaryOf(call_))) &&
         file_.Put(SpoolTag::kOptions, 0, OptionsOf(call_)) &&
         file_.Put(SpoolTag::kDevice, 0, device) && file_.Put(SpoolTag::kFolder, 0, folder) &&
         file_.PutValue(SpoolTag::kGeometry, 0, geometry_);
}

bool ClLaunch::PutArguments() {
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const auto index = static_cast<uint32_t>(i);
    Argument& argument = arguments_[i];
    bool is_written = file_.PutValue(SpoolTag::kArgument, index, argument.told) &&
                      file_.Put(SpoolTag::kName, index, argument.name) &&
                      file_.Put(SpoolTag::kType, index, argument.type);
    if (is_written && argument.told.kind == SpoolArgumentKind::kScalar) {
      is_written = file_.Put(SpoolTag::kValue, index,
                             {reinterpret_cast<const char*>(argument.given.value.data()),
                              argument.given.value.size()});
    }
    if (is_written && argument.memory != nullptr && argument.told.same_as < 0) {
      is_written = file_.PutBefore(index, argument.told.size_bytes, ReaderOf(argument.memory),
                                   argument.hash);
    }
    if (!is_written) return false;
  }
  return true;
}

std::string ClLaunch::Begin(uint64_t number) {
  if (std::string hindered = WaitForEarlier(); !hindered.empty()) return hindered;
  const bool is_written = file_.Create() && PutProgram() &&
                          file_.PutValue(SpoolTag::kNumber, 0, number) && PutArguments();
  return is_written ? "" : file_.error();
}

std::string ClLaunch::End(bool& is_changed) {
  is_changed = false;
  const cl_int finished = ATTUNE_REAL_CL(clFinish, call_.caller)(call_.queue);
  if (finished != CL_SUCCESS) return Failed("clFinish behind the launch", finished);
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const Argument& argument = arguments_[i];
    if (argument.memory == nullptr || argument.told.same_as >= 0) continue;
    if (!file_.PutAfter(static_cast<uint32_t>(i), argument.told.size_bytes,
                        ReaderOf(argument.memory), argument.hash, is_changed)) {
      return file_.error();
    }
  }
  return !is_changed || file_.Commit() ? "" : file_.error();
}

}  // namespace attune::capture
