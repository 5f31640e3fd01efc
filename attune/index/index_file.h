// An index file as bytes: its header is checked on opening, each row on reading. Nothing in it is
// trusted before. Private to this module.
#pragma once

#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "attune/base/fingerprint.h"
#include "attune/base/status.h"
#include "attune/index/copied_file.h"
#include "attune/index/index_format.h"

namespace attune {

// Immutable, thread-safe.
class IndexFile {
 public:
  // kNotFound, kUnavailable; kFailedPrecondition for another version or byte order; kDataLoss.
  static Result<std::unique_ptr<const IndexFile>> Open(const std::filesystem::path& path);
  // The same over bytes in memory.
  static Result<std::unique_ptr<const IndexFile>> Over(std::string bytes);
  IndexFile(const IndexFile&) = delete;
  IndexFile& operator=(const IndexFile&) = delete;

  const IndexHeader& header() const { return header_; }
  // The whole file. As for each row, kUnavailable if the file changed after it was opened.
  Result<std::string_view> bytes() const;
  uint64_t Count(Section section) const {
    return header_.sections[static_cast<size_t>(section)].count;
  }

  // Row `number` of the table of `Row`. kDataLoss if there is none or it is damaged.
  template <class Row>
  Result<Row> At(uint64_t number) const {
    return Read<Row>(Row::kSection, number);
  }
  // The same, with bounds that every such row keeps.
  Result<ProblemRow> ProblemAt(uint64_t number) const;
  Result<ChoiceRow> ChoiceAt(uint64_t number) const;
  // A text of one of the tables of texts. Lives as long as this.
  Result<std::string_view> TextAt(Section table, uint64_t number) const;
  // A text by its position. kDataLoss if it is incomplete.
  Result<std::string_view> TextAt(uint64_t offset, uint32_t size_bytes) const;

  // The row of the problem with this key, or nothing.
  Result<std::optional<ProblemRow>> FindProblem(const Fingerprint& key) const;
  // The family with this key, or nothing.
  Result<std::optional<FamilyRow>> FindFamily(const Fingerprint& key) const;

  // Reads and checks every row and every text that a row names.
  Status CheckAll() const;

  Status Damaged(Section section, uint64_t place, std::string_view why) const;

 private:
  IndexFile() = default;
  static Result<std::unique_ptr<const IndexFile>> Checked(std::string name,
                                                          std::unique_ptr<const CopiedFile> file);
  Status CheckHeader();
  Status CheckSections() const;
  template <class Row>
  Status CheckTable(Section section) const;
  Status CheckTexts() const;

  template <class Row>
  Result<Row> Read(Section section, uint64_t number) const {
    const SectionRow& rows = header_.sections[static_cast<size_t>(section)];
    if (number >= rows.count) return Damaged(section, number, "it is named but is not there");
    Row row;
    const uint64_t offset = rows.offset + number * sizeof(Row);
    ATTUNE_RETURN_IF_ERROR(file_->Load(offset, sizeof(Row)));
    std::memcpy(&row, file_->data() + offset, sizeof(Row));
    if (row.check != CheckOfRow(row, section, number)) {
      return Damaged(section, number, "its checksum does not fit");
    }
    return row;
  }

  std::string name_;
  std::unique_ptr<const CopiedFile> file_;
  IndexHeader header_;
};

}  // namespace attune
