// Files that hold the elements of operands: inputs and outputs of a launch.
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

// The `size_bytes` bytes in `file`, which is beside the kernel file in `folder`. kDataLoss, with
// the path, if it is damaged, truncated, of another size, or does not match its hash.
Result<std::string> ReadDataFile(const std::filesystem::path& folder, const DataFile& file,
                                 size_t size_bytes);

// Fills `memory` with the content of the file of operand `i` of `problem`, which has the fill
// kFile. Looks the kernel file up in ATTUNE_KERNEL_PATH by the problem's name and content hash,
// because a problem holds no paths. kNotFound if it is not there.
Status ReadOwnData(const OwnKernelProblem& problem, size_t i, std::span<std::byte> memory);

}  // namespace attune::kernel
