#include "attune/model/launch_profile.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <string_view>

namespace attune {
namespace {

// Numbers with 'x' between them at the beginning of `text`, at most three.
std::vector<int64_t> NumbersByX(std::string_view text) {
  std::vector<int64_t> numbers;
  while (numbers.size() < 3) {
    int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || number < 1 || number > 4096) break;
    numbers.push_back(number);
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    if (!text.starts_with('x')) break;
    text.remove_prefix(1);
  }
  return numbers;
}

}  // namespace

double Waves(const KernelLaunch& launch, int64_t multiprocessors) {
  const int64_t resident = std::max<int64_t>(1, launch.blocks_per_multiprocessor) *
                           std::max<int64_t>(1, multiprocessors);
  return static_cast<double>(launch.blocks) / static_cast<double>(resident);
}

TileExtents TileOf(const std::string& signature) {
  constexpr std::string_view kNamed = "tilesize";
  const std::string_view text = signature;
  if (const size_t at = text.find(kNamed); at != text.npos) {
    const std::vector<int64_t> extents = NumbersByX(text.substr(at + kNamed.size()));
    if (extents.size() >= 2) {
      return {extents[0], extents[1], extents.size() > 2 ? extents[2] : 0};
    }
  }
  // The first two numbers of the kind "_128x64"; a stage behind them is "_16x4".
  for (size_t at = text.find('_'); at != text.npos; at = text.find('_', at + 1)) {
    const std::vector<int64_t> extents = NumbersByX(text.substr(at + 1));
    if (extents.size() < 2 || extents[0] < 16 || extents[1] < 16) continue;
    const size_t next = text.find('_', at + 1);
    const std::vector<int64_t> behind =
        next == text.npos ? std::vector<int64_t>() : NumbersByX(text.substr(next + 1));
    return {extents[0], extents[1], behind.size() == 2 ? behind[0] : 0};
  }
  return {};
}

}  // namespace attune
