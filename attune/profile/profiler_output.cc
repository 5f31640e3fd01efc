#include "attune/profile/profiler_output.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "attune/base/text.h"
#include "attune/base/told_time.h"

namespace attune {
namespace {

constexpr double kNsPerMs = 1e6;
constexpr std::string_view kOp = "OP:";
constexpr std::string_view kTime = "TIME:";
constexpr std::string_view kWorkspace = "WS:";

template <class Number>
std::optional<Number> NumberIn(std::string_view text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r')) text.remove_suffix(1);
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_all = error == std::errc() && end == text.data() + text.size();
  return is_all ? std::optional<Number>(value) : std::nullopt;
}

Status WrongValue(int line, std::string_view field, std::string_view text, std::string_view limit) {
  return InvalidArgument(
      fmt::format("Line {}: {} is '{}', and has to be {}.", line, field, Excerpt(text), limit));
}

// Gathers samples by the name of their operation.
class OpList {
 public:
  Status AddTime(std::string name, std::string_view text, int line) {
    const auto time = NumberIn<double>(text);
    if (!time.has_value() || !CanBeMeasured(*time * kNsPerMs)) {
      return WrongValue(line, "TIME", text, "a number of milliseconds that can be measured");
    }
    const auto [place, is_new] = places_.try_emplace(name, ops_.size());
    if (is_new) {
      ops_.push_back({std::move(name)});
      times_.emplace_back();
    }
    last_ = place->second;
    times_[last_].push_back(*time);
    return Status::Ok();
  }

  // Of the operation whose time was added last.
  Status AddWorkspace(std::string_view text, int line) {
    const auto size_bytes = NumberIn<int64_t>(text);
    if (!size_bytes.has_value() || *size_bytes < 0) {
      return WrongValue(line, "WS", text, "a number of bytes");
    }
    if (ops_.empty()) {
      return InvalidArgument(fmt::format("Line {}: WS stands before any TIME.", line));
    }
    ops_[last_].workspace_bytes = std::max(ops_[last_].workspace_bytes, *size_bytes);
    return Status::Ok();
  }

  std::vector<ProfiledOp> Take() && {
    for (size_t i = 0; i < ops_.size(); ++i) {
      std::vector<double>& times = times_[i];
      const size_t middle = times.size() / 2;
      std::sort(times.begin(), times.end());
      ops_[i].time_ms =
          times.size() % 2 == 1 ? times[middle] : std::midpoint(times[middle - 1], times[middle]);
      ops_[i].samples = static_cast<int>(times.size());
    }
    return std::move(ops_);
  }

 private:
  std::vector<ProfiledOp> ops_;
  std::vector<std::vector<double>> times_;  // Of each of ops_.
  std::map<std::string, size_t> places_;
  size_t last_ = 0;
};

Status ReadLine(std::string_view line, int number, OpList& ops) {
  if (line.starts_with(kTime) && line.find(",WS:") != std::string_view::npos) {
    return InvalidArgument(
        fmt::format("Line {}: '{}' has no OP: it is OP:<name>,TIME:<ms>,WS:<bytes>, or TIME:<ms> "
                    "and WS:<bytes> on lines of their own.",
                    number, Excerpt(line)));
  }
  if (line.starts_with(kTime)) return ops.AddTime("", line.substr(kTime.size()), number);
  if (line.starts_with(kWorkspace)) return ops.AddWorkspace(line.substr(kWorkspace.size()), number);
  if (!line.starts_with(kOp)) return Status::Ok();
  // Names may have commas and colons: the fields are found from the end.
  const size_t workspace = line.rfind(",WS:");
  const size_t time = line.rfind(",TIME:", workspace);
  if (workspace == std::string_view::npos || time == std::string_view::npos) {
    return InvalidArgument(
        fmt::format("Line {}: '{}' is not OP:<name>,TIME:<ms>,WS:<bytes>.", number, Excerpt(line)));
  }
  const size_t time_begin = time + 1 + kTime.size();
  const std::string_view name = line.substr(kOp.size(), time - kOp.size());
  if (name.empty()) return InvalidArgument(fmt::format("Line {}: OP names nothing.", number));
  ATTUNE_RETURN_IF_ERROR(
      ops.AddTime(std::string(name), line.substr(time_begin, workspace - time_begin), number));
  return ops.AddWorkspace(line.substr(workspace + 1 + kWorkspace.size()), number);
}

}  // namespace

Result<std::vector<ProfiledOp>> ParseProfilerOutput(std::string_view text) {
  OpList ops;
  for (int number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    ATTUNE_RETURN_IF_ERROR(ReadLine(text.substr(0, end), number, ops));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return std::move(ops).Take();
}

}  // namespace attune
