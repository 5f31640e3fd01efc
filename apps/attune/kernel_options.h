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

// Adds --kernel to `group` and --size to `verb`. Whoever gives them gets the problems as texts
// behind `problems`, the file in front of ATTUNE_KERNEL_PATH for this process and its children,
// and, unless a device is named, the first of the kernel's language in `device`. A mistake is a
// usage error. REQUIRES: --device of `verb` was added to it before.
void AddKernelOptions(CLI::App& verb, CLI::App& group, std::vector<std::string>& problems,
                      std::string& device);

// The same for a verb that has to know the file: `path` gets it.
void AddKernelFileOptions(CLI::App& verb, CLI::App& group, std::vector<std::string>& problems,
                          std::string& device, std::string& path);

// The same for a verb that knows what to do without sizes: `path` gets the file, and where no size
// is given, nothing is put behind `problems`.
void AddKernelOptions(CLI::App& verb, CLI::App& group, std::vector<std::string>& problems,
                      std::string& device, std::string& path);

// kInvalidArgument if `output` is one of the files that the kernel of the file `path` is made of,
// whose author has no others. Without a path there are none.
Status CheckNoInputOfKernel(const std::string& output, const std::string& path);

// An equal share of `budget_ns` for each of `problems`, without 2 % for the start and the end of
// the program. It depends on the command alone, so that the same command resumes a run.
int64_t ShareOfBudget(int64_t budget_ns, size_t problems);

// Ok, or why a user's kernel among `problems` cannot be tuned at `place`: nobody there has it, or
// its constraints leave no config.
Status CheckOwnKernels(const Place& place, const std::vector<TaggedProblem>& problems);

}  // namespace attune
