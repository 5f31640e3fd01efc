#include "backends/cuda/layout/copy_limit.h"

#include <fmt/format.h>

namespace attune::cuda {

Result<std::vector<std::string>> WaysWithinLimit(const std::vector<std::string>& names,
                                                 const CopiesBytesOf& copies_bytes_of,
                                                 int64_t limit_bytes, const CopyWords& words) {
  Status refusal;
  std::vector<std::string> within;
  for (const std::string& name : names) {
    const Result<size_t> copies_bytes = copies_bytes_of(name);
    if (!copies_bytes.ok()) {
      refusal = Unsupported(copies_bytes.error().message());
    } else if (*copies_bytes > static_cast<size_t>(limit_bytes)) {
      refusal = Unsupported(fmt::format(
          "Copies of {} '{}' take {} bytes, and {} is the most that they may take of the "
          "workspace. {}",
          words.what, name, *copies_bytes, limit_bytes, words.instead));
    } else {
      within.push_back(name);
    }
  }
  if (within.empty()) return refusal;
  return within;
}

}  // namespace attune::cuda
