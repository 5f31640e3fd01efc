#include "attune/index/index_image.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "attune/base/fingerprint.h"

namespace attune {
namespace {

void AppendValue(std::string& bytes, const void* value, size_t size_bytes) {
  bytes.append(static_cast<const char*>(value), size_bytes);
}

// Half of the places stay free, so that a look-up of a missing key ends after one or two probes.
std::vector<SlotRow> HashTable(const std::vector<ProblemRow>& problems) {
  constexpr size_t kFewest = 8;
  std::vector<SlotRow> slots(std::bit_ceil(std::max(kFewest, 2 * problems.size())));
  for (size_t i = 0; i < problems.size(); ++i) {
    size_t place = problems[i].key_low & (slots.size() - 1);
    while (slots[place].problem != 0) place = (place + 1) & (slots.size() - 1);
    slots[place].key_high = problems[i].key_high;
    slots[place].key_low = problems[i].key_low;
    slots[place].problem = static_cast<uint32_t>(i + 1);
  }
  return slots;
}

// Appends sections and records their positions.
class Assembly {
 public:
  explicit Assembly(size_t size_bytes) {
    bytes_.reserve(size_bytes);
    bytes_.resize(sizeof(IndexHeader));
  }

  template <class Row>
  void Add(Section section, const std::vector<Row>& rows) {
    Begin(section, rows.size());
    for (size_t i = 0; i < rows.size(); ++i) {
      Row row = rows[i];
      row.check = CheckOfRow(row, section, i);
      AppendValue(bytes_, &row, sizeof(row));
    }
  }
  void AddText(std::string_view text) {
    Begin(Section::kText, text.size());
    bytes_ += text;
  }

  std::string Finish(const Fingerprint& database_id, int64_t last_revision) {
    header_.file_bytes = bytes_.size();
    header_.database_id_high = database_id.high;
    header_.database_id_low = database_id.low;
    header_.last_revision = last_revision;
    header_.check = CheckOfHeader(header_);
    std::memcpy(bytes_.data(), &header_, sizeof(header_));
    return std::move(bytes_);
  }

 private:
  void Begin(Section section, size_t count) {
    header_.sections[static_cast<size_t>(section)] = {bytes_.size(), count};
  }

  std::string bytes_;
  IndexHeader header_;
};

template <class Row>
size_t BytesOf(const std::vector<Row>& rows) {
  return rows.size() * sizeof(Row);
}

Status CheckCount(Section section, size_t count, uint64_t limit) {
  if (count <= limit) return Status::Ok();
  return ResourceExhausted(fmt::format(
      "The {} of an index holds at most {} rows; the database needs {}. Split the database.",
      Name(section), limit, count));
}

}  // namespace

uint64_t IndexImage::AddText(std::string_view content) {
  const uint64_t offset = text.size();
  const uint64_t check = CheckOf(content, Section::kText, offset);
  AppendValue(text, &check, sizeof(check));
  text += content;
  return offset;
}

Result<std::string> IndexImage::Bytes(const IndexIdentity& identity) const {
  const std::optional<Fingerprint> id = Fingerprint::FromHex(identity.database_id);
  if (!id.has_value()) {
    return InvalidArgument(
        fmt::format("Database id '{}' is not 32 hexadecimal digits.", identity.database_id));
  }
  // Rows are numbered with 32 bits, and the hash table numbers problems from 1.
  constexpr uint64_t kMaxRows = std::numeric_limits<uint32_t>::max() - 1;
  ATTUNE_RETURN_IF_ERROR(CheckCount(Section::kProblems, problems.size(), kMaxRows));
  ATTUNE_RETURN_IF_ERROR(CheckCount(Section::kChoices, choices.size(), kMaxRows));
  ATTUNE_RETURN_IF_ERROR(CheckCount(Section::kRanks, ranks.size(), kMaxRows));
  ATTUNE_RETURN_IF_ERROR(CheckCount(Section::kCandidates, candidates.size(), kMaxRows));
  ATTUNE_RETURN_IF_ERROR(CheckCount(Section::kTargets, targets.size(), kMaxPlaces));
  ATTUNE_RETURN_IF_ERROR(CheckCount(Section::kEnvironments, environments.size(), kMaxPlaces));
  const std::vector<SlotRow> slots = HashTable(problems);
  Assembly assembly(sizeof(IndexHeader) + BytesOf(slots) + BytesOf(problems) + BytesOf(choices) +
                    BytesOf(ranks) + BytesOf(targets) + BytesOf(environments) +
                    BytesOf(candidates) + BytesOf(families) + BytesOf(points) + text.size());
  assembly.Add(Section::kSlots, slots);
  assembly.Add(Section::kProblems, problems);
  assembly.Add(Section::kChoices, choices);
  assembly.Add(Section::kRanks, ranks);
  assembly.Add(Section::kTargets, targets);
  assembly.Add(Section::kEnvironments, environments);
  assembly.Add(Section::kCandidates, candidates);
  assembly.Add(Section::kFamilies, families);
  assembly.Add(Section::kPoints, points);
  assembly.AddText(text);
  return assembly.Finish(*id, identity.last_revision);
}

}  // namespace attune
