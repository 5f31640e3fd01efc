// Finds faults in a package: damaged or foreign files, missing kernels, and kernels that no choice
// needs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/index/package_folder.h"
#include "runtime/places.h"

namespace attune {

enum class PackageFault {
  kMissingFile,           // In the manifest, and not there or not readable.
  kDamagedFile,           // Differs from the manifest.
  kNotInManifest,         // A file that the manifest does not know.
  kNoSolver,              // A winner that nothing here can serve.
  kMissingKernel,         // A winner is compiled when it is first wanted.
  kMissingDynamicKernel,  // The same for shapes that were never tuned.
  kOrphanedKernel,        // Nothing that this program would serve from the package loads it.
};
// In the words of the JSON output: "missing_kernel".
std::string_view Name(PackageFault fault);

struct PackageFinding {
  PackageFault fault = PackageFault::kNoSolver;
  std::string subject;  // A candidate and its problem, or a file of the package.
};

// A file's fault as one of a package.
PackageFault FaultOf(const WrongFile& file);

// Compares every file with the manifest, then the kernels with those that the package's choices
// need at `place`, which has the target of the package. Kernels of another version of a compiler
// have other names: for this machine they are missing, and the packaged ones orphaned. If the index
// is missing or damaged, the needed kernels are unknown, and only the files are compared. Fails as
// CheckFiles and ChoiceIndex::Open.
Result<std::vector<PackageFinding>> LintPackage(const PackageReference& reference,
                                                const Place& place);

}  // namespace attune
