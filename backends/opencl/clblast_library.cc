#include "backends/opencl/clblast_library.h"

#include <dlfcn.h>

#include <filesystem>

#include <fmt/format.h>

#include "attune/base/code_folder.h"
#include "attune/base/file.h"
#include "attune/base/fingerprint.h"
#include "attune/base/new_libraries.h"
#include "backends/opencl/cl_handles.h"

namespace attune::opencl {
namespace {

constexpr const char* kFileName = "libclblast.so.1";

template <class T>
bool Find(void* library, const char* name, T& function) {
  function = reinterpret_cast<T>(::dlsym(library, name));
  return function != nullptr;
}

// The library has no version function; the target of the loader's link has the version in its name.
std::string VersionOf(const std::filesystem::path& file) {
  const std::string name = file.filename().string();
  const size_t mark = name.find(".so.");
  return mark == std::string::npos ? "" : name.substr(mark + 4);
}

}  // namespace

ClblastLibrary LoadClblast() {
  ClblastLibrary clblast;
  clblast.report.name = "clblast";
  const NewLibraries libraries;
  void* library = ::dlopen(kFileName, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    clblast.report.missing =
        fmt::format("{} The Debian package libclblast1 brings it.", ::dlerror());
    return clblast;
  }
  libraries.KeepStaticObjects();
  const bool complete = Find(library, "CLBlastSgemm", clblast.sgemm) &&
                        Find(library, "CLBlastDgemm", clblast.dgemm) &&
                        Find(library, "CLBlastSgemmStridedBatched", clblast.sgemm_batched) &&
                        Find(library, "CLBlastDgemmStridedBatched", clblast.dgemm_batched) &&
                        Find(library, "CLBlastSconvgemm", clblast.sconvgemm);
  const auto file = FileMappedAt(reinterpret_cast<const void*>(clblast.sgemm));
  if (complete && file.ok()) {
    clblast.report.path = file->string();
    clblast.report.version = VersionOf(*file);
    const Result<std::string> content = ReadFile(clblast.report.path);
    if (content.ok()) clblast.report.build_id = FingerprintOf(*content).ToHex();
  }
  clblast.report.available = complete;
  if (!complete) {
    clblast.report.missing =
        fmt::format("{} lacks a function of CLBlast 1.5 or later.", clblast.report.path);
  }
  return clblast;
}

Status ClblastStatus(CLBlastStatusCode code, std::string_view what) {
  if (code == CLBlastSuccess) return Status::Ok();
  return ClStatus(static_cast<cl_int>(code), fmt::format("CLBlast cannot compute the {}", what));
}

}  // namespace attune::opencl
