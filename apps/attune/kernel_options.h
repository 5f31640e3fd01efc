// --kernel and --size: problems of a kernel that the user brings, on verbs that take problems.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "apps/attune/application.h"
#include "attune/base/status.h"
#include "attune/record/record_store.h"
#include "runtime/places.h"

namespace attune {

// Adds --kernel to `group` and --size to `verb`. When given, they append the problems as texts to
// `problems`, put the file in front of ATTUNE_KERNEL_PATH for this process and its workers, and,
// unless a device is named, set `device` to the first of the kernel's language. A mistake is a
// usage error. REQUIRES: --device of `verb` was added to it before.
void AddKernelOptions(CLI::App& verb, CLI::App& group, std::vector<std::string>& problems,
                      std::string& device);

// The same for a verb that has to know the file: `path` gets it.
void AddKernelFileOptions(CLI::App& verb, CLI::App& group, std::vector<std::string>& problems,
                          std::string& device, std::string& path);

// The same for a verb that can work without sizes: `path` gets the file, and without --size nothing
// is appended to `problems`.
void AddKernelOptions(CLI::App& verb, CLI::App& group, std::vector<std::string>& problems,
                      std::string& device, std::string& path);

// kInvalidArgument if `output` is one of the source files of the kernel in the file `path`, which
// may be their only copy. Ok without a path.
Status CheckNoInputOfKernel(const std::string& output, const std::string& path);

// An equal share of `budget_ns` for each of `problems`, without 2 % for the start and the end of
// the program. It depends on the command alone, so that the same command resumes a run.
int64_t ShareOfBudget(int64_t budget_ns, size_t problems);

// Ok, or why a user's kernel among `problems` cannot be tuned at `place`: it is not available
// there, or its constraints leave no config.
Status CheckOwnKernels(const Place& place, const std::vector<TaggedProblem>& problems);

}  // namespace attune
