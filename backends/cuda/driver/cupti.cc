#include "backends/cuda/driver/cupti.h"

#include <cuda.h>

#include <filesystem>

#include <fmt/format.h>

#include "backends/cuda/driver/cupti_report.h"
#include "backends/host/shared_library.h"

namespace attune::cuda {
namespace {

// CUPTI loads it by this name at the first query of a chip, and has no folder to look in.
constexpr const char* kCounterLibrary = "libnvperf_host.so";

// "13.0.1" of 130001.
std::string VersionOf(uint32_t version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

}  // namespace

Status Cupti::Check(CUptiResult code, std::string_view what) const {
  if (code == CUPTI_SUCCESS) return Status::Ok();
  const char* text = nullptr;
  cuptiGetResultString(code, &text);
  const std::string message = fmt::format(
      "CUPTI {}: {} (error {}).", what, text == nullptr ? "no text" : text, static_cast<int>(code));
  const bool is_unknown =
      code == CUPTI_ERROR_INVALID_METRIC_NAME || code == CUPTI_ERROR_INVALID_CHIP_NAME;
  return is_unknown ? NotFound(message) : Internal(message);
}

std::string VersionWarning(uint32_t loaded, std::string_view path) {
  if (loaded == CUPTI_API_VERSION) return "";
  const std::string what =
      loaded == 0 ? "does not tell its version" : "is version " + VersionOf(loaded);
  return fmt::format(
      "{} {}, and attune was built for CUPTI {}: counters may be called or counted otherwise. "
      "Install the CUPTI of the CUDA toolkit that attune was built with, or build attune anew.",
      path, what, VersionOf(CUPTI_API_VERSION));
}

Cupti LoadCupti(const std::vector<std::string>& names) {
  Cupti cupti;
  cupti.report.name = "cupti";
  const Result<host::SharedLibrary> library = host::SharedLibrary::Open(names);
  if (!library.ok()) {
    cupti.report.missing = fmt::format(
        "{} The CUDA toolkit brings it (package cuda-cupti-13-0, or PyPI's "
        "nvidia-cuda-cupti); without it no counters are planned.",
        library.error().message());
    return cupti;
  }
  cupti.report.path = library->path();
  cupti.report.build_id = library->build_id();
#define ATTUNE_CUPTI_FIND(NAME)                                                             \
  cupti.NAME = reinterpret_cast<decltype(cupti.NAME)>(library->Find(#NAME));                \
  if (cupti.NAME == nullptr) {                                                              \
    cupti.report.missing = fmt::format("{} has no function '{}'.", library->path(), #NAME); \
    return cupti;                                                                           \
  }
  ATTUNE_CUPTI_FUNCTIONS(ATTUNE_CUPTI_FIND)
#undef ATTUNE_CUPTI_FIND
  const auto beside = std::filesystem::path(library->path()).replace_filename(kCounterLibrary);
  const auto counters = host::SharedLibrary::Open({beside.string(), kCounterLibrary});
  if (!counters.ok()) {
    cupti.report.missing = fmt::format("{} is there, and what it needs is not: {}", library->path(),
                                       counters.error().message());
    return cupti;
  }
  uint32_t version = 0;
  if (cupti.cuptiGetVersion(&version) == CUPTI_SUCCESS) cupti.report.version = VersionOf(version);
  cupti.warning = VersionWarning(version, library->path());
  cupti.report.available = true;
  return cupti;
}

Cupti LoadCupti() {
  // The one that this was compiled against: structures grow with the major version.
  const std::string name = fmt::format("libcupti.so.{}", CUDA_VERSION / 1000);
  return LoadCupti(
      {name, "/usr/local/cuda/extras/CUPTI/lib64/" + name, "/usr/local/cuda/lib64/" + name});
}

LibraryReport CuptiReport() { return LoadCupti().report; }

}  // namespace attune::cuda
