// Files that hold the elements of operands: what a launch was given and what it wrote.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "attune/base/status.h"
#include "attune/kernel/kernel_file.h"
#include "attune/problem/own_kernel.h"

namespace attune::kernel {

// The largest that is read, unpacked.
inline constexpr size_t kMaxDataBytes = size_t{16} << 30;

// The `size_bytes` bytes that `file` holds, which is beside the kernel file in `folder`. kDataLoss,
// with the path, if it is damaged, cut off, of another size, or not what its hash says.
Result<std::string> ReadDataFile(const std::filesystem::path& folder, const DataFile& file,
                                 size_t size_bytes);

// Fills `memory` with what the file of operand `i` of `problem` holds, whose fill is kFile. The
// kernel file that says which one is looked for in ATTUNE_KERNEL_PATH, by the name and the content
// that the problem has: a problem does not say where files lie. kNotFound if it is not there.
Status ReadOwnData(const OwnKernelProblem& problem, size_t i, std::span<std::byte> memory);

}  // namespace attune::kernel
