// Which ways to copy operands keep to the limit on scratch memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"

namespace attune::cuda {

// What all copies of the way `name` take in the workspace, or why there is no such way.
using CopiesBytesOf = std::function<Result<size_t>(const std::string& name)>;

// How a refusal speaks of copies: "Copies of <what> '<name>' take ...", and what is left to use.
struct CopyWords {
  std::string_view what;
  std::string_view instead;
};

// Those of `names` whose copies keep to `limit_bytes` together, in their order. kUnsupported if
// there are none, with what is wrong with the last. REQUIRES: `names` is not empty.
Result<std::vector<std::string>> WaysWithinLimit(const std::vector<std::string>& names,
                                                 const CopiesBytesOf& copies_bytes_of,
                                                 int64_t limit_bytes, const CopyWords& words);

}  // namespace attune::cuda
