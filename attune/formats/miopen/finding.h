// A defect in a database of MIOpen: where, and why.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attune::miopen {

enum class FindingKind : uint8_t {
  // Left out of the result.
  kBadLine,          // No record: no key, no item, bytes that are no printable ASCII.
  kBadItem,          // No name, or too few fields.
  kBadKey,           // A key that is none, or not spelled as MIOpen does.
  kImpossibleTime,   // Shorter than possible on any device, beyond a float, or no number.
  kBadWorkspace,     // No number of bytes.
  kDuplicateKey,     // MIOpen reads the first.
  kDuplicateSolver,  // Within a record; MIOpen reads the first.
  kBadRow,           // Row of a table: a type or a value that its column cannot have.
  kBadKernel,        // A kernel with bytes that cannot be unpacked.
  kHashMismatch,     // A kernel with bytes that differ from its hash.
  // Kept as it is.
  kImpossibleProblem,  // The output does not follow from the rest of its key.
  kUnknownSolver,      // No MIOpen ever had it for such problems.
  kRemovedSolver,      // MIOpen has removed it.
  kWrongAlgorithm,     // Not an algorithm, or of another direction than the key.
  kUnsortedKeys,       // A record before its predecessor: MIOpen's own files are sorted.
  kUnsortedItems,      // A quicker solver behind a slower one.
  kNoPerfRow,          // A tunable solver of a find-db that the perf-db has no parameters for.
  kNoFindRecord,       // Parameters for a key without a record in the find-db.
  kUnusedConfig,       // A perf-db configuration without parameters.
  kNoKernel,           // A record without a kernel in the kernel db for its quickest solver.
  kOrphanedKernel,     // A kernel of a solver without a record in the find-db.
  kNoRecord,           // A database without any usable content.
  kUnreadable,         // A file that is no whole database of the kind in its name.
};
inline constexpr size_t kFindingKinds = 23;

// "bad_line" and so on: the words of --json.
std::string_view Name(FindingKind kind);
// A description for users: "lines that are no record".
std::string_view Description(FindingKind kind);

// Returns true if a finding of `kind` was left out of the result.
bool IsLeftOut(FindingKind kind);

struct Finding {
  FindingKind kind = FindingKind::kBadLine;
  uint64_t line = 0;  // 1-based; for a table the row's id. 0: the file as a whole.
  std::string reason;

  friend bool operator==(const Finding&, const Finding&) = default;
};

// Counts everything and keeps the first kMostKept of each kind.
class Findings {
 public:
  static constexpr size_t kMostKept = 10'000;

  void Add(FindingKind kind, uint64_t line, std::string reason);

  uint64_t count(FindingKind kind) const { return counts_[static_cast<size_t>(kind)]; }
  uint64_t total() const;
  // In the order in which they were added.
  const std::vector<Finding>& kept() const { return kept_; }

 private:
  std::array<uint64_t, kFindingKinds> counts_ = {};
  std::array<size_t, kFindingKinds> kept_counts_ = {};
  std::vector<Finding> kept_;
};

}  // namespace attune::miopen
