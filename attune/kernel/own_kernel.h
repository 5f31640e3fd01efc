// The problems of a user's kernel, and what computes their right results.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "attune/base/status.h"
#include "attune/kernel/kernel_file.h"
#include "attune/problem/problem.h"
#include "attune/solver/solver.h"

namespace attune::kernel {

// What the name of a reference ends with, behind that of its kernel. No kernel has a dot in its
// name, so that none is called as the reference of another.
inline constexpr std::string_view kReferenceSuffix = ".reference";

using OwnSizes = std::map<std::string, int64_t, std::less<>>;

// The problem of `file` for `sizes`. kInvalidArgument names sizes that are missing or that the
// kernel has not, and the extent or fill, by its JSON pointer, that has no value for them.
// REQUIRES: file.own.
Result<Problem> MakeOwnProblem(const KernelFile& file, const OwnSizes& sizes);

// "m=4096,n=4096". The error names what is wrong in the text.
Result<OwnSizes> ParseSizes(const std::string& text);

// The reference of the user's kernel in `file`, which was read from `path`, as a kernel file of its
// own: `<name>.reference`, tuned only by name. Null if its reference is no kernel. `file` learns
// the content of its reference. Errors begin with the path.
Result<std::unique_ptr<KernelFile>> LoadReference(const std::filesystem::path& path,
                                                  KernelFile& file);

// The same for a reference that is no kernel: a solver that writes what it is given into a folder,
// runs a program on it, and reads what that has written, or one that has the results in data files
// (docs/formats/kernel_file.md). Null for one that is a kernel.
std::unique_ptr<const Solver> MakeHostReference(const KernelFile& file,
                                                const std::filesystem::path& path);

// LoadKernelFile and LoadReference for devices of the backend called `backend`. kUnsupported if the
// kernel is not written for those; kInvalidArgument for a file of another operator.
Result<KernelFile> LoadOwnKernel(const std::filesystem::path& path, const std::string& backend);
// The same in the first language that it is written in.
Result<KernelFile> LoadOwnKernel(const std::filesystem::path& path);

}  // namespace attune::kernel
