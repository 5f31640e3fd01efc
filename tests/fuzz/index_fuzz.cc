// Any bytes are an index that answers, or none, with the reason. The fuzzer cannot guess checksums,
// so the bytes are tried as they are and again with every row given the checksum that it lacks.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "attune/index/choice_index.h"
#include "attune/index/index_builder.h"
#include "attune/index/index_file.h"
#include "attune/index/index_format.h"
#include "attune/ops/conv/conv.h"
#include "attune/ops/gemm/gemm.h"
#include "tests/fuzz/fuzz_check.h"

namespace {

using attune::IndexHeader;
using attune::Section;

constexpr size_t kHeaderBytes = sizeof(IndexHeader);

// A row's check is its last 8 bytes.
void MendRows(const IndexHeader& header, std::string& bytes) {
  for (size_t i = 0; i + 1 < attune::kSectionCount; ++i) {
    const auto section = static_cast<Section>(i);
    const size_t row_bytes = attune::RowBytes(section);
    for (uint64_t number = 0; number < header.sections[i].count; ++number) {
      char* const row = bytes.data() + header.sections[i].offset + number * row_bytes;
      const uint64_t check = attune::CheckOf({row, row_bytes - sizeof(check)}, section, number);
      std::memcpy(row + row_bytes - sizeof(check), &check, sizeof(check));
    }
  }
}

// Takes the counts of rows from the first bytes and lays the rest out as sections.
std::string Mended(const std::string& data) {
  IndexHeader header;
  std::string bytes(kHeaderBytes, '\0');
  size_t at = attune::kSectionCount;
  for (size_t i = 0; i < attune::kSectionCount; ++i) {
    const auto section = static_cast<Section>(i);
    uint64_t count = i < data.size() ? static_cast<unsigned char>(data[i]) % 8 : 0;
    if (section == Section::kSlots) count = uint64_t{1} << count % 4;
    if (section == Section::kText) count = at < data.size() ? data.size() - at : 0;
    header.sections[i] = {bytes.size(), count};
    const size_t size_bytes = count * attune::RowBytes(section);
    std::string rows = at < data.size() ? data.substr(at, size_bytes) : std::string();
    rows.resize(size_bytes);
    bytes += rows;
    at += size_bytes;
  }
  header.file_bytes = bytes.size();
  header.check = attune::CheckOfHeader(header);
  std::memcpy(bytes.data(), &header, kHeaderBytes);
  MendRows(header, bytes);
  return bytes;
}

void Ask(std::string bytes) {
  const auto index = attune::ChoiceIndex::Over(std::move(bytes));
  if (!index.ok()) {
    attune::FuzzCheck(!index.status().message().empty());
    return;
  }
  attune::IndexBuilder builder;
  if (builder.AddAll((*index)->file()).ok()) {
    attune::FuzzCheck(builder.Bytes((*index)->identity()).ok());
  }
  for (const attune::Problem& problem :
       {attune::Problem(attune::PackedGemm(33, 17, 9)), attune::Problem(attune::Conv{})}) {
    const auto found = (*index)->Find(problem);
    if (found.ok()) {
      for (const attune::IndexedChoice& choice : *found) {
        attune::FuzzCheck(choice.default_position < choice.ranking.size());
      }
    }
    const auto nearest = (*index)->Nearest(problem, 4, 8);
    attune::FuzzCheck(!nearest.ok() || nearest->size() <= 4);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  Ask(bytes);
  Ask(Mended(bytes));
  return 0;
}
