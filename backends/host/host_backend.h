// The processor and the libraries on it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "attune/solver/backend.h"

namespace attune {

// Empty members mean: the environment variable if it is set, else the names that Debian uses.
struct HostBackendOptions {
  std::string openblas_path;  // ATTUNE_OPENBLAS; a file name is searched for as dlopen does.
  std::string blis_path;      // ATTUNE_BLIS
  // Names of plug-ins that bring more solvers for the host, loaded if present. LoadPlugin says
  // where from.
  std::vector<std::string> plugins = {"onednn"};
};

// Device "cpu", with the solvers of OpenBLAS, BLIS, oneDNN, libxsmm, Eigen and our own kernels,
// those of a missing library being inapplicable. Libraries are opened when first asked for; none is
// required. Executables and devices must not outlive the backend.
std::unique_ptr<const Backend> MakeHostBackend(HostBackendOptions options = {});

}  // namespace attune
