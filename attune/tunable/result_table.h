// Results in memory, found by problem, by key, or by a wildcard that matches.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "attune/base/status.h"
#include "attune/problem/problem.h"
#include "attune/tunable/result_key.h"
#include "attune/tunable/results_file.h"

namespace attune {

// One result line that holds here.
struct TunableResult {
  ResultLine line;
  // The problem of the line or of its key; for a wildcard, the problem that it was tuned for, if
  // the line has it.
  std::optional<Problem> problem;
  std::optional<WildcardKey> wildcard;
  // Validators of its section; null: this process, or a section without validators.
  std::shared_ptr<const std::vector<Validator>> origin;
  int64_t order = 0;  // Position among all results added: the first of equals wins.
};

// Parses the meaning of a line; the error is the reason why it has none.
Result<TunableResult> MakeTunableResult(ResultLine line);

enum class MatchedBy { kProblem, kKey, kWildcard };
std::string_view Name(MatchedBy matched_by);

struct TableMatch {
  TunableResult result;
  MatchedBy matched_by = MatchedBy::kProblem;
};

// Thread-safe. Its lock is held for steps in memory only, never while a file is read or written.
class ResultTable {
 public:
  static constexpr size_t kMaxResults = size_t{1} << 20;

  // False if there is one of the same names and problem text already, which stays, or if the table
  // is full.
  bool Add(TunableResult result);
  // The same, but the new one replaces the old one.
  void Put(TunableResult result);

  // Every result for `problem`, the preferred one first: those of the problem itself or its key, in
  // order; then wildcards, the most specific first, of these the one that was tuned for the nearest
  // sizes, then in order.
  std::vector<TableMatch> Matching(const Problem& problem, bool with_wildcards) const;

  // Keeps why a result of a file does not hold here, of so many at most; of wildcards nothing is
  // kept.
  void Reject(const TunableResult& result, const std::string& reason);
  static constexpr size_t kMaxRejected = size_t{1} << 14;
  // Why results that would stand for `problem` were rejected: a sentence for each.
  std::vector<std::string> Rejections(const Problem& problem) const;

  bool Has(const TunableOpKey& names, const std::string& problem_text) const;
  // In order.
  std::vector<TunableResult> All() const;
  size_t size() const;
  void Clear();
  // Rises whenever an answer may have changed.
  uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

 private:
  void Index(size_t position);

  mutable std::shared_mutex mutex_;  // Guards everything below but generation_.
  std::vector<TunableResult> results_;
  std::unordered_map<std::string, size_t> by_identity_;
  std::unordered_map<std::string, std::vector<size_t>> by_problem_;
  std::unordered_map<std::string, std::vector<size_t>> by_key_;
  std::unordered_map<std::string, std::vector<size_t>> wildcards_by_op_;
  struct Rejection {
    std::string problem_text;  // Empty: every problem of its key.
    std::string reason;

    friend bool operator==(const Rejection&, const Rejection&) = default;
  };
  std::unordered_map<std::string, std::vector<Rejection>> rejected_by_key_;
  size_t rejected_count_ = 0;
  std::atomic<uint64_t> generation_ = 1;
};

}  // namespace attune
