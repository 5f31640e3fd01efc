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

// Of the file in every package that has its choices.
inline constexpr const char* kPackageIndexName = "index";

// Where a package is, and which one it has to be.
struct PackageReference {
  std::filesystem::path folder;
  std::string sha256;  // Of its manifest; empty for any.

  friend bool operator==(const PackageReference&, const PackageReference&) = default;
};
// Entries "DIR[#sha256=HASH]" separated by ':'; empty ones are passed over. kInvalidArgument for a
// hash that is none.
Result<std::vector<PackageReference>> ParsePackages(std::string_view text);

// Reads the manifest and compares its hash; the other files are not read. kNotFound if there is
// none, kFailedPrecondition if it is another package than the one that is pinned.
Result<Manifest> ReadManifest(const PackageReference& reference);

// The same with its bytes, whose hash names the package: another program's manifest may have keys
// that a Manifest has not.
struct ManifestFile {
  Manifest manifest;
  std::string text;
};
Result<ManifestFile> ReadManifestFile(const PackageReference& reference);

// What a run time uses of a package.
struct OpenedPackage {
  std::unique_ptr<const ChoiceIndex> index;
  std::unique_ptr<PackagedKernels> kernels;  // Null if they are not used.
  Status kernels_used;                       // Why not.
};

// Opens a package to serve from it. Its index has to be the one of the manifest: the size always,
// the hash too if the package is pinned, which reads all of it, or if the index is no larger than
// kHashedIndexBytes. A kernel is compared with the manifest when it is loaded; one that is another
// or is not in it is passed over, and `refused` gets the sentence that says so, on the thread that
// loads. Fails as ReadManifest, with kDataLoss for another index, and as ChoiceIndex::Open.
inline constexpr int64_t kHashedIndexBytes = int64_t{16} << 20;
Result<OpenedPackage> OpenPackage(const PackageReference& reference,
                                  std::function<void(const Status&)> refused);

// A file that is not as the manifest says.
struct WrongFile {
  enum class Fault { kMissing, kDamaged, kNotInManifest };
  // Missing, or it cannot be read. An index is missing even if the manifest names none: there is no
  // package without.
  Fault fault = Fault::kMissing;
  std::string path;      // Inside of the package.
  std::string sentence;  // With the package, and with what the system says.
};

// Reads every file and compares it with the manifest: what is missing or damaged in the order of
// the manifest, then what is not in it. Fails as ReadManifest, and with kUnavailable if the folder
// cannot be listed.
Result<std::vector<WrongFile>> CheckFiles(const PackageReference& reference);

// kDataLoss names every file that CheckFiles found, in a sentence each.
Status VerifyPackage(const PackageReference& reference);

// Of which problems a package is.
struct PackedProblems {
  std::string tag;  // All of `only` have it, and are read at once by it; empty: one by one.
  std::optional<std::vector<Problem>> only;  // Nothing: every one that the store has.
};

struct PackagedIndex {
  int64_t problems = 0;
  std::vector<std::string> caches;  // As Manifest::caches.
};

// Makes the index of a package: the finished sets of `store` for `packed`, on targets equal to
// `target`, with the records of what was measured last and best. kNotFound if there are none.
Result<PackagedIndex> WritePackagedIndex(RecordStore& store, const PackedProblems& packed,
                                         const Target& target, const SelectOptions& select,
                                         const std::filesystem::path& folder);

// Gives the files below `folder` modes for everybody to read, and writes the manifest over them;
// its hash.
Result<std::string> SealPackage(const std::filesystem::path& folder, Manifest manifest);

}  // namespace attune
