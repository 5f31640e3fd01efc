// What is wrong with a package: files that are not what they should be, kernels that it lacks, and
// that nobody needs.
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
  kDamagedFile,           // Not what the manifest says.
  kNotInManifest,         // A file that the manifest does not know.
  kNoSolver,              // A winner that nothing here can serve.
  kMissingKernel,         // A winner is compiled when it is first wanted.
  kMissingDynamicKernel,  // So is what would serve a shape that was never tuned.
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

// Compares every file with the manifest, then the kernels with what the choices of the package need
// at `place`, whose target is that of the package. Kernels of another version of a compiler have
// other names: for this machine they are missing, and the packaged ones orphaned. With an index
// that is missing or damaged nobody knows what is needed, and the files alone are compared. Fails
// as CheckFiles and ChoiceIndex::Open.
Result<std::vector<PackageFinding>> LintPackage(const PackageReference& reference,
                                                const Place& place);

}  // namespace attune
