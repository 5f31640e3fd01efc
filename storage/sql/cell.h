// One value of one column, as a database exchanges it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace attune::sql {

enum class CellType { kInteger, kReal, kText };

// `type` names the member in use, unless `is_null`. A struct with all three and no variant, because
// SOCI binds to a fixed address.
struct Cell {
  CellType type = CellType::kInteger;
  bool is_null = false;
  long long integer = 0;  // NOLINT(runtime/int): the type that SOCI exchanges.
  double real = 0;
  std::string text;
};

using Row = std::vector<Cell>;

}  // namespace attune::sql
