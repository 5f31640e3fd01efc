// The resources of kernels in NVIDIA's machine code, read without a device.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attune::cuda {

struct CubinKernel {
  int registers = 0;          // Per thread.
  int64_t section_bytes = 0;  // Shared arrays of fixed size, without dynamic shared memory.
  int most_threads = 0;       // Per block, by its launch bounds; 0 if it has none.
};

// The kernel `name` of an ELF file; nothing if it is not there, or the file is not understood: the
// driver decides about the output of a newer compiler.
std::optional<CubinKernel> FindKernel(std::string_view cubin, std::string_view name);

// The symbols of all functions in an ELF file; nothing if the file is not understood.
std::optional<std::vector<std::string>> FunctionsOf(std::string_view cubin);

}  // namespace attune::cuda
