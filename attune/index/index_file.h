// An index file as bytes: its header checked when it is opened, each row when it is read. Nothing
// in it is believed before. Private to this module.
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
#include "attune/index/index_format.h"

namespace attune {

// Immutable, thread-safe.
class IndexFile {
 public:
  // kNotFound, kUnavailable; kFailedPrecondition for another version or byte order; kDataLoss.
  static Result<std::unique_ptr<const IndexFile>> Map(const std::filesystem::path& path);
  // The same over bytes in memory.
  static Result<std::unique_ptr<const IndexFile>> Over(std::string bytes);
  IndexFile(const IndexFile&) = delete;
  IndexFile& operator=(const IndexFile&) = delete;
  ~IndexFile();

  const IndexHeader& header() const { return header_; }
  // All of the file, for who reads it from one end to the other: the system is told to read ahead.
  std::string_view bytes() const;
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
  // A text by its place. kDataLoss if it is not whole.
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
  // Asks for what every lookup reads, places and the texts of places, while the lookup finds its
  // problem. REQUIRES: the bytes are mapped and the sections checked.
  void Prefetch() const;
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
    std::memcpy(&row, bytes_.data() + rows.offset + number * sizeof(Row), sizeof(Row));
    if (row.check != CheckOfRow(row, section, number)) {
      return Damaged(section, number, "its checksum does not fit");
    }
    return row;
  }

  std::string name_ = "(memory)";
  std::string owned_;        // The bytes, if they are not mapped.
  void* mapping_ = nullptr;  // Owned; null if the bytes are in owned_.
  std::string_view bytes_;   // Of either.
  IndexHeader header_;
};

}  // namespace attune
