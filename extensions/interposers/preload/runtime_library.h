// libattune.so, opened when the first product comes: a process that calls none loads nothing,
// and a C++ program with its own libstdc++ keeps it.
#pragma once

#include "attune/attune.h"

namespace attune::interposer {

// The functions of attune/attune.h that a interposer needs. A value.
struct RuntimeLibrary {
  decltype(&attune_runtime_create) create = nullptr;
  decltype(&attune_run_gemm) run_gemm = nullptr;
  decltype(&attune_last_message) last_message = nullptr;
  // Null in older run times.
  decltype(&attune_flush_records) flush_records = nullptr;
  decltype(&attune_record_gemm) record_gemm = nullptr;

  enum class Outcome {
    kOpen,
    kFailed,  // The library or one of the functions is missing.
    kNoPath,  // Its path is unknown: /proc is not mounted, or this library was replaced.
  };
  // Writes a sentence to `reason`, which has room for `size` bytes, unless it returns kOpen.
  Outcome Open(char* reason, size_t size);
};

}  // namespace attune::interposer
