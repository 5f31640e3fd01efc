// Packages on disk: choices and compiled kernels, made once and then only read.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/compile/layered_kernel_cache.h"
#include "attune/index/choice_index.h"
#include "attune/index/manifest.h"
#include "attune/record/record_store.h"
#include "attune/record/select.h"

namespace attune {

// Name of the index file in every package.
inline constexpr const char* kPackageIndexName = "index";

// The path of a package, and its expected hash.
struct PackageReference {
  std::filesystem::path folder;
  std::string sha256;  // Hash of its manifest; empty for any.

  friend bool operator==(const PackageReference&, const PackageReference&) = default;
};
// Entries "DIR[#sha256=HASH]" separated by ':'; empty ones are skipped. kInvalidArgument for a
// malformed hash.
Result<std::vector<PackageReference>> ParsePackages(std::string_view text);

// Reads the manifest and compares its hash; the other files are not read. kNotFound if there is
// none, kFailedPrecondition if it is not the pinned package.
Result<Manifest> ReadManifest(const PackageReference& reference);

// The same with its bytes, which have the hash that names the package: another program's manifest
// may have keys that Manifest lacks.
struct ManifestFile {
  Manifest manifest;
  std::string text;
};
Result<ManifestFile> ReadManifestFile(const PackageReference& reference);

// The parts of a package that a run time uses.
struct OpenedPackage {
  std::unique_ptr<const ChoiceIndex> index;
  std::unique_ptr<PackagedKernels> kernels;  // Null if they are not used.
  Status kernels_used;                       // Why not.
};

// Opens a package to serve from it. Its index must be the one of the manifest. The size is always
// checked; the hash too if the package is pinned, which reads all of it, or if the index is no
// larger than kHashedIndexBytes. A kernel is compared with the manifest when it is loaded; one that
// differs or is not in it is passed over, and `refused` gets a sentence about it, on the thread
// that loads. Fails as ReadManifest, with kDataLoss for another index, and as ChoiceIndex::Open.
inline constexpr int64_t kHashedIndexBytes = int64_t{16} << 20;
Result<OpenedPackage> OpenPackage(const PackageReference& reference,
                                  std::function<void(const Status&)> refused);

// A file that differs from the manifest.
struct WrongFile {
  enum class Fault { kMissing, kDamaged, kNotInManifest };
  // Missing or unreadable. An index is missing even if the manifest names none: every package has
  // one.
  Fault fault = Fault::kMissing;
  std::string path;      // Inside of the package.
  std::string sentence;  // Names the package and the error of the system.
};

// Reads every file and compares it with the manifest: missing or damaged files in the order of the
// manifest, then files that are not in it. Fails as ReadManifest, and with kUnavailable if the
// folder cannot be listed.
Result<std::vector<WrongFile>> CheckFiles(const PackageReference& reference);

// kDataLoss names every file that CheckFiles reports, in a sentence each.
Status VerifyPackage(const PackageReference& reference);

// The problems in a package.
struct PackedProblems {
  std::string tag;  // Tag of all of `only`, to read them at once; empty: one by one.
  std::optional<std::vector<Problem>> only;  // Nothing: every problem in the store.
};

struct PackagedIndex {
  int64_t problems = 0;
  std::vector<std::string> caches;  // As Manifest::caches.
};

// Makes the index of a package: the finished sets of `store` for `packed`, on targets equal to
// `target`, with the newest and best records. kNotFound if there are none.
Result<PackagedIndex> WritePackagedIndex(RecordStore& store, const PackedProblems& packed,
                                         const Target& target, const SelectOptions& select,
                                         const std::filesystem::path& folder);

// Makes the files below `folder` readable for all users, and writes the manifest over them; returns
// its hash.
Result<std::string> SealPackage(const std::filesystem::path& folder, Manifest manifest);

}  // namespace attune
