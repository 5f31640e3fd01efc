#include "attune/formats/miopen/finding.h"

#include <numeric>
#include <utility>

namespace attune::miopen {
namespace {

struct Words {
  std::string_view name;
  std::string_view description;
};

constexpr std::array<Words, kFindingKinds> kWords = {{
    {"bad_line", "lines that are no record"},
    {"bad_item", "items that name no solver or lack fields"},
    {"bad_key", "keys that are none"},
    {"impossible_time", "times that nothing can take"},
    {"bad_workspace", "workspaces that are no number of bytes"},
    {"duplicate_key", "keys that are there a second time"},
    {"duplicate_solver", "solvers that a record has a second time"},
    {"bad_row", "rows with values that their columns cannot have"},
    {"bad_kernel", "kernels that cannot be unpacked"},
    {"hash_mismatch", "kernels that are not those of their hash"},
    {"impossible_problem", "problems whose output does not follow from their input"},
    {"unknown_solver", "solvers that MIOpen never had for such problems"},
    {"removed_solver", "solvers that MIOpen has no more"},
    {"wrong_algorithm", "algorithms that are none, or of another direction"},
    {"unsorted_keys", "records that stand before their predecessor"},
    {"unsorted_items", "records with a quicker solver behind a slower one"},
    {"no_perf_row", "tunable solvers without parameters in the perf-db"},
    {"no_find_record", "parameters for what the find-db does not have"},
    {"unused_config", "configurations without parameters"},
    {"no_kernel", "records whose quickest solver has no kernel in the kernel db"},
    {"orphaned_kernel", "kernels of solvers that the find-db does not name"},
    {"no_record", "databases that hold no record"},
    {"unreadable", "files that are no whole database of the kind that their names say"},
}};

}  // namespace

std::string_view Name(FindingKind kind) { return kWords[static_cast<size_t>(kind)].name; }

std::string_view Description(FindingKind kind) {
  return kWords[static_cast<size_t>(kind)].description;
}

// In the order of the enum.
bool IsLeftOut(FindingKind kind) { return kind <= FindingKind::kHashMismatch; }

void Findings::Add(FindingKind kind, uint64_t line, std::string reason) {
  const auto which = static_cast<size_t>(kind);
  ++counts_[which];
  if (kept_counts_[which] == kMostKept) return;
  ++kept_counts_[which];
  kept_.push_back({kind, line, std::move(reason)});
}

uint64_t Findings::total() const {
  return std::accumulate(counts_.begin(), counts_.end(), uint64_t{0});
}

}  // namespace attune::miopen
