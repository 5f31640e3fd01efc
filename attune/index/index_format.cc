#include "attune/index/index_format.h"

#include <xxhash.h>

namespace attune {

size_t RowBytes(Section section) {
  switch (section) {
    case Section::kSlots:
      return sizeof(SlotRow);
    case Section::kProblems:
      return sizeof(ProblemRow);
    case Section::kChoices:
      return sizeof(ChoiceRow);
    case Section::kRanks:
      return sizeof(RankRow);
    case Section::kTargets:
    case Section::kEnvironments:
    case Section::kCandidates:
      return sizeof(TextRow);
    case Section::kFamilies:
      return sizeof(FamilyRow);
    case Section::kPoints:
      return sizeof(PointRow);
    case Section::kText:
      return 1;
  }
  return 1;
}

std::string_view Name(Section section) {
  constexpr std::string_view kNames[kSectionCount] = {
      "hash table",        "problem table",   "choice table", "ranking table", "target table",
      "environment table", "candidate table", "family table", "point table",   "text"};
  return kNames[static_cast<size_t>(section)];
}

uint64_t CheckOf(std::string_view bytes, Section section, uint64_t place) {
  constexpr int kPlaceBits = 56;
  const uint64_t seed = (static_cast<uint64_t>(section) + 1) << kPlaceBits | place;
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

uint64_t CheckOfHeader(const IndexHeader& header) {
  return XXH3_64bits(&header, offsetof(IndexHeader, check));
}

}  // namespace attune
