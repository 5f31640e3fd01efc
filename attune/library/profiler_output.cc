#include "attune/library/profiler_output.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>
#include <optional>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "attune/base/text.h"
#include "attune/base/told_time.h"

namespace attune {
namespace {

constexpr double kNsPerMs = 1e6;
constexpr std::string_view kMarkers[] = {"OP:", "KERNEL:"};
constexpr std::string_view kTime = "TIME:";
constexpr std::string_view kWorkspace = "WS:";
constexpr std::string_view kSpaces = " \t";

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool IsWord(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

std::string_view WordAt(std::string_view text, size_t at) {
  size_t end = at;
  while (end < text.size() && IsWord(text[end])) ++end;
  return text.substr(at, end - at);
}

size_t SkipBlanks(std::string_view text, size_t at) {
  return std::min(text.find_first_not_of(kSpaces, at), text.size());
}

// RUNTIME: holds TIME:, and is another word.
bool BeginsWord(std::string_view text, size_t at) { return at == 0 || !IsWord(text[at - 1]); }

// Where `marker` is a word of its own, from `at` on.
size_t FindWord(std::string_view text, std::string_view marker, size_t at) {
  at = text.find(marker, at);
  while (at != std::string_view::npos && !BeginsWord(text, at)) at = text.find(marker, at + 1);
  return at;
}

bool BeginsField(std::string_view text) {
  return text.starts_with(kTime) || text.starts_with(kWorkspace) ||
         std::any_of(std::begin(kMarkers), std::end(kMarkers),
                     [text](std::string_view marker) { return text.starts_with(marker); });
}

// The text without colours and other sequences that begin with ESC.
std::string WithoutEscapes(std::string_view line) {
  std::string shown;
  for (size_t at = 0; at < line.size(); ++at) {
    if (line[at] != '\x1b' || at + 1 == line.size()) {
      shown += line[at];
      continue;
    }
    const char kind = line[++at];
    if (kind == '[') {  // Parameters up to a final byte.
      while (at + 1 < line.size() && (line[at + 1] < '@' || line[at + 1] > '~')) ++at;
      ++at;
    } else if (kind == ']') {  // A text up to BEL or ESC \.
      while (at + 1 < line.size() && line[at + 1] != '\a' && line[at + 1] != '\x1b') ++at;
      at += at + 1 < line.size() && line[at + 1] == '\x1b' ? 2 : 1;
    }
  }
  return shown;
}

// A line of the output, for messages.
struct Line {
  std::string_view text;
  int number = 1;

  Status WrongValue(size_t at, std::string_view field, std::string_view limit) const {
    const size_t begin = SkipBlanks(text, at);
    size_t end = text.size();
    for (const std::string_view next : {",TIME:", ",WS:", " OP:", " KERNEL:"}) {
      end = std::min(end, text.find(next, begin));
    }
    return InvalidArgument(fmt::format("Line {}: {} is '{}' at column {}, and has to be {}.",
                                       number, field, Excerpt(text.substr(begin, end - begin)),
                                       begin + 1, limit));
  }
};

// The number at `at`, which goes behind it and the unit of attune: no part of another number or
// word, such as 1,5 or 1.5us, which mean something else.
template <class Number>
std::optional<Number> TakeNumber(std::string_view text, size_t& at, std::string_view unit) {
  const size_t begin = SkipBlanks(text, at);
  Number value{};
  const auto [end, error] = std::from_chars(text.data() + begin, text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  at = static_cast<size_t>(end - text.data());
  const size_t word_begin = SkipBlanks(text, at);
  const std::string_view word = WordAt(text, word_begin);
  if (word == unit) {
    at = word_begin + word.size();
    return value;
  }
  constexpr std::string_view kOtherUnits[] = {"s",  "sec", "seconds", "us", "usec",
                                              "ns", "KB",  "KiB",     "MB", "MiB"};
  const bool is_other =
      std::find(std::begin(kOtherUnits), std::end(kOtherUnits), word) != std::end(kOtherUnits);
  const std::string_view rest = text.substr(at);
  // A point behind a whole number ends a sentence.
  const bool ends_sentence =
      std::is_integral_v<Number> && rest.starts_with('.') && (rest.size() == 1 || !IsWord(rest[1]));
  const bool is_part =
      !rest.empty() && (IsWord(rest[0]) || rest[0] == '.') && !ends_sentence && !BeginsField(rest);
  const bool has_comma = at + 1 < text.size() && text[at] == ',' && IsDigit(text[at + 1]);
  if (is_other || is_part || has_comma) return std::nullopt;
  return value;
}

// True if the number that ends at `at` is followed by another number and nothing else: 1 2 is no
// time.
bool IsFollowedByNumber(std::string_view text, size_t at) {
  const size_t begin = SkipBlanks(text, at);
  const size_t end = std::min(text.find_first_not_of("0123456789.", begin), text.size());
  const size_t rest = SkipBlanks(text, end);
  return begin > at && end > begin && (rest == text.size() || text[rest] == ',');
}

Result<double> TakeTime(const Line& line, size_t& at) {
  const size_t begin = at;
  const auto time = TakeNumber<double>(line.text, at, "ms");
  const bool has_unit = line.text.substr(0, at).ends_with("ms");
  const bool is_alone = has_unit || !IsFollowedByNumber(line.text, at);
  if (time.has_value() && is_alone && CanBeMeasured(*time * kNsPerMs)) return *time;
  return line.WrongValue(begin, "TIME", "a number of milliseconds that can be measured");
}

Result<int64_t> TakeWorkspace(const Line& line, size_t& at) {
  const size_t begin = at;
  const auto size_bytes = TakeNumber<int64_t>(line.text, at, "B");
  if (size_bytes.has_value() && *size_bytes >= 0) return *size_bytes;
  return line.WrongValue(begin, "WS", "a number of bytes");
}

// The fields of one operation, in either order.
struct Fields {
  std::optional<double> time_ms;
  std::optional<int64_t> workspace_bytes;
  size_t end = 0;  // Behind the last one.
};

Result<Fields> TakeFields(const Line& line, size_t at) {
  Fields fields;
  fields.end = at;
  while (true) {
    at = std::min(line.text.find_first_not_of(" \t,;", at), line.text.size());
    const std::string_view rest = line.text.substr(at);
    if (!fields.time_ms.has_value() && rest.starts_with(kTime)) {
      at += kTime.size();
      ATTUNE_ASSIGN_OR_RETURN(fields.time_ms, TakeTime(line, at));
    } else if (!fields.workspace_bytes.has_value() && rest.starts_with(kWorkspace)) {
      at += kWorkspace.size();
      ATTUNE_ASSIGN_OR_RETURN(fields.workspace_bytes, TakeWorkspace(line, at));
    } else {
      return fields;
    }
    fields.end = at;
  }
}

// Gathers samples by the name of their operation.
class OpList {
 public:
  void AddTime(const std::string& name, double time_ms) {
    const auto [place, is_new] = places_.try_emplace(name, ops_.size());
    if (is_new) {
      ops_.push_back({name});
      times_.emplace_back();
    }
    last_ = place->second;
    times_[last_].push_back(time_ms);
    AddWorkspace(std::exchange(waiting_bytes_, 0));
  }

  // Belongs to the operation of the last added time; without one to the next operation.
  void AddWorkspace(int64_t size_bytes) {
    int64_t& bytes = ops_.empty() ? waiting_bytes_ : ops_[last_].workspace_bytes;
    bytes = std::max(bytes, size_bytes);
  }

  bool empty() const { return ops_.empty(); }

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
  std::vector<std::vector<double>> times_;  // For each of ops_.
  std::map<std::string, size_t> places_;
  size_t last_ = 0;
  int64_t waiting_bytes_ = 0;
};

// Reads lines one after another. A time without a name counts only if there are no names at all:
// beside names, it is the time of something else.
class OutputReader {
 public:
  Status Read(const Line& line) {
    size_t at = 0;
    while (true) {
      const Marker marker = NextMarker(line.text, at);
      ReadUnnamed({line.text.substr(0, marker.begin), line.number}, at);
      if (marker.begin == line.text.size()) return Status::Ok();
      const Line before{line.text.substr(0, marker.begin), line.number};
      ATTUNE_ASSIGN_OR_RETURN(at, ReadOp(line, marker, WorkspaceAtEnd(before, at)));
    }
  }

  Result<std::vector<ProfiledOp>> Take() && {
    ATTUNE_RETURN_IF_ERROR(CheckHasWorkspace());
    if (!named_.empty()) return std::move(named_).Take();
    ATTUNE_RETURN_IF_ERROR(unnamed_fault_);
    if (unnamed_.empty() && inner_time_ms_.has_value() && lone_workspace_ != 0) {
      unnamed_.AddTime("", *inner_time_ms_);
    }
    if (unnamed_.empty() && lone_workspace_ != 0) {
      return InvalidArgument(fmt::format("Line {}: WS stands before any TIME.", lone_workspace_));
    }
    return std::move(unnamed_).Take();
  }

 private:
  // OP: or KERNEL: in a line; at its end if there is none.
  struct Marker {
    size_t begin = 0;
    size_t name_begin = 0;
  };

  // A word of its own, or the markers that AITemplate's runner finds inside another word: a name of
  // letters, digits and underscores with its time.
  static Marker NextMarker(std::string_view line, size_t from) {
    Marker next{line.size(), line.size()};
    for (const std::string_view marker : kMarkers) {
      for (size_t at = line.find(marker, from); at < next.begin; at = line.find(marker, at + 1)) {
        const size_t name = at + marker.size();
        const size_t name_end = name + WordAt(line, name).size();
        const bool has_time = name_end > name && line.substr(name_end).starts_with(",TIME:");
        if (BeginsWord(line, at) || has_time) next = {at, name};
      }
    }
    return next;
  }

  Status CheckHasWorkspace() const {
    if (lacks_workspace_ == 0) return Status::Ok();
    return InvalidArgument(
        fmt::format("Line {}: an operation has no WS: it is OP:<name>,TIME:<ms>,WS:<bytes>.",
                    lacks_workspace_));
  }

  // The workspace with which `line` ends, looked for from `from` on.
  static std::optional<int64_t> WorkspaceAtEnd(const Line& line, size_t from) {
    size_t at = FindWord(line.text, kWorkspace, from);
    if (at >= line.text.size()) return std::nullopt;
    at += kWorkspace.size();
    const auto size_bytes = TakeWorkspace(line, at);
    const bool is_at_end = line.text.find_first_not_of(" \t,;", at) == std::string_view::npos;
    return size_bytes.ok() && is_at_end ? std::optional<int64_t>(*size_bytes) : std::nullopt;
  }

  // Returns where the operation ends. Text without a time is no operation. `before` is a workspace
  // just before it, for an operation that has none of its own.
  Result<size_t> ReadOp(const Line& line, const Marker& marker, std::optional<int64_t> before) {
    size_t end = line.text.size();
    for (const std::string_view other : kMarkers) {
      end = std::min(end, FindWord(line.text, other, marker.name_begin));
    }
    const Line op{line.text.substr(0, end), line.number};
    const size_t name_end = EndOfName(op.text, marker.name_begin);
    ATTUNE_ASSIGN_OR_RETURN(const Fields fields, TakeFields(op, name_end));
    if (!fields.time_ms.has_value()) return marker.name_begin;
    const size_t name_begin = SkipBlanks(op.text, marker.name_begin);
    if (name_end <= name_begin) {
      return InvalidArgument(fmt::format("Line {}: OP names nothing.", line.number));
    }
    ATTUNE_RETURN_IF_ERROR(CheckHasWorkspace());
    named_.AddTime(std::string(op.text.substr(name_begin, name_end - name_begin)), *fields.time_ms);
    const std::optional<int64_t> workspace =
        fields.workspace_bytes.has_value() ? fields.workspace_bytes : before;
    lacks_workspace_ = workspace.has_value() ? 0 : line.number;
    named_.AddWorkspace(workspace.value_or(0));
    return fields.end;
  }

  // A name may have commas and colons: unless it is a word, its fields are the last ones.
  static size_t EndOfName(std::string_view op, size_t begin) {
    const size_t word_begin = SkipBlanks(op, begin);
    const size_t word_end = word_begin + WordAt(op, word_begin).size();
    const size_t next = std::min(op.find_first_not_of(" \t,;", word_end), op.size());
    const bool has_field =
        op.substr(next).starts_with(kTime) || op.substr(next).starts_with(kWorkspace);
    if (has_field) return word_end;
    const auto last = [op, begin](std::string_view field) {
      const size_t at = op.rfind(field);
      return at != std::string_view::npos && at >= begin ? at : op.size();
    };
    return std::min(last(",TIME:"), last(",WS:"));
  }

  // Times and workspaces of the line from `at` on, which no operation has.
  void ReadUnnamed(const Line& line, size_t at) {
    NoteInnerTime(line, at);
    while (at < line.text.size()) {
      // A field may follow the number before it without a space.
      const std::string_view rest = line.text.substr(at);
      const size_t time = FindWord(rest, kTime, 0);
      const size_t workspace = FindWord(rest, kWorkspace, 0);
      if (std::min(time, workspace) == std::string_view::npos) return;
      const bool is_time = time < workspace;
      at += is_time ? time + kTime.size() : workspace + kWorkspace.size();
      const Status status = is_time ? AddTime(line, at) : AddWorkspace(line, at);
      if (!status.ok() && unnamed_fault_.ok()) unnamed_fault_ = status;
    }
  }

  Status AddTime(const Line& line, size_t& at) {
    ATTUNE_ASSIGN_OR_RETURN(const double time_ms, TakeTime(line, at));
    unnamed_.AddTime("", time_ms);
    return Status::Ok();
  }

  Status AddWorkspace(const Line& line, size_t& at) {
    const bool begins_line = SkipBlanks(line.text, 0) + kWorkspace.size() == at;
    ATTUNE_ASSIGN_OR_RETURN(const int64_t size_bytes, TakeWorkspace(line, at));
    if (lone_workspace_ == 0) lone_workspace_ = line.number;
    unnamed_.AddWorkspace(size_bytes);
    if (named_.empty() || !begins_line) return Status::Ok();
    named_.AddWorkspace(size_bytes);
    lacks_workspace_ = 0;
    return Status::Ok();
  }

  // The first TIME: inside of another word, as in RUNTIME:, which AITemplate's runner takes, too.
  void NoteInnerTime(const Line& line, size_t from) {
    size_t at = line.text.find(kTime, from);
    if (inner_time_ms_.has_value() || at == std::string_view::npos) return;
    at += kTime.size();
    if (const auto time = TakeTime(line, at); time.ok()) inner_time_ms_ = *time;
  }

  OpList named_;
  OpList unnamed_;
  std::optional<double> inner_time_ms_;
  Status unnamed_fault_;
  int lone_workspace_ = 0;   // The line of the first one without a name, 0 if there is none.
  int lacks_workspace_ = 0;  // The line of a named operation that waits for one.
};

}  // namespace

Result<std::vector<ProfiledOp>> ParseProfilerOutput(std::string_view text) {
  OutputReader reader;
  for (int number = 1; !text.empty(); ++number) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    while (true) {  // A carriage return begins a line that a terminal shows in place of this one.
      const size_t end = std::min(line.find('\r'), line.size());
      ATTUNE_RETURN_IF_ERROR(reader.Read({WithoutEscapes(line.substr(0, end)), number}));
      if (end == line.size()) break;
      line.remove_prefix(end + 1);
    }
  }
  return std::move(reader).Take();
}

}  // namespace attune
