#include "attune/tunable/result_table.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "attune/ops/gemm/gemm.h"
#include "attune/problem/text_error.h"

namespace attune {
namespace {

std::string Joined(const TunableOpKey& names) {
  return fmt::format("{},{}", names.op, names.params);
}

std::string Identity(const TunableOpKey& names, const std::string& problem_text) {
  return fmt::format("{},{},{}", names.op, names.params, problem_text);
}

double Octaves(int64_t a, int64_t b) {
  return std::abs(std::log2(static_cast<double>(a)) - std::log2(static_cast<double>(b)));
}

// How far the problem that a wildcard was tuned for is from `gemm`; far if it does not say.
double DistanceTo(const TunableResult& result, const Gemm& gemm) {
  constexpr double kUnknown = 1e9;
  const Gemm* const tuned = result.problem ? result.problem->As<Gemm>() : nullptr;
  if (tuned == nullptr) return kUnknown;
  return Octaves(tuned->m, gemm.m) + Octaves(tuned->n, gemm.n) + Octaves(tuned->k, gemm.k) +
         Octaves(tuned->batch_count, gemm.batch_count);
}

bool WildcardServes(const TunableResult& result, const Gemm& gemm) {
  if (!Matches(*result.wildcard, gemm)) return false;
  // A result that names its problem also serves other sizes of it; one of TunableOp's own files
  // serves every problem with its key.
  const Gemm* const tuned = result.problem ? result.problem->As<Gemm>() : nullptr;
  return tuned == nullptr || DifferInSizesOnly(*tuned, gemm);
}

bool IsPreferred(const TunableResult& a, const TunableResult& b, const Gemm& gemm) {
  if (IsMoreSpecific(*a.wildcard, *b.wildcard)) return true;
  if (IsMoreSpecific(*b.wildcard, *a.wildcard)) return false;
  const double distance_a = DistanceTo(a, gemm);
  const double distance_b = DistanceTo(b, gemm);
  return distance_a != distance_b ? distance_a < distance_b : a.order < b.order;
}

Result<TunableResult> MakeWildcard(TunableResult result) {
  ATTUNE_ASSIGN_OR_RETURN(result.wildcard, ParseWildcard(result.line.key));
  if (result.line.problem_text.empty()) return result;
  ATTUNE_ASSIGN_OR_RETURN(result.problem, ParseProblem(result.line.problem_text));
  const Gemm* const gemm = result.problem->As<Gemm>();
  if (gemm == nullptr || !Matches(*result.wildcard, *gemm)) {
    return InvalidArgument(fmt::format("The problem {} does not match the wildcard {}.",
                                       Quoted(result.line.problem_text),
                                       Quoted(result.line.key.params)));
  }
  return result;
}

}  // namespace

std::string_view Name(MatchedBy matched_by) {
  switch (matched_by) {
    case MatchedBy::kProblem:
      return "problem";
    case MatchedBy::kKey:
      return "key";
    case MatchedBy::kWildcard:
      return "wildcard";
  }
  return "";
}

Result<TunableResult> MakeTunableResult(ResultLine line) {
  TunableResult result;
  result.line = std::move(line);
  if (IsTunableOpLine(result.line.key.op) && IsWildcard(result.line.key.params)) {
    return MakeWildcard(std::move(result));
  }
  auto of_key = ProblemOfNames(result.line.key);
  if (!of_key) return ToStatus(of_key.error());
  result.problem = *std::move(of_key);
  if (result.line.problem_text.empty()) return result;
  ATTUNE_ASSIGN_OR_RETURN(Problem exact, ParseProblem(result.line.problem_text));
  if (NamesOf(exact) != NamesOf(*result.problem)) {
    return InvalidArgument(fmt::format("The problem {} contradicts the key {}.",
                                       Quoted(result.line.problem_text),
                                       Quoted(Joined(result.line.key))));
  }
  result.problem = std::move(exact);
  return result;
}

void ResultTable::Index(size_t position) {
  const TunableResult& result = results_[position];
  by_identity_.emplace(Identity(result.line.key, result.line.problem_text), position);
  if (result.wildcard) {
    wildcards_by_op_[result.line.key.op].push_back(position);
  } else if (!result.line.problem_text.empty() ||
             result.line.key.op.starts_with(kOwnOperatorPrefix)) {
    by_problem_[Text(*result.problem)].push_back(position);
  } else {
    by_key_[Joined(NamesOf(*result.problem))].push_back(position);
  }
}

bool ResultTable::Add(TunableResult result) {
  const std::lock_guard lock(mutex_);
  const std::string identity = Identity(result.line.key, result.line.problem_text);
  if (results_.size() >= kMaxResults || by_identity_.contains(identity)) return false;
  result.order = static_cast<int64_t>(results_.size());
  results_.push_back(std::move(result));
  Index(results_.size() - 1);
  generation_.fetch_add(1, std::memory_order_release);
  return true;
}

void ResultTable::Put(TunableResult result) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = by_identity_.find(Identity(result.line.key, result.line.problem_text));
    if (found != by_identity_.end()) {
      // Equal names and problem text: every index stays right.
      TunableResult& old = results_[found->second];
      result.order = old.order;
      old = std::move(result);
      generation_.fetch_add(1, std::memory_order_release);
      return;
    }
  }
  Add(std::move(result));
}

