// The index file: a lookup reads a few pages and parses nothing else.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "attune/base/status.h"
#include "attune/trial/choice_source.h"

namespace attune {

class IndexFile;

// The origin of an index.
struct IndexIdentity {
  std::string database_id;    // RecordStore::State().database_id.
  int64_t last_revision = 0;  // The index has every set that was finished up to this one.

  friend bool operator==(const IndexIdentity&, const IndexIdentity&) = default;
};

// A candidate in the file's form. Lives as long as the index.
struct RankedText {
  std::string_view candidate;
  double median_ns = 0;
  int64_t workspace_bytes = 0;
};

// Immutable; a newer index is another file under the same name. Pages that were read stay readable.
// Open() reads a file of at most CopiedFile::kWholeBytes completely.
class ChoiceIndex final : public ChoiceSource {
 public:
  // Opens `path` and checks its header. Takes at most a millisecond, whatever the size. kNotFound
  // if there is no such file, kFailedPrecondition for another format version or byte order,
  // kDataLoss if it is damaged or not an index. Entries are checked when they are read.
  static Result<std::unique_ptr<ChoiceIndex>> Open(const std::filesystem::path& path);
  // An index over the file content `bytes`.
  static Result<std::unique_ptr<ChoiceIndex>> Over(std::string bytes);
  ~ChoiceIndex() override;

  const IndexIdentity& identity() const { return identity_; }

  Result<std::vector<IndexedChoice>> Find(const Problem& problem) const override;
  Result<std::vector<Neighbour>> Nearest(const Problem& problem, size_t limit,
                                         double max_distance) const override;
  int64_t problem_count() const override;
  // Problem `number` of problem_count(), in the order of their fingerprints.
  Result<Problem> ProblemAt(int64_t number) const;
  // The first candidate of the newest choice, unparsed, or nothing: for callers that only print it.
  Result<std::optional<RankedText>> FindBest(const Problem& problem) const;

  // For building the next index.
  const IndexFile& file() const { return *file_; }
  // The whole file. The first call reads it, in time proportional to its size. kUnavailable if the
  // file changed after Open().
  Result<std::string_view> bytes() const;
  int64_t size_bytes() const;

 private:
  struct Places;
  explicit ChoiceIndex(std::unique_ptr<const IndexFile> file);

  std::unique_ptr<const IndexFile> file_;
  IndexIdentity identity_;
  std::unique_ptr<Places> places_;  // Parsed targets and environments.
};

}  // namespace attune
