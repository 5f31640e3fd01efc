#include "extensions/models/replay/recorded_space.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace attune {
namespace {

constexpr std::array<std::string_view, 6> kTrialColumns = {
    "status", "time_ms", "compile_ms", "verification_ms", "benchmark_ms", "framework_ms"};

std::vector<std::string_view> Fields(std::string_view line) {
  std::vector<std::string_view> fields;
  while (true) {
    const size_t comma = line.find(',');
    fields.push_back(line.substr(0, comma));
    if (comma == std::string_view::npos) return fields;
    line.remove_prefix(comma + 1);
  }
}

// Lines without the carriage return of files from Windows.
std::vector<std::string_view> Lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// The range of times: beyond it, sums and shares of times overflow or vanish.
constexpr double kLeastMs = 1e-9;
constexpr double kMostMs = 1e15;

// A number of milliseconds; empty if not recorded.
Result<double> Milliseconds(std::string_view column, std::string_view text) {
  if (text.empty()) return 0.0;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_time = value == 0 || (value >= kLeastMs && value <= kMostMs);
  if (error != std::errc() || end != text.data() + text.size() || !is_time) {
    return InvalidArgument(
        fmt::format("Column '{}' has '{}' where it needs milliseconds.", column, text));
  }
  return value;
}

Result<std::vector<std::string_view>> ParameterNames(std::string_view header) {
  std::vector<std::string_view> columns = Fields(header);
  if (columns.size() <= kTrialColumns.size() ||
      !std::equal(kTrialColumns.begin(), kTrialColumns.end(),
                  columns.end() - kTrialColumns.size())) {
    return InvalidArgument(
        fmt::format("The first line has to name parameters and then the columns {}.",
                    fmt::join(kTrialColumns, ",")));
  }
  columns.resize(columns.size() - kTrialColumns.size());
  for (const std::string_view name : columns) {
    if (!IsParameterName(name)) {
      return InvalidArgument(fmt::format("Column '{}' is no name of a parameter.", name));
    }
  }
  return columns;
}

Result<RecordedTrial> TrialFrom(const std::vector<std::string_view>& fields, size_t first) {
  RecordedTrial trial;
  std::array<double, kTrialColumns.size()> values = {};
  for (size_t i = 1; i < values.size(); ++i) {
    ATTUNE_ASSIGN_OR_RETURN(values[i], Milliseconds(kTrialColumns[i], fields[first + i]));
  }
  if (fields[first] == "ok") {
    if (values[1] <= 0) return InvalidArgument("A config that worked needs a time above 0.");
    trial.time_ms = values[1];
  }
  trial.compile_ms = values[2];
  trial.verification_ms = values[3];
  trial.benchmark_ms = values[4];
  trial.framework_ms = values[5];
  return trial;
}

Result<Config> ConfigFrom(const std::vector<std::string_view>& names,
                          const std::vector<std::string_view>& fields) {
  Config config;
  for (size_t i = 0; i < names.size(); ++i) {
    ParameterValue value = ParseParameterValue(fields[i]);
    if (!IsWellFormed(value)) {
      return InvalidArgument(fmt::format("Column '{}' has '{}', which is no value of a parameter.",
                                         names[i], fields[i]));
    }
    if (!config.emplace(names[i], std::move(value)).second) {
      return InvalidArgument(fmt::format("Column '{}' is there twice.", names[i]));
    }
  }
  return config;
}

}  // namespace

Result<RecordedSpace> ReadRecordedSpace(std::string_view csv) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";  // Files from Windows have it.
  if (csv.starts_with(kByteOrderMark)) csv.remove_prefix(kByteOrderMark.size());
  const std::vector<std::string_view> lines = Lines(csv);
  if (lines.empty())
    return InvalidArgument("A recorded space needs a line that names its columns.");
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<std::string_view> names, ParameterNames(lines[0]));
  RecordedSpace recorded;
  std::vector<Config> configs;
  for (size_t i = 1; i < lines.size(); ++i) {
    if (lines[i].empty()) continue;
    const std::vector<std::string_view> fields = Fields(lines[i]);
    const std::string where = fmt::format("Line {}", i + 1);
    if (fields.size() != names.size() + kTrialColumns.size()) {
      return InvalidArgument(fmt::format("{}: {} fields, where the first line names {}.", where,
                                         fields.size(), names.size() + kTrialColumns.size()));
    }
    auto config = ConfigFrom(names, fields);
    if (!config.ok()) return config.status().WithContext(where);
    configs.push_back(*std::move(config));
    auto trial = TrialFrom(fields, names.size());
    if (!trial.ok()) return trial.status().WithContext(where);
    recorded.trials.push_back(*trial);
  }
  if (std::none_of(recorded.trials.begin(), recorded.trials.end(),
                   [](const RecordedTrial& trial) { return trial.time_ms.has_value(); })) {
    return InvalidArgument("A recorded space needs a config that worked.");
  }
  ATTUNE_ASSIGN_OR_RETURN(recorded.space, ConfigSpace::FromConfigs(configs));
  return recorded;
}

}  // namespace attune
