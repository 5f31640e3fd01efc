// Qualifies the candidates of one tuning, batch by batch, and stores each result.
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

// Every result is in the store before the same worker process sends the next one, so a kill loses
// only the candidates under way. Results of an interrupted tuning are recalled, and neither tried
// nor stored again. Not thread-safe.
class BatchQualifier {
 public:
  // Borrows both.
  BatchQualifier(Evaluator& evaluator, RecordStore& store) : evaluator_(evaluator), store_(store) {}

  // From now on results are stored in the set `set_id`, and those in `past` are recalled. After
  // Evaluator::Begin.
  void Begin(std::string set_id, CutOff past);

  // Results of `batch`, in order, without the candidates that `time` left no time for. A failure to
  // evaluate is as EvaluationStatus says; others are the store's.
  Result<std::vector<Qualified>> Qualify(const std::vector<Candidate>& batch,
                                         const QualifyTime& time);
  // Stores each result before the stream gets it. Fails if storing fails, or if candidates could
  // not be evaluated and there is no result. REQUIRES: Knows() is false for all candidates.
  Status QualifyFrom(CandidateStream& stream, const QualifyTime& time);
  // Known results of candidates in `batch`, which need no trial, in order.
  std::vector<Qualified> Recall(const std::vector<Candidate>& batch);

  bool Knows(const Candidate& candidate) const { return past_.results.contains(candidate); }
  // True if `past` has results that no batch asked for yet.
  bool HasMore() const { return recalled_.size() < past_.results.size(); }
  // Number of recalled results that a batch asked for.
  int64_t recalled_count() const { return static_cast<int64_t>(recalled_.size()); }

 private:
  Evaluator& evaluator_;
  RecordStore& store_;
  std::string set_id_;
  CutOff past_;
  std::set<Candidate> recalled_;
};

}  // namespace attune
