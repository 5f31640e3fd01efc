// Any bytes as a table: a parsed row has the fields that its header names, and lines go up.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "extensions/models/seer/csv.h"
#include "tests/fuzz/fuzz_check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto table = attune::ReadCsv({reinterpret_cast<const char*>(data), size});
  if (!table.ok()) {
    attune::FuzzCheck(!table.status().message().empty());
    return 0;
  }
  size_t line = 0;
  for (const attune::CsvRow& row : table->rows) {
    attune::FuzzCheck(row.line > line && row.fields.size() == table->columns.size());
    line = row.line;
    for (size_t i = 0; i < row.fields.size(); ++i) {
      const auto number = attune::NumberIn(row, i, 0);
      attune::FuzzCheck(!number.ok() || *number >= 0);
    }
  }
  return 0;
}
