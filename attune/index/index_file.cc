#include "attune/index/index_file.h"

#include <utility>

#include "attune/trial/choice_source.h"

namespace attune {
namespace {

constexpr const char* kAdvice =
    "An index is derived from records: a database makes its index anew at the next refresh, and "
    "'attune package create' makes that of a package.";

}  // namespace

Result<std::unique_ptr<const IndexFile>> IndexFile::Checked(
    std::string name, std::unique_ptr<const CopiedFile> copied) {
  std::unique_ptr<IndexFile> file(new IndexFile());
  file->name_ = std::move(name);
  file->file_ = std::move(copied);
  ATTUNE_RETURN_IF_ERROR(file->CheckHeader());
  return file;
}

Result<std::unique_ptr<const IndexFile>> IndexFile::Open(const std::filesystem::path& path) {
  ATTUNE_ASSIGN_OR_RETURN(auto file, CopiedFile::Open(path));
  return Checked(path.string(), std::move(file));
}

Result<std::unique_ptr<const IndexFile>> IndexFile::Over(std::string bytes) {
  return Checked("(memory)", CopiedFile::Over(std::move(bytes)));
}

Result<std::string_view> IndexFile::bytes() const {
  ATTUNE_RETURN_IF_ERROR(file_->LoadAll());
  return std::string_view(file_->data(), file_->size());
}

Status IndexFile::CheckHeader() {
  if (file_->size() < sizeof(IndexHeader)) {
    return DataLoss(fmt::format("'{}' is no index, or was cut: it has fewer than {} bytes. {}",
                                name_, sizeof(IndexHeader), kAdvice));
  }
  ATTUNE_RETURN_IF_ERROR(file_->Load(0, sizeof(header_)));
  std::memcpy(&header_, file_->data(), sizeof(header_));
  if (header_.magic != kIndexMagic) {
    return DataLoss(fmt::format("'{}' is no index: it does not begin with the word {}. {}", name_,
                                std::string_view(kIndexMagic.data(), kIndexMagic.size()), kAdvice));
  }
  if (header_.byte_order != kByteOrderMark) {
    return FailedPrecondition(fmt::format(
        "Index '{}' was written on a machine of another byte order. {}", name_, kAdvice));
  }
  if (header_.version != kIndexVersion) {
    return FailedPrecondition(
        fmt::format("Index '{}' has format version {}; this attune reads version {}. {}", name_,
                    header_.version, kIndexVersion, kAdvice));
  }
  if (header_.check != CheckOfHeader(header_)) {
    return DataLoss(
        fmt::format("The header of index '{}' does not fit its checksum. {}", name_, kAdvice));
  }
  return CheckSections();
}

Status IndexFile::CheckSections() const {
  if (header_.file_bytes != file_->size()) {
    return DataLoss(fmt::format("Index '{}' has {} bytes and should have {}. {}", name_,
                                file_->size(), header_.file_bytes, kAdvice));
  }
  uint64_t end = sizeof(IndexHeader);
  for (size_t i = 0; i < kSectionCount; ++i) {
    const SectionRow& rows = header_.sections[i];
    const uint64_t row_bytes = RowBytes(static_cast<Section>(i));
    const bool fits = rows.offset == end && rows.offset <= file_->size() &&
                      rows.count <= (file_->size() - rows.offset) / row_bytes;
    if (!fits) return Damaged(static_cast<Section>(i), 0, "the section does not fit into the file");
    end = rows.offset + rows.count * row_bytes;
  }
  if (end != file_->size()) return Damaged(Section::kText, end, "bytes follow it");
  const uint64_t slots = Count(Section::kSlots);
  if (slots == 0 || (slots & (slots - 1)) != 0) {
    return Damaged(Section::kSlots, 0, "the number of places is no power of two");
  }
  for (const Section section : {Section::kTargets, Section::kEnvironments}) {
    if (Count(section) > kMaxPlaces) return Damaged(section, 0, "there are too many");
  }
  return Status::Ok();
}

Status IndexFile::Damaged(Section section, uint64_t place, std::string_view why) const {
  return DataLoss(fmt::format("Index '{}' is damaged at {} of its {}: {}. {}", name_, place,
                              Name(section), why, kAdvice));
}

Result<ProblemRow> IndexFile::ProblemAt(uint64_t number) const {
  ATTUNE_ASSIGN_OR_RETURN(const ProblemRow row, At<ProblemRow>(number));
  if (row.choice_count >= 1 && row.choice_count <= kMaxChoices) return row;
  return Damaged(Section::kProblems, number, "its number of choices is out of bounds");
}

Result<ChoiceRow> IndexFile::ChoiceAt(uint64_t number) const {
  ATTUNE_ASSIGN_OR_RETURN(const ChoiceRow row, At<ChoiceRow>(number));
  const bool is_sound = row.rank_count >= 1 && row.rank_count <= kMaxRanked &&
                        row.default_position < row.rank_count &&
                        row.cache <= static_cast<uint32_t>(CacheState::kRotating);
  if (is_sound) return row;
  return Damaged(Section::kChoices, number, "a number in it is out of bounds");
}

Result<std::string_view> IndexFile::TextAt(Section table, uint64_t number) const {
  ATTUNE_ASSIGN_OR_RETURN(const TextRow row, Read<TextRow>(table, number));
  return TextAt(row.offset, row.bytes);
}

Result<std::string_view> IndexFile::TextAt(uint64_t offset, uint32_t size_bytes) const {
  const SectionRow& section = header_.sections[static_cast<size_t>(Section::kText)];
  uint64_t check = 0;
  const bool fits = section.count >= sizeof(check) && offset <= section.count - sizeof(check) &&
                    size_bytes <= section.count - sizeof(check) - offset;
  if (!fits) return Damaged(Section::kText, offset, "the text does not fit into the file");
  ATTUNE_RETURN_IF_ERROR(file_->Load(section.offset + offset, sizeof(check) + size_bytes));
  const char* const start = file_->data() + section.offset + offset;
  std::memcpy(&check, start, sizeof(check));
  const std::string_view text(start + sizeof(check), size_bytes);
  if (check != CheckOf(text, Section::kText, offset)) {
    return Damaged(Section::kText, offset, "its checksum does not fit");
  }
  return text;
}

Result<std::optional<ProblemRow>> IndexFile::FindProblem(const Fingerprint& key) const {
  const uint64_t slots = Count(Section::kSlots);
  for (uint64_t probe = 0; probe < slots; ++probe) {
    ATTUNE_ASSIGN_OR_RETURN(const SlotRow slot, At<SlotRow>((key.low + probe) & (slots - 1)));
    if (slot.problem == 0) return std::optional<ProblemRow>();
    if (slot.key_high != key.high || slot.key_low != key.low) continue;
    ATTUNE_ASSIGN_OR_RETURN(const ProblemRow row, ProblemAt(slot.problem - 1));
    if (row.key_high == key.high && row.key_low == key.low) return std::optional(row);
    return Damaged(Section::kProblems, slot.problem - 1, "the hash table has another key for it");
  }
  return std::optional<ProblemRow>();
}

Result<std::optional<FamilyRow>> IndexFile::FindFamily(const Fingerprint& key) const {
  uint64_t low = 0;
  uint64_t high = Count(Section::kFamilies);
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    ATTUNE_ASSIGN_OR_RETURN(const FamilyRow row, At<FamilyRow>(middle));
    const Fingerprint found{row.key_high, row.key_low};
    if (found == key) return std::optional(row);
    if (found < key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return std::optional<FamilyRow>();
}

template <class Row>
Status IndexFile::CheckTable(Section section) const {
  for (uint64_t number = 0; number < Count(section); ++number) {
    ATTUNE_RETURN_IF_ERROR(Read<Row>(section, number).status());
  }
  return Status::Ok();
}

Status IndexFile::CheckTexts() const {
  for (uint64_t number = 0; number < Count(Section::kProblems); ++number) {
    ATTUNE_ASSIGN_OR_RETURN(const ProblemRow row, At<ProblemRow>(number));
    ATTUNE_RETURN_IF_ERROR(TextAt(row.text_offset, row.text_bytes).status());
  }
  for (const Section table : {Section::kTargets, Section::kEnvironments, Section::kCandidates}) {
    for (uint64_t number = 0; number < Count(table); ++number) {
      ATTUNE_RETURN_IF_ERROR(TextAt(table, number).status());
    }
  }
  return Status::Ok();
}

Status IndexFile::CheckAll() const {
  ATTUNE_RETURN_IF_ERROR(file_->LoadAll());
  ATTUNE_RETURN_IF_ERROR(CheckTable<SlotRow>(Section::kSlots));
  ATTUNE_RETURN_IF_ERROR(CheckTable<ChoiceRow>(Section::kChoices));
  ATTUNE_RETURN_IF_ERROR(CheckTable<RankRow>(Section::kRanks));
  ATTUNE_RETURN_IF_ERROR(CheckTable<FamilyRow>(Section::kFamilies));
  ATTUNE_RETURN_IF_ERROR(CheckTable<PointRow>(Section::kPoints));
  return CheckTexts();
}

}  // namespace attune
