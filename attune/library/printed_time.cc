#include "attune/library/printed_time.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

#include "attune/base/text.h"
#include "attune/base/told_time.h"

namespace attune {
namespace {

using Pairs = std::map<std::string_view, std::string_view>;

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const size_t begin = std::min(text.find_first_not_of(kBlanks), text.size());
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

// The pairs of a line; parts without an assignment are ignored. kInvalidArgument for a repeated
// key.
Result<Pairs> PairsOf(const PrintedFormat& format, std::string_view line) {
  Pairs pairs;
  while (!line.empty()) {
    const size_t end = std::min(line.find(format.separator), line.size());
    const std::string_view part = line.substr(0, end);
    line.remove_prefix(std::min(end + 1, line.size()));
    const size_t assign = part.find(format.assign);
    if (assign == std::string_view::npos) continue;
    const std::string_view key = Trimmed(part.substr(0, assign));
    if (!pairs.emplace(key, Trimmed(part.substr(assign + 1))).second) {
      return InvalidArgument(fmt::format("'{}' comes twice", Excerpt(key)));
    }
  }
  return pairs;
}

template <class T>
bool ReadNumber(std::string_view text, T& number) {
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && rest == text.data() + text.size();
}

bool Counts(const PrintedFormat& format, const Pairs& pairs) {
  if (!pairs.contains(format.time)) return false;
  return std::all_of(format.only.begin(), format.only.end(), [&](const auto& wanted) {
    const auto found = pairs.find(wanted.first);
    return found != pairs.end() && found->second == wanted.second;
  });
}

Result<LibraryTime> TimeOf(const PrintedFormat& format, const Pairs& pairs) {
  LibraryTime result;
  const std::string_view told = pairs.at(format.time);
  double time = 0;
  if (ReadNumber(told, time)) result.time_ns = time * format.unit_ns;
  if (!CanBeMeasured(result.time_ns)) {
    return InvalidArgument(
        fmt::format("{} is '{}', which is no time that can be measured, so nothing was "
                    "measured",
                    format.time, Excerpt(told)));
  }
  const auto workspace =
      format.workspace.empty() ? pairs.end() : pairs.find(std::string_view(format.workspace));
  if (workspace == pairs.end()) return result;
  if (!ReadNumber(workspace->second, result.workspace_bytes) || result.workspace_bytes < 0) {
    return InvalidArgument(fmt::format("{} is '{}', which is no number of bytes", format.workspace,
                                       Excerpt(workspace->second)));
  }
  return result;
}

double MedianOf(std::vector<double>& times) {
  const auto middle = times.begin() + std::ssize(times) / 2;
  std::nth_element(times.begin(), middle, times.end());
  if (times.size() % 2 == 1) return *middle;
  return (*std::max_element(times.begin(), middle) + *middle) / 2;
}

}  // namespace

double UnitNs(std::string_view unit) {
  if (unit == "ns") return 1;
  if (unit == "us") return 1e3;
  if (unit == "ms") return 1e6;
  return unit == "s" ? 1e9 : 0;
}

Result<LibraryTime> ParsePrintedTime(const PrintedFormat& format, std::string_view text) {
  std::vector<double> times;
  LibraryTime result;
  for (int line = 1; !text.empty(); ++line) {
    const size_t end = std::min(text.find('\n'), text.size());
    const auto at_line = [line](const Status& status) {
      return Status(status.code(), fmt::format("Line {}: {}.", line, status.message()));
    };
    const auto pairs = PairsOf(format, text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    // A line without a time may have any content.
    if (!pairs.ok()) {
      const std::string_view said = pairs.error().message();
      if (said.find("'" + format.time + "'") != std::string_view::npos) {
        return at_line(pairs.error());
      }
      continue;
    }
    if (!Counts(format, *pairs)) continue;
    const auto time = TimeOf(format, *pairs);
    if (!time.ok()) return at_line(time.error());
    times.push_back(time->time_ns);
    result.workspace_bytes = std::max(result.workspace_bytes, time->workspace_bytes);
  }
  if (times.empty()) {
    return NotFound(fmt::format("It printed no line with {}{}.", format.time, format.assign));
  }
  result.time_ns = MedianOf(times);
  return result;
}

}  // namespace attune
