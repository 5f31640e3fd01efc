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

// Workspace of all copies of the way `name`, or the reason that there is no such way.
using CopiesBytesOf = std::function<Result<size_t>(const std::string& name)>;

// The wording of refusals: "Copies of <what> '<name>' take ...", and the alternative to use.
struct CopyWords {
  std::string_view what;
  std::string_view instead;
};

// Those of `names` with copies of at most `limit_bytes` in total, in their order. kUnsupported if
// there are none, with the error of the last. REQUIRES: `names` is not empty.
Result<std::vector<std::string>> WaysWithinLimit(const std::vector<std::string>& names,
                                                 const CopiesBytesOf& copies_bytes_of,
                                                 int64_t limit_bytes, const CopyWords& words);

}  // namespace attune::cuda
