// CUDA C++ to machine code, on any machine: NVRTC needs no device and no driver.
#pragma once

#include <nvrtc.h>

#include <string>

#include "attune/base/status.h"
#include "attune/solver/backend.h"
#include "attune/solver/solver.h"

namespace attune::cuda {

#define ATTUNE_NVRTC_FUNCTIONS(X) \
  X(nvrtcVersion)                 \
  X(nvrtcGetErrorString)          \
  X(nvrtcCreateProgram)           \
  X(nvrtcDestroyProgram)          \
  X(nvrtcAddNameExpression)       \
  X(nvrtcCompileProgram)          \
  X(nvrtcGetLoweredName)          \
  X(nvrtcGetProgramLogSize)       \
  X(nvrtcGetProgramLog)           \
  X(nvrtcGetCUBINSize)            \
  X(nvrtcGetCUBIN)

// The run-time compiler, loaded by its constructor; immutable and thread-safe afterwards.
struct Nvrtc {
  Nvrtc();

#define ATTUNE_NVRTC_DECLARE(NAME) decltype(&::NAME) NAME = nullptr;
  ATTUNE_NVRTC_FUNCTIONS(ATTUNE_NVRTC_DECLARE)
#undef ATTUNE_NVRTC_DECLARE
  LibraryReport report;

  bool available() const { return report.available; }
};

// The compiler's name for `arch`: "sm_90a" for "sm_90", to enable the instructions of that
// architecture alone (wgmma).
std::string CompilerArch(const std::string& arch);

// The recipe of `source` for `arch` ("sm_90"), with further options such as "-DN=4", separated by
// single spaces, and required kernels (Joined). kUnavailable without a compiler: its version is
// part of the recipe.
Result<BuildRecipe> MakeRecipe(const Nvrtc& nvrtc, std::string source, std::string options,
                               const std::string& arch);

// A cubin, optionally followed by symbols (instances.h). kInvalidArgument holds the compiler's log;
// kUnsupported names an architecture that this compiler does not know; kUnavailable if there is no
// compiler.
Result<Artifact> BuildCubin(const Nvrtc& nvrtc, const BuildRecipe& recipe);

}  // namespace attune::cuda
