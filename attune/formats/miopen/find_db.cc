#include "attune/formats/miopen/find_db.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "attune/formats/miopen/conv_keys.h"
#include "attune/formats/miopen/solver_catalogue.h"
#include "attune/formats/miopen/text_db.h"
#include "attune/problem/problem.h"

namespace attune::miopen {
namespace {

constexpr std::string_view kNoCacheKey = "<unused>";

// The next field before a comma, which is passed.
std::string_view NextField(std::string_view& rest) {
  const size_t end = std::min(rest.find(','), rest.size());
  const std::string_view field = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return field;
}

// Parses all of `text`; nothing if it is no such number.
template <class Number>
std::optional<Number> NumberOf(std::string_view text) {
  Number value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

// Bounds far beyond any device (docs/formats/miopen.md): a kernel that only waits for its first
// word from memory takes longer than the one, and the other is forty times the half-precision rate
// of the fastest GPU. MIOpen keeps times as floats.
constexpr double kLeastMs = 1e-4;
constexpr double kMostFlopsPerMs = 1e14;
constexpr double kMostMs = std::numeric_limits<float>::max();

// Why no device can do `flops` in that time; empty if one can.
std::string WhyImpossible(std::string_view time, std::optional<double> value, double flops) {
  if (!value.has_value()) return fmt::format("{} is no number", Quoted(time));
  if (*value == 0) return fmt::format("{} ms is zero", time);
  if (*value < 0) return fmt::format("{} ms is negative", time);
  if (!(*value <= kMostMs)) return fmt::format("{} ms is not finite", time);
  if (*value < kLeastMs) {
    return fmt::format("{} ms is less than the {} ms that no kernel can do with", time, kLeastMs);
  }
  if (flops <= kMostFlopsPerMs * *value) return "";
  constexpr double kPetaflopsPerMs = 1e12;
  return fmt::format("{} ms would be {:.0f} PFLOP/s, and no GPU does more than {:.0f}", time,
                     flops / *value / kPetaflopsPerMs, kMostFlopsPerMs / kPetaflopsPerMs);
}

class FindDbReader {
 public:
  explicit FindDbReader(Findings& findings) : findings_(findings), keys_(findings) {}

  void Add(const TextRecord& text) {
    keys_.CheckOrder(text);
    const auto key = ReadFindKey(text.key);
    if (!key) return BadKey(text, ToStatus(key.error()).message());
    if (Text(*key) != text.key) {
      return BadKey(text, fmt::format("MIOpen spells it '{}'", Text(*key)));
    }
    if (!keys_.IsNew(text)) return;
    const auto problem = ProblemOf(*key);
    if (problem.status().code() == StatusCode::kInvalidArgument) {
      findings_.Add(FindingKind::kImpossibleProblem, text.line,
                    fmt::format("Key '{}': {}", text.key, problem.error().message()));
    }
    flops_ = problem.ok() ? Flops(*problem) : 0;
    FindRecord record{std::string(text.key), {}, text.line};
    for (const TextItem& item : text.items) AddItem(item, *key, record);
    CheckItemOrder(record);
    if (!record.items.empty()) db_.records.push_back(std::move(record));
  }

  FindDb Finish() { return std::move(db_); }

 private:
  void BadKey(const TextRecord& text, std::string_view why) {
    findings_.Add(FindingKind::kBadKey, text.line,
                  fmt::format("Key {}: {}", Quoted(text.key), why));
  }

  void AddItem(const TextItem& text, const FindKey& key, FindRecord& record) {
    FindItem item;
    std::string_view values = text.values;
    const bool is_old = ParseAlgorithm(text.id).has_value();
    item.generation = is_old ? Generation::kAlgorithms : Generation::kSolvers;
    const auto fields = 1 + std::count(values.begin(), values.end(), ',');
    const auto needed = is_old ? 5 : 3;
    if (fields < needed) {
      findings_.Add(FindingKind::kBadItem, record.line,
                    fmt::format("Item {} has {} of {} fields.", Quoted(text.id), fields, needed));
      return;
    }
    item.solver = is_old ? NextField(values) : text.id;
    // In the other generation the solver stands before a colon.
    if (item.solver.empty() || item.solver.find_first_of(":=") != std::string::npos) {
      findings_.Add(
          FindingKind::kBadItem, record.line,
          fmt::format("Item {} names no solver: {}.", Quoted(text.id), Quoted(item.solver)));
      return;
    }
    item.time = NextField(values);
    const std::string_view workspace = NextField(values);
    if (is_old) {
      item.algorithm = text.id;
      item.cache_algorithm = NextField(values);
      item.cache_key = values;
    } else {
      // With any further fields, which make it no algorithm.
      item.algorithm = values;
    }
    if (CheckItem(item, workspace, record)) Keep(std::move(item), key, record);
  }

  // Reads both numbers.
  bool CheckItem(FindItem& item, std::string_view workspace, const FindRecord& record) {
    const auto time = NumberOf<double>(item.time);
    if (const std::string why = WhyImpossible(item.time, time, flops_); !why.empty()) {
      findings_.Add(FindingKind::kImpossibleTime, record.line,
                    fmt::format("{} of '{}': {}.", Quoted(item.solver), record.key, why));
      return false;
    }
    const auto bytes = NumberOf<int64_t>(workspace);
    // Another spelling would be written back as another text.
    if (!bytes.has_value() || *bytes < 0 || fmt::format("{}", *bytes) != workspace) {
      findings_.Add(FindingKind::kBadWorkspace, record.line,
                    fmt::format("{} of '{}': {} is no number of bytes.", Quoted(item.solver),
                                record.key, Quoted(workspace)));
      return false;
    }
    item.time_ms = *time;
    item.workspace_bytes = *bytes;
    return true;
  }

  void Keep(FindItem item, const FindKey& key, FindRecord& record) {
    // The items that MIOpen takes for the same: by the word before the colon, and after reading it,
    // by the solver.
    const auto first =
        std::find_if(record.items.begin(), record.items.end(), [&item](const FindItem& other) {
          const bool are_old = item.generation == Generation::kAlgorithms &&
                               other.generation == Generation::kAlgorithms;
          return other.solver == item.solver || (are_old && other.algorithm == item.algorithm);
        });
    if (first != record.items.end()) {
      const bool is_solver = first->solver == item.solver;
      findings_.Add(FindingKind::kDuplicateSolver, record.line,
                    fmt::format("{} is in '{}' before.",
                                Quoted(is_solver ? item.solver : item.algorithm), record.key));
      return;
    }
    CheckNames(item, key, record);
    record.items.push_back(std::move(item));
  }

  void CheckNames(const FindItem& item, const FindKey& key, const FindRecord& record) {
    CheckSolver(item.solver, record.line, fmt::format("of '{}'", record.key), findings_);
    const auto algorithm = ParseAlgorithm(item.algorithm);
    if (algorithm.has_value() && algorithm->direction == key.direction) return;
    findings_.Add(
        FindingKind::kWrongAlgorithm, record.line,
        fmt::format("{} of {} in '{}'.", Quoted(item.algorithm), Quoted(item.solver), record.key));
  }

  void CheckItemOrder(const FindRecord& record) {
    const bool is_sorted =
        std::is_sorted(record.items.begin(), record.items.end(),
                       [](const FindItem& a, const FindItem& b) { return a.time_ms < b.time_ms; });
    if (is_sorted) return;
    findings_.Add(FindingKind::kUnsortedItems, record.line, fmt::format("'{}'.", record.key));
  }

  Findings& findings_;
  FindDb db_;
  KeyWatch keys_;
  double flops_ = 0;  // For the problem of the record; 0 if its key means none.
};

void SortByTime(std::vector<FindItem>& items) {
  std::stable_sort(items.begin(), items.end(),
                   [](const FindItem& a, const FindItem& b) { return a.time_ms < b.time_ms; });
}

// Moves items that MIOpen passes over behind the others, and keeps the order in both groups.
void AnswersFirst(const std::string& key, std::vector<FindItem>& items) {
  const auto read = ReadFindKey(key);
  if (!read) return;
  std::stable_partition(items.begin(), items.end(), [&](const FindItem& item) {
    return WhyPassedOver(item, read->direction).empty();
  });
}

void AppendItem(const FindItem& item, std::string& text) {
  if (item.generation == Generation::kSolvers) {
    fmt::format_to(std::back_inserter(text), "{}:{},{},{}", item.solver, item.time,
                   item.workspace_bytes, item.algorithm);
    return;
  }
  fmt::format_to(std::back_inserter(text), "{}:{},{},{},{},{}", item.algorithm, item.solver,
                 item.time, item.workspace_bytes, item.cache_algorithm, item.cache_key);
}

// Into an item of the other generation.
void Turn(FindItem& item) {
  const auto algorithm = ParseAlgorithm(item.algorithm);
  // Without an algorithm, the word before the colon would be read as a solver.
  if (!algorithm.has_value()) return;
  if (item.generation == Generation::kAlgorithms) {
    item.generation = Generation::kSolvers;
    // The historic name means nothing to a MIOpen that reads this generation.
    item.algorithm = AlgorithmName(algorithm->direction, algorithm->algorithm);
    item.cache_algorithm.clear();
    item.cache_key.clear();
    return;
  }
  item.generation = Generation::kAlgorithms;
  item.cache_algorithm = item.algorithm;
  item.cache_key = kNoCacheKey;
}

}  // namespace

FindDb ReadFindDb(std::string_view content, Findings& findings) {
  FindDbReader reader(findings);
  ReadTextDb(content, findings, [&reader](const TextRecord& record) { reader.Add(record); });
  return reader.Finish();
}

std::string WhyPassedOver(const FindItem& item, Direction direction) {
  const SolverFacts* const solver = FindSolver(item.solver);
  if (solver == nullptr) return "MIOpen never had it for convolutions";
  if (solver->is_removed) return "MIOpen has it no more";
  const auto algorithm = ParseAlgorithm(item.algorithm);
  if (algorithm.has_value() && algorithm->direction == direction) return "";
  return fmt::format("{} is no algorithm of this direction", Quoted(item.algorithm));
}

const FindItem* QuickestAnswer(const FindRecord& record) {
  const auto key = ReadFindKey(record.key);
  if (!key) return nullptr;
  const FindItem* quickest = nullptr;
  for (const FindItem& item : record.items) {
    const bool is_quicker = quickest == nullptr || item.time_ms < quickest->time_ms;
    if (is_quicker && WhyPassedOver(item, key->direction).empty()) quickest = &item;
  }
  return quickest;
}

FindRecord Converted(const FindRecord& record, Generation generation) {
  FindRecord converted{record.key, {}, record.line};
  std::vector<FindItem> items = record.items;
  SortByTime(items);
  if (generation == Generation::kAlgorithms) AnswersFirst(record.key, items);
  for (FindItem& item : items) {
    const bool is_beaten =
        std::any_of(converted.items.begin(), converted.items.end(), [&](const FindItem& quicker) {
          return generation == Generation::kSolvers ? quicker.solver == item.solver
                                                    : quicker.algorithm == item.algorithm;
        });
    if (is_beaten) continue;
    if (item.generation != generation) Turn(item);
    converted.items.push_back(std::move(item));
  }
  SortByTime(converted.items);
  return converted;
}

void AppendText(const FindRecord& record, std::string& text) {
  std::vector<FindItem> items = record.items;
  SortByTime(items);
  text += record.key;
  for (size_t i = 0; i < items.size(); ++i) {
    text += i == 0 ? '=' : ';';
    AppendItem(items[i], text);
  }
  text += '\n';
}

std::string Text(const FindDb& db) {
  std::vector<const FindRecord*> sorted;
  sorted.reserve(db.records.size());
  for (const FindRecord& record : db.records) sorted.push_back(&record);
  std::sort(sorted.begin(), sorted.end(),
            [](const FindRecord* a, const FindRecord* b) { return a->key < b->key; });
  std::string text;
  for (const FindRecord* const record : sorted) AppendText(*record, text);
  return text;
}

}  // namespace attune::miopen
