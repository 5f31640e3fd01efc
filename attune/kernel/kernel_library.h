// The kernel files of the search path.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "attune/kernel/kernel_file.h"
#include "attune/solver/backend.h"
#include "attune/solver/solver.h"

namespace attune::kernel {

struct KernelLibrary {
  std::vector<KernelFile> files;  // Sorted by file name; names are distinct.
  std::vector<LibraryReport>
      reports;  // One for each file that was found, the broken ones with place and reason.
  // Solvers behind users' kernels that are no kernels: references that are programs or data.
  SolverList solvers;
};

// Folders of kernel files, or single files, first wins: those of ATTUNE_KERNEL_PATH (separated by
// ':', absolute), then share/attune/kernels of the installation or build tree that contains this
// code. Folders may be missing.
std::vector<std::filesystem::path> KernelFolders();

// The kernel files of ATTUNE_KERNEL_PATH, in the order in which they are looked for.
std::vector<std::filesystem::path> ChosenKernelFiles();

// One for each folder or file of ATTUNE_KERNEL_PATH that cannot be read, with the reason.
std::vector<LibraryReport> MissingKernelFolders();

// Every *.json of `folders`, and of subfolders named after operators, that is for `language`, or
// broken. A user's kernel adds a second kernel, its reference. A name that an earlier folder has is
// skipped, so that a user can replace a kernel. If two files of one folder have the same name, the
// second is reported and left out. A broken file in a folder of ATTUNE_KERNEL_PATH is reported as
// chosen by it, so that no shipped kernel is measured in its place.
KernelLibrary LoadKernelLibrary(const std::vector<std::filesystem::path>& folders,
                                KernelLanguage language);

}  // namespace attune::kernel
