#include "tests/golden/golden_file.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include <fmt/format.h>

#include "attune/base/file.h"

namespace attune {
namespace {

constexpr size_t kBytesPerLine = 32;

size_t LineOf(std::string_view text, size_t offset) {
  return static_cast<size_t>(std::count(text.begin(), text.begin() + offset, '\n')) + 1;
}

}  // namespace

std::string GoldenText(std::string_view name) {
  auto content = ReadFile(std::filesystem::path(ATTUNE_GOLDEN_DIR) / name);
  EXPECT_TRUE(content.ok()) << content.status().message();
  return content.ok() ? *std::move(content) : std::string();
}

std::vector<std::string> GoldenLines(std::string_view name) {
  const std::string text = GoldenText(name);
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  EXPECT_FALSE(lines.empty()) << name << " is empty.";
  return lines;
}

::testing::AssertionResult IsGolden(std::string_view name, std::string_view written,
                                    std::string_view page) {
  const std::string golden = GoldenText(name);
  if (written == golden) return ::testing::AssertionSuccess();
  const auto [a, b] = std::mismatch(golden.begin(), golden.end(), written.begin(), written.end());
  const auto offset = static_cast<size_t>(a - golden.begin());
  const auto kept = std::filesystem::path(::testing::TempDir()) / name;
  const Status saved = WriteFileAtomically(kept, written);
  return ::testing::AssertionFailure() << fmt::format(
             "What is written now differs from tests/data/golden/{} in line {} (byte {}); it is "
             "in {}{}. If that is on purpose, raise the version in docs/formats/{}, add a golden "
             "file for the new version, and keep this one readable.",
             name, LineOf(golden, offset), offset, kept.string(),
             saved.ok() ? "" : ", had it not failed: " + saved.message(), page);
}

std::string HexText(std::string_view bytes) {
  std::string text;
  for (size_t i = 0; i < bytes.size(); ++i) {
    text += fmt::format("{:02x}", static_cast<unsigned char>(bytes[i]));
    if ((i + 1) % kBytesPerLine == 0 || i + 1 == bytes.size()) text += '\n';
  }
  return text;
}

std::string BytesOfHex(std::string_view text) {
  std::string digits;
  std::copy_if(text.begin(), text.end(), std::back_inserter(digits),
               [](unsigned char c) { return std::isxdigit(c) != 0; });
  std::string bytes;
  for (size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

}  // namespace attune
