#include "backends/cuda/driver/driver.h"

#include <fmt/format.h>

#include "attune/base/signals_blocked.h"
#include "backends/host/shared_library.h"

namespace attune::cuda {
namespace {

// The first version with event records inside graphs and every function above.
constexpr int kLeastVersion = 12030;

// Looks up every function; the name of the first that is missing and may not be, or null.
const char* FindFunctions(const host::SharedLibrary& library, Driver& driver) {
// Two steps, so that functions that cuda.h renames are looked up under their new names.
#define ATTUNE_CUDA_TEXT(NAME) #NAME
#define ATTUNE_CUDA_FIND(NAME) \
  driver.NAME = reinterpret_cast<decltype(driver.NAME)>(library.Find(ATTUNE_CUDA_TEXT(NAME)));
#define ATTUNE_CUDA_DEMAND(NAME) \
  ATTUNE_CUDA_FIND(NAME)         \
  if (driver.NAME == nullptr) return ATTUNE_CUDA_TEXT(NAME);
  ATTUNE_CUDA_LATER_DRIVER_FUNCTIONS(ATTUNE_CUDA_FIND)
  ATTUNE_CUDA_DRIVER_FUNCTIONS(ATTUNE_CUDA_DEMAND)
#undef ATTUNE_CUDA_DEMAND
#undef ATTUNE_CUDA_FIND
#undef ATTUNE_CUDA_TEXT
  return nullptr;
}

}  // namespace

std::string VersionText(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

Driver LoadDriver(const std::string& name) {
  Driver driver;
  driver.report.name = "cuda-driver";
  const Result<host::SharedLibrary> library = host::SharedLibrary::Open({name});
  if (!library.ok()) {
    driver.report.missing = fmt::format(
        "{} NVIDIA's driver brings it; without a GPU, kernels can still be built for a named "
        "architecture.",
        library.error().message());
    return driver;
  }
  driver.report.path = library->path();
  driver.report.build_id = library->build_id();
  if (const char* missing = FindFunctions(*library, driver)) {
    driver.report.missing = fmt::format(
        "{} has no function '{}': this driver is older than CUDA {}. Install a newer one.",
        library->path(), missing, VersionText(kLeastVersion));
    return driver;
  }
  if (driver.cuDriverGetVersion(&driver.version) == CUDA_SUCCESS) {
    driver.report.version = VersionText(driver.version);
  }
  if (driver.version < kLeastVersion) {
    driver.report.missing =
        fmt::format("{} knows CUDA {}, and {} is the least that is used. Install a newer driver.",
                    library->path(), VersionText(driver.version), VersionText(kLeastVersion));
    return driver;
  }
  const SignalsBlocked signals;  // The driver starts threads.
  const Status initialised =
      CudaStatus(driver, driver.cuInit(0), "The driver cannot be initialised");
  driver.report.available = initialised.ok();
  if (!initialised.ok()) {
    driver.report.missing = fmt::format(
        "{} 'nvidia-smi' tells whether this machine has a device, and "
        "CUDA_VISIBLE_DEVICES whether this process may use it.",
        initialised.message());
  }
  return driver;
}

bool IsSticky(CUresult code) {
  switch (code) {
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_DEVICE_UNAVAILABLE:
    case CUDA_ERROR_EXTERNAL_DEVICE:
    case CUDA_ERROR_CONTAINED:
    // The driver's error for a device that fell off the bus.
    case CUDA_ERROR_UNKNOWN:
      return true;
    default:
      return false;
  }
}

Status CudaStatus(const Driver& driver, CUresult code, std::string_view what) {
  if (code == CUDA_SUCCESS) return Status::Ok();
  const char* name = nullptr;
  const char* text = nullptr;
  driver.cuGetErrorName(code, &name);
  driver.cuGetErrorString(code, &text);
  const std::string message =
      fmt::format("{}: {} ({}).", what, name != nullptr ? name : fmt::format("error {}", int{code}),
                  text != nullptr ? text : "no text");
  if (code == CUDA_ERROR_OUT_OF_MEMORY) return ResourceExhausted(message);
  if (IsSticky(code)) {
    return Unavailable(message + " The device cannot be used by this process any more.");
  }
  return Internal(message);
}

}  // namespace attune::cuda