std::vector<TableMatch> ResultTable::Matching(const Problem& problem, bool with_wildcards) const {
  const std::string text = Text(problem);
  const TunableOpKey names = NamesOf(problem);
  const Gemm* const gemm = problem.As<Gemm>();
  std::vector<TableMatch> matches;
  const std::shared_lock lock(mutex_);
  const auto add = [&](const auto& index, const std::string& key, MatchedBy matched_by) {
    const auto found = index.find(key);
    if (found == index.end()) return;
    for (const size_t i : found->second) matches.push_back({results_[i], matched_by});
  };
  add(by_problem_, text, MatchedBy::kProblem);
  add(by_key_, Joined(names), MatchedBy::kKey);
  std::ranges::sort(matches, {}, [](const TableMatch& match) { return match.result.order; });
  const auto wildcards = wildcards_by_op_.find(names.op);
  if (!with_wildcards || gemm == nullptr || wildcards == wildcards_by_op_.end()) return matches;
  const auto first_wildcard = static_cast<std::ptrdiff_t>(matches.size());
  for (const size_t i : wildcards->second) {
    if (WildcardServes(results_[i], *gemm)) matches.push_back({results_[i], MatchedBy::kWildcard});
  }
  std::sort(matches.begin() + first_wildcard, matches.end(),
            [&](const TableMatch& a, const TableMatch& b) {
              return IsPreferred(a.result, b.result, *gemm);
            });
  return matches;
}

void ResultTable::Reject(const TunableResult& result, const std::string& reason) {
  if (result.wildcard || !result.problem) return;
  Rejection rejection{
      result.line.problem_text.empty() ? "" : Text(*result.problem),
      fmt::format("The result of {} does not hold here: {}", Joined(result.line.key), reason)};
  const std::lock_guard lock(mutex_);
  if (rejected_count_ >= kMaxRejected) return;
  std::vector<Rejection>& of_key = rejected_by_key_[Joined(NamesOf(*result.problem))];
  if (std::ranges::find(of_key, rejection) != of_key.end()) return;
  of_key.push_back(std::move(rejection));
  ++rejected_count_;
}

std::vector<std::string> ResultTable::Rejections(const Problem& problem) const {
  const std::string text = Text(problem);
  std::vector<std::string> reasons;
  const std::shared_lock lock(mutex_);
  const auto found = rejected_by_key_.find(Joined(NamesOf(problem)));
  if (found == rejected_by_key_.end()) return reasons;
  for (const Rejection& rejection : found->second) {
    const bool is_of_it = rejection.problem_text.empty() || rejection.problem_text == text;
    if (is_of_it) reasons.push_back(rejection.reason);
  }
  return reasons;
}

bool ResultTable::Has(const TunableOpKey& names, const std::string& problem_text) const {
  const std::shared_lock lock(mutex_);
  return by_identity_.contains(Identity(names, problem_text));
}

std::vector<TunableResult> ResultTable::All() const {
  const std::shared_lock lock(mutex_);
  return results_;
}

size_t ResultTable::size() const {
  const std::shared_lock lock(mutex_);
  return results_.size();
}

void ResultTable::Clear() {
  const std::lock_guard lock(mutex_);
  results_.clear();
  by_identity_.clear();
  by_problem_.clear();
  by_key_.clear();
  wildcards_by_op_.clear();
  rejected_by_key_.clear();
  rejected_count_ = 0;
  generation_.fetch_add(1, std::memory_order_release);
}

}  // namespace attune
