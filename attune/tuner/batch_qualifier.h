// Qualifies the candidates of one tuning, batch by batch, and keeps what comes of each.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "attune/base/status.h"
#include "attune/record/record_store.h"
#include "attune/trial/candidate.h"
#include "attune/tuner/cut_off.h"
#include "attune/tuner/evaluator.h"
#include "attune/tuner/qualify_time.h"

namespace attune {

// Every result is in the store before the next one of the same child comes, so that who is killed
// loses only what was under way. What a tuning that was cut off tried is recalled and neither tried
// nor stored again. Not thread-safe.
class BatchQualifier {
 public:
  // Borrows both.
  BatchQualifier(Evaluator& evaluator, RecordStore& store) : evaluator_(evaluator), store_(store) {}

  // From now on results are stored in the set `set_id`, and what is in `past` is recalled. After
  // Evaluator::Begin.
  void Begin(std::string set_id, CutOff past);

  // What came of `batch`, in order, without those that `time` left no time for. A failure to
  // evaluate is as EvaluationStatus says; others are the store's.
  Result<std::vector<Qualified>> Qualify(const std::vector<Candidate>& batch,
                                         const QualifyTime& time);
  // Stores each result before the stream gets it. Fails if storing fails, or if candidates could
  // not be evaluated and there is no result. REQUIRES: Knows() is false for all candidates.
  Status QualifyFrom(CandidateStream& stream, const QualifyTime& time);
  // Of `batch` what need not be tried, in order.
  std::vector<Qualified> Recall(const std::vector<Candidate>& batch);

  bool Knows(const Candidate& candidate) const { return past_.results.contains(candidate); }
  // Whether something is known that nobody has asked for.
  bool HasMore() const { return recalled_.size() < past_.results.size(); }
  // Of those that were asked for.
  int64_t recalled_count() const { return static_cast<int64_t>(recalled_.size()); }

 private:
  Evaluator& evaluator_;
  RecordStore& store_;
  std::string set_id_;
  CutOff past_;
  std::set<Candidate> recalled_;
};

}  // namespace attune
