#include "attune/index/package_folder.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "attune/base/file.h"
#include "attune/index/index_writer.h"
#include "attune/record/memory_store.h"

namespace attune {
namespace {

namespace fs = std::filesystem;

constexpr const char* kManifestName = "manifest.json";
constexpr const char* kKernelFolder = "kernels";
constexpr size_t kLargestManifestBytes = size_t{16} << 20;
constexpr std::string_view kPin = "#sha256=";

Result<PackageReference> ParseReference(std::string_view entry) {
  const size_t mark = entry.find(kPin);
  PackageReference reference{entry.substr(0, mark), ""};
  if (mark == std::string_view::npos) return reference;
  reference.sha256 = entry.substr(mark + kPin.size());
  const bool is_hash = reference.sha256.size() == 64 &&
                       reference.sha256.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (is_hash) return reference;
  return InvalidArgument(
      fmt::format("Package '{}': '{}' is no SHA-256 of 64 lower-case hexadecimal digits.",
                  reference.folder.string(), reference.sha256));
}

// Paths of all files below `folder` but the manifest, as the manifest has them.
Result<std::vector<std::string>> FilesIn(const fs::path& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    if (it->is_directory(error) && !it->is_symlink(error)) continue;
    const std::string path = it->path().lexically_relative(folder).string();
    if (path != kManifestName) paths.push_back(path);
  }
  if (error) {
    return Unavailable(
        fmt::format("Cannot list the package '{}': {}.", folder.string(), error.message()));
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

Status NotInManifest(const fs::path& folder, const std::string& path) {
  return DataLoss(
      fmt::format("File '{}' of package '{}' is not in its manifest.", path, folder.string()));
}

Status NotAsManifested(const fs::path& folder, const std::string& path) {
  return DataLoss(fmt::format("File '{}' of package '{}' is not what its manifest says.", path,
                              folder.string()));
}

// Checks that `content` matches the manifest entry of `path`.
Status CheckContent(const PackageReference& package, const Manifest& manifest,
                    const std::string& path, std::string_view content) {
  const auto found = manifest.files.find(path);
  if (found == manifest.files.end()) return NotInManifest(package.folder, path);
  const PackagedFile& expected = found->second;
  const bool fits = static_cast<int64_t>(content.size()) == expected.size_bytes &&
                    Sha256Hex(content) == expected.sha256;
  return fits ? Status::Ok() : NotAsManifested(package.folder, path);
}

// Checks the open index, which a file that later takes its name cannot replace. Checks only the
// size of an index that is too large to hash when a program starts.
Status CheckIndex(const PackageReference& package, const Manifest& manifest,
                  const ChoiceIndex& index) {
  if (!package.sha256.empty() || index.size_bytes() <= kHashedIndexBytes) {
    ATTUNE_ASSIGN_OR_RETURN(const std::string_view bytes, index.bytes());
    return CheckContent(package, manifest, kPackageIndexName, bytes);
  }
  const auto found = manifest.files.find(kPackageIndexName);
  if (found == manifest.files.end()) return NotInManifest(package.folder, kPackageIndexName);
  return found->second.size_bytes == index.size_bytes()
             ? Status::Ok()
             : NotAsManifested(package.folder, kPackageIndexName);
}

Status Copy(const RecordedSet& recorded, RecordStore& to) {
  ATTUNE_RETURN_IF_ERROR(to.BeginSet(recorded.set));
  std::vector<Trial> trials;
  for (const Record& record : recorded.records) trials.push_back(record.trial);
  ATTUNE_RETURN_IF_ERROR(to.Append(recorded.set.id, trials));
  return to.FinishSet(recorded.set.id);
}

// The sets of `query` that belong to `packed`.
Status VisitPacked(RecordStore& store, const PackedProblems& packed, RecordQuery query,
                   const std::function<Status(const RecordedSet&)>& visit) {
  if (!packed.only.has_value()) return store.Visit(query, visit);
  if (packed.tag.empty()) {
    for (const Problem& problem : *packed.only) {
      query.problem = problem;
      ATTUNE_RETURN_IF_ERROR(store.Visit(query, visit));
    }
    return Status::Ok();
  }
  std::set<Fingerprint> keys;
  for (const Problem& problem : *packed.only) keys.insert(KeyOf(problem));
  query.tag = packed.tag;
  return store.Visit(query, [&](const RecordedSet& recorded) {
    return keys.contains(KeyOf(recorded.set.problem)) ? visit(recorded) : Status::Ok();
  });
}

}  // namespace

Result<std::vector<PackageReference>> ParsePackages(std::string_view text) {
  std::vector<PackageReference> packages;
  while (!text.empty()) {
    const size_t end = text.find(':');
    if (end != 0) {
      ATTUNE_ASSIGN_OR_RETURN(PackageReference reference, ParseReference(text.substr(0, end)));
      packages.push_back(std::move(reference));
    }
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return packages;
}

Result<ManifestFile> ReadManifestFile(const PackageReference& reference) {
  const std::string name = reference.folder.string();
  auto read = ReadFileAtOnce(reference.folder / kManifestName, kLargestManifestBytes);
  if (!read.ok()) {
    return Status(read.error().code(),
                  fmt::format("'{}' cannot be read as a package. {} 'attune package create' makes "
                              "packages.",
                              name, read.error().message()));
  }
  const std::string hash = Sha256Hex(*read);
  if (!reference.sha256.empty() && hash != reference.sha256) {
    return FailedPrecondition(
        fmt::format("Package '{}' has the hash {} and should have {}: it is another package, or "
                    "somebody has changed it.",
                    name, hash, reference.sha256));
  }
  auto manifest = ParseManifest(*read);
  if (!manifest.ok()) {
    return manifest.error().WithContext(fmt::format("Package '{}'", name));
  }
  return ManifestFile{*std::move(manifest), *std::move(read)};
}

Result<Manifest> ReadManifest(const PackageReference& reference) {
  ATTUNE_ASSIGN_OR_RETURN(ManifestFile file, ReadManifestFile(reference));
  return std::move(file.manifest);
}

Result<OpenedPackage> OpenPackage(const PackageReference& reference,
                                  std::function<void(const Status&)> refused) {
  ATTUNE_ASSIGN_OR_RETURN(Manifest manifest, ReadManifest(reference));
  OpenedPackage package;
  ATTUNE_ASSIGN_OR_RETURN(package.index, ChoiceIndex::Open(reference.folder / kPackageIndexName));
  ATTUNE_RETURN_IF_ERROR(CheckIndex(reference, manifest, *package.index));
  auto kernels = PackagedKernels::Open(
      reference.folder / kKernelFolder,
      [reference, manifest = std::move(manifest), refused = std::move(refused)](
          const std::string& name, std::string_view content) {
        const Status checked =
            CheckContent(reference, manifest, fmt::format("{}/{}", kKernelFolder, name), content);
        if (!checked.ok()) refused(checked);
        return checked.ok();
      });
  if (kernels.ok()) {
    package.kernels = *std::move(kernels);
  } else {
    package.kernels_used = kernels.error();
  }
  return package;
}

Result<std::vector<WrongFile>> CheckFiles(const PackageReference& reference) {
  ATTUNE_ASSIGN_OR_RETURN(const Manifest manifest, ReadManifest(reference));
  std::vector<WrongFile> wrong;
  for (const auto& [path, file] : manifest.files) {
    const auto content = ReadFileAtOnce(reference.folder / path);
    if (!content.ok()) {
      wrong.push_back({WrongFile::Fault::kMissing, path, content.error().message()});
      continue;
    }
    const Status checked = CheckContent(reference, manifest, path, *content);
    if (!checked.ok()) wrong.push_back({WrongFile::Fault::kDamaged, path, checked.message()});
  }
  ATTUNE_ASSIGN_OR_RETURN(const auto paths, FilesIn(reference.folder));
  if (!manifest.files.contains(kPackageIndexName) &&
      !std::binary_search(paths.begin(), paths.end(), kPackageIndexName)) {
    wrong.push_back({WrongFile::Fault::kMissing, kPackageIndexName,
                     fmt::format("Package '{}' has no file '{}', and its manifest names none: "
                                 "without it a package has no choices.",
                                 reference.folder.string(), kPackageIndexName)});
  }
  for (const std::string& path : paths) {
    if (manifest.files.contains(path)) continue;
    wrong.push_back(
        {WrongFile::Fault::kNotInManifest, path, NotInManifest(reference.folder, path).message()});
  }
  return wrong;
}

Status VerifyPackage(const PackageReference& reference) {
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<WrongFile> wrong, CheckFiles(reference));
  if (wrong.empty()) return Status::Ok();
  std::string sentences;
  for (const WrongFile& file : wrong) {
    sentences += fmt::format("{}{}", sentences.empty() ? "" : " ", file.sentence);
  }
  return DataLoss(sentences);
}

Result<PackagedIndex> WritePackagedIndex(RecordStore& store, const PackedProblems& packed,
                                         const Target& target, const SelectOptions& select,
                                         const fs::path& folder) {
  MemoryStore copies;
  std::set<std::string> caches;
  RecordQuery query;
  query.backend = target.backend;
  query.finished_only = true;
  ATTUNE_RETURN_IF_ERROR(VisitPacked(store, packed, query, [&](const RecordedSet& recorded) {
    if (recorded.set.target != target) return Status::Ok();
    caches.emplace(Name(recorded.set.cache));
    return Copy(recorded, copies);
  }));
  const auto index = RefreshIndex(copies, folder / kPackageIndexName, select);
  if (!index.ok()) return index.error();
  if (index->problems > 0) {
    return PackagedIndex{index->problems, {caches.begin(), caches.end()}};
  }
  if (packed.tag.empty()) {
    return NotFound(fmt::format("Nothing of what was to be packed was tuned on {}.", Text(target)));
  }
  return NotFound(fmt::format(
      "Nothing of tag '{0}' was tuned on {1}; run 'attune tune --tag {0}' with that --device.",
      packed.tag, Text(target)));
}

Result<std::string> SealPackage(const fs::path& folder, Manifest manifest) {
  constexpr auto kReadable = fs::perms::owner_read | fs::perms::owner_write |
                             fs::perms::group_read | fs::perms::others_read;
  constexpr auto kOpen =
      kReadable | fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec;
  std::error_code error;
  fs::permissions(folder, kOpen, error);
  if (!error) fs::permissions(folder / kKernelFolder, kOpen, error);
  ATTUNE_ASSIGN_OR_RETURN(const auto paths, FilesIn(folder));
  for (const std::string& path : paths) {
    if (!error) fs::permissions(folder / path, kReadable, error);
    ATTUNE_ASSIGN_OR_RETURN(const std::string content, ReadFileAtOnce(folder / path));
    manifest.files[path] = {static_cast<int64_t>(content.size()), Sha256Hex(content)};
  }
  if (error) {
    return Unavailable(fmt::format("Cannot make the package '{}' readable: {}.", folder.string(),
                                   error.message()));
  }
  const std::string text = ManifestText(manifest);
  ATTUNE_RETURN_IF_ERROR(WriteFileAtomically(folder / kManifestName, text));
  return Sha256Hex(text);
}

}  // namespace attune
