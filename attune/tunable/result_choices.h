// Results as choices that a dispatcher serves: a layer above records.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attune/trial/choice_source.h"
#include "attune/tunable/result_table.h"
#include "attune/tunable/validators.h"

namespace attune {

// Queries of this module to code that knows solvers. Each may be null.
struct SolutionResolver {
  // The candidate without tuning: the solution called "Default".
  std::function<Result<Candidate>(const Problem&)> default_of;
  // The candidate of a name that is no candidate text, such as "host.openblas-gemm"; kNotFound for
  // foreign names, such as "Gemm_Rocblas_42".
  std::function<Result<Candidate>(const Problem&, std::string_view name)> find;
  // Ok if a candidate exists here and applies.
  std::function<Status(const Problem&, const Candidate&)> check;
};

// A result that serves.
struct TunableHit {
  TunableResult result;
  MatchedBy matched_by = MatchedBy::kProblem;
  Candidate candidate;
};

struct TunableCounters {
  int64_t hits_by_problem = 0;
  int64_t hits_by_key = 0;
  int64_t hits_by_wildcard = 0;
  int64_t misses = 0;
  int64_t unusable = 0;  // Results with a candidate that did not exist or apply here at a lookup.
  int64_t recorded = 0;  // Lines added to the untuned file.
  int64_t tuned = 0;
  int64_t tuning_failures = 0;

  friend bool operator==(const TunableCounters&, const TunableCounters&) = default;
};

// Thread-safe.
class ResultChoices final : public ChoiceSource {
 public:
  // Called with a sentence for each result that cannot serve. May be null.
  using Note = std::function<void(const std::string&)>;
  ResultChoices(TunableIdentity here, SolutionResolver solutions, Note note);

  ResultTable& table() { return table_; }
  const ResultTable& table() const { return table_; }

  // Nothing is found while it does not serve.
  void SetServing(bool serves, bool wildcards);

  // The first usable result for `problem`; counted, and noted if it is not the first.
  std::optional<TunableHit> Lookup(const Problem& problem) const;
  // The same, not counted: also while it does not serve, and without wildcards.
  std::optional<TunableHit> FindConcrete(const Problem& problem) const;

  // The result of Lookup as a choice, of this target and environment, not counted: deciding code
  // may call it any number of times. Its ranking is the candidate, with the time of the line or 0,
  // and the default if that is known and another one.
  // A line without a time was written by a person: an override.
  Result<std::vector<IndexedChoice>> Find(const Problem& problem) const override;
  // Always empty: wildcards define how near a result reaches.
  Result<std::vector<Neighbour>> Nearest(const Problem& problem, size_t limit,
                                         double max_distance) const override;
  // Results that precede the one that serves and cannot serve; if none serves, also those of files
  // with validators that do not hold here.
  std::vector<std::string> Unusable(const Problem& problem) const override;
  int64_t problem_count() const override;

  // The lookups' part of the counters.
  TunableCounters counters() const;

 private:
  // Why those before it cannot serve goes to `unusable`, a sentence for each.
  std::optional<TunableHit> FirstUsable(const Problem& problem, bool wildcards,
                                        std::vector<std::string>& unusable) const;
  Result<Candidate> CandidateOf(const Problem& problem, const std::string& solution) const;

  const std::shared_ptr<const Target> target_;
  const std::shared_ptr<const Environment> environment_;
  const SolutionResolver solutions_;
  const Note note_;
  ResultTable table_;
  std::atomic<bool> serves_ = false;
  std::atomic<bool> wildcards_ = false;
  mutable std::atomic<int64_t> hits_[3] = {};
  mutable std::atomic<int64_t> misses_ = 0;
  mutable std::atomic<int64_t> unusable_ = 0;
};

}  // namespace attune
