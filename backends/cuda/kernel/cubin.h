// What NVIDIA's machine code says of its kernels, read without a device.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attune::cuda {

struct CubinKernel {
  int registers = 0;          // Of a thread.
  int64_t section_bytes = 0;  // Of shared memory that no launch asks for: its arrays of fixed size.
  int most_threads = 0;       // Of a block, by its launch bounds; 0 if it has none.
};

// The kernel `name` of an ELF file; nothing if it is not there, or the file is not understood: what
// a newer compiler writes is left to the driver.
std::optional<CubinKernel> FindKernel(std::string_view cubin, std::string_view name);

// The symbols of all functions in an ELF file; nothing if the file is not understood.
std::optional<std::vector<std::string>> FunctionsOf(std::string_view cubin);

}  // namespace attune::cuda
