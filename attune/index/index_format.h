// The rows of an index file, as docs/formats/index.md has them, and the checks that end them.
// Private to this module.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "attune/index/neighbour.h"

namespace attune {

inline constexpr std::array<char, 8> kIndexMagic = {'A', 'T', 'T', 'U', 'N', 'I', 'D', 'X'};
inline constexpr uint32_t kIndexVersion = 1;
// Reads as another number on a machine with the other byte order.
inline constexpr uint32_t kByteOrderMark = 0x01020304;

enum class Section : uint32_t {
  kSlots,
  kProblems,
  kChoices,
  kRanks,
  kTargets,
  kEnvironments,
  kCandidates,
  kFamilies,
  kPoints,
  kText,  // Bytes; its count is their number.
};
inline constexpr size_t kSectionCount = 10;
// Limit for the values that are parsed once per file and kept in memory.
inline constexpr uint64_t kMaxPlaces = 65536;

struct SectionRow {
  uint64_t offset = 0;
  uint64_t count = 0;
};

struct IndexHeader {
  std::array<char, 8> magic = kIndexMagic;
  uint32_t version = kIndexVersion;
  uint32_t byte_order = kByteOrderMark;
  uint64_t file_bytes = 0;
  uint64_t database_id_high = 0;
  uint64_t database_id_low = 0;
  int64_t last_revision = 0;
  std::array<SectionRow, kSectionCount> sections;
  uint64_t check = 0;
};
static_assert(sizeof(IndexHeader) == 216);

// One place of the hash table; `problem` is its row plus 1, or 0 if the place is free.
struct SlotRow {
  static constexpr Section kSection = Section::kSlots;
  uint64_t key_high = 0;
  uint64_t key_low = 0;
  uint32_t problem = 0;
  uint32_t reserved = 0;
  uint64_t check = 0;
};
static_assert(sizeof(SlotRow) == 32);

struct ProblemRow {
  static constexpr Section kSection = Section::kProblems;
  uint64_t key_high = 0;
  uint64_t key_low = 0;
  uint64_t text_offset = 0;
  uint32_t text_bytes = 0;
  uint32_t first_choice = 0;
  uint32_t choice_count = 0;
  uint32_t reserved = 0;
  uint64_t check = 0;
};
static_assert(sizeof(ProblemRow) == 48);

struct ChoiceRow {
  static constexpr Section kSection = Section::kChoices;
  uint32_t target = 0;
  uint32_t environment = 0;
  uint32_t cache = 0;
  uint32_t default_position = 0;
  int64_t revision = 0;
  int64_t started_unix_ns = 0;
  double speedup = 0;
  double speedup_low = 0;
  double speedup_high = 0;
  double confidence = 0;
  uint32_t first_rank = 0;
  uint32_t rank_count = 0;
  uint64_t check = 0;
};
static_assert(sizeof(ChoiceRow) == 80);

struct RankRow {
  static constexpr Section kSection = Section::kRanks;
  // In `flags`; writers and readers leave other flags alone. Old readers take all for 0.
  static constexpr uint32_t kFailsCapture = 1;

  uint32_t candidate = 0;
  uint32_t flags = 0;
  double median_ns = 0;
  int64_t workspace_bytes = 0;
  int64_t build_ns = 0;
  int64_t load_ns = 0;
  uint64_t check = 0;
};
static_assert(sizeof(RankRow) == 48);

// A row of one of three tables: targets, environments, candidates.
struct TextRow {
  uint64_t offset = 0;
  uint32_t bytes = 0;
  uint32_t reserved = 0;
  uint64_t check = 0;
};
static_assert(sizeof(TextRow) == 24);

struct FamilyRow {
  static constexpr Section kSection = Section::kFamilies;
  uint64_t key_high = 0;
  uint64_t key_low = 0;
  uint32_t first_point = 0;
  uint32_t point_count = 0;
  uint64_t check = 0;
};
static_assert(sizeof(FamilyRow) == 32);

struct PointRow {
  static constexpr Section kSection = Section::kPoints;
  Position position = {};
  uint32_t problem = 0;
  uint32_t split = 0;  // The coordinate that this node divides.
  uint64_t check = 0;
};
static_assert(sizeof(PointRow) == 48);

// Bytes of one row of `section`.
size_t RowBytes(Section section);
// "problem table" and so on, for messages.
std::string_view Name(Section section);

// XXH3-64 of `bytes`, seeded with their position, so that a row in another row's place is detected.
uint64_t CheckOf(std::string_view bytes, Section section, uint64_t place);
uint64_t CheckOfHeader(const IndexHeader& header);

// The check of a row, over all of it before the check itself.
template <class Row>
uint64_t CheckOfRow(const Row& row, Section section, uint64_t place) {
  static_assert(offsetof(Row, check) + sizeof(uint64_t) == sizeof(Row));
  return CheckOf({reinterpret_cast<const char*>(&row), offsetof(Row, check)}, section, place);
}

}  // namespace attune
