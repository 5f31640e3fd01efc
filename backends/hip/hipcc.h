// HIP C++ to machine code of AMD GPUs, on any machine: hipcc needs no device and no driver.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "attune/base/status.h"
#include "attune/solver/backend.h"
#include "attune/solver/solver.h"

namespace attune::hip {

// Which hipcc to call, in place of the one in PATH.
inline constexpr const char* kHipccVariable = "ATTUNE_HIPCC";

// The limit of any build.
inline constexpr int64_t kBuildDeadlineNs = 60'000'000'000;

// The compiler's program. The constructor looks for it and asks for its version; immutable and
// thread-safe afterwards. Each compilation is a process of its own.
struct Hipcc {
  explicit Hipcc(int64_t build_deadline_ns = kBuildDeadlineNs);

  int64_t deadline_ns;  // Per compilation.
  LibraryReport report;

  bool available() const { return report.available; }
};

// The recipe of `source`, HIP C++, for `arch` ("gfx90a"). kUnavailable without a compiler: its
// version is part of the recipe.
Result<BuildRecipe> MakeRecipe(const Hipcc& hipcc, std::string source, const std::string& arch);

// A code object in the bundle of hipcc's --genco. kInvalidArgument holds the compiler's log;
// kUnavailable if there is no compiler or it crashed, kDeadlineExceeded if it took too long.
Result<Artifact> BuildCodeObject(const Hipcc& hipcc, const BuildRecipe& recipe);

// kNotFound if there is no kernel `function` in `bundle`, a code object of hipcc's. Ok where the
// bundle is not understood.
Status CheckHasKernel(std::string_view bundle, std::string_view function);

}  // namespace attune::hip
