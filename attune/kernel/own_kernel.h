// The problems of a user's kernel, and the solvers that compute their right results.
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

// Suffix of a reference's name, behind that of its kernel. Kernel names have no dot, so no kernel
// has the name of another one's reference.
inline constexpr std::string_view kReferenceSuffix = ".reference";

using OwnSizes = std::map<std::string, int64_t, std::less<>>;

// The problem of `file` for `sizes`. kInvalidArgument names missing or unknown sizes, and the
// extent or fill, by its JSON pointer, that has no value for them. REQUIRES: file.own.
Result<Problem> MakeOwnProblem(const KernelFile& file, const OwnSizes& sizes);

// Parses "m=4096,n=4096". The error names the wrong part of the text.
Result<OwnSizes> ParseSizes(const std::string& text);

// The reference of the user's kernel in `file`, which was read from `path`, as a separate kernel
// file: `<name>.reference`, tuned only by name. Null if its reference is no kernel. Adds the
// content of the reference to `file`. Errors begin with the path.
Result<std::unique_ptr<KernelFile>> LoadReference(const std::filesystem::path& path,
                                                  KernelFile& file);

// The same for a reference that is no kernel. Such a solver writes its inputs into a folder, runs a
// program on it, and reads the program's results, or it has the results in data files
// (docs/formats/kernel_file.md). Null if the reference is a kernel.
std::unique_ptr<const Solver> MakeHostReference(const KernelFile& file,
                                                const std::filesystem::path& path);

// LoadKernelFile and LoadReference for devices of the backend called `backend`. kUnsupported if the
// kernel is not written for those; kInvalidArgument for a file of another operator.
Result<KernelFile> LoadOwnKernel(const std::filesystem::path& path, const std::string& backend);
// The same in the first language that it is written in.
Result<KernelFile> LoadOwnKernel(const std::filesystem::path& path);

}  // namespace attune::kernel
