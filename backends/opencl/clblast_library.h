// CLBlast, loaded at run time so that a machine without it can still run everything else.
#pragma once

#include <clblast_c.h>

#include <string>

#include "attune/base/status.h"
#include "attune/solver/backend.h"

namespace attune::opencl {

// The functions that the solvers call; null if the library is missing. The creator loads it once.
// It stays for the life of the process, because CLBlast keeps compiled programs in static memory.
struct ClblastLibrary {
  decltype(&CLBlastSgemm) sgemm = nullptr;
  decltype(&CLBlastDgemm) dgemm = nullptr;
  decltype(&CLBlastSgemmStridedBatched) sgemm_batched = nullptr;
  decltype(&CLBlastDgemmStridedBatched) dgemm_batched = nullptr;
  decltype(&CLBlastSconvgemm) sconvgemm = nullptr;
  LibraryReport report;

  bool available() const { return report.available; }
};

ClblastLibrary LoadClblast();

// "CLBlast <what> failed with status -2048": its codes below -1023 are its own, the rest are
// OpenCL's.
Status ClblastStatus(CLBlastStatusCode code, std::string_view what);

}  // namespace attune::opencl
