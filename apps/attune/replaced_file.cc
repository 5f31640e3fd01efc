#include "apps/attune/replaced_file.h"

#include <filesystem>
#include <system_error>

#include <fmt/format.h>

namespace attune {

Status CheckNoInput(const std::string& output, std::span<const std::string> inputs) {
  for (const std::string& input : inputs) {
    // Compares device and inode. A file that does not exist yet is no input.
    std::error_code ignored;
    if (!std::filesystem::equivalent(input, output, ignored)) continue;
    return InvalidArgument(
        fmt::format("'{}' is the same file as '{}', which is read and would be replaced. Name "
                    "another output, and move it over that file when it is what you want.",
                    output, input));
  }
  return Status::Ok();
}

Status CheckTwoFiles(const std::string& output, const std::string& other,
                     const std::string& other_option) {
  if (output.empty() || other.empty() || output == "-") return Status::Ok();
  std::error_code ignored;
  const bool is_same = std::filesystem::path(output).lexically_normal() ==
                           std::filesystem::path(other).lexically_normal() ||
                       std::filesystem::equivalent(output, other, ignored);
  if (!is_same) return Status::Ok();
  return InvalidArgument(fmt::format(
      "-o and {} name one file, '{}', of which only the last would be left.", other_option, other));
}

}  // namespace attune
