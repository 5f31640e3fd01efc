// GPUs that kernels are compiled for and that need not be here.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "attune/base/status.h"
#include "attune/problem/target.h"
#include "attune/solver/backend.h"

namespace attune {

struct CompilePlace {
  std::unique_ptr<const Backend> backend;  // Whose solvers compile for `target`.
  Target target;
  LibraryReport toolchain;  // What compiles.
};

// The place for the GPU that compilers call `arch`: "sm_90", "gfx90a". kNotFound says which there
// are, and which plug-in is missing.
Result<CompilePlace> FindCompilePlace(const std::string& arch);

// Backends that only compile here, whose devices need not be: those of plug-ins that are built and
// that nobody loads to run something.
std::vector<std::unique_ptr<const Backend>> CompileOnlyBackends();

}  // namespace attune
