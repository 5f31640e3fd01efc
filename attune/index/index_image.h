// The sections of an index file while they are filled. Private to this module.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/index/choice_index.h"
#include "attune/index/index_format.h"

namespace attune {

// Rows without their checks, which Bytes() fills. A row is named by its position.
struct IndexImage {
  std::vector<ProblemRow> problems;  // Sorted by key.
  std::vector<ChoiceRow> choices;
  std::vector<RankRow> ranks;
  std::vector<TextRow> targets;
  std::vector<TextRow> environments;
  std::vector<TextRow> candidates;
  std::vector<FamilyRow> families;  // Sorted by key, their points arranged.
  std::vector<PointRow> points;
  std::string text;

  // Appends a text with its check; returns its position.
  uint64_t AddText(std::string_view content);

  // The file, with the hash table over `problems`. kInvalidArgument if the identity has no valid
  // id, kResourceExhausted if a table has more rows than the format can number.
  Result<std::string> Bytes(const IndexIdentity& identity) const;
};

}  // namespace attune
