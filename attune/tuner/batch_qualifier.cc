#include "attune/tuner/batch_qualifier.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace attune {
namespace {

// Stores each result before it passes it on; ends the stream when storing fails.
class StoredStream final : public CandidateStream {
 public:
  StoredStream(CandidateStream& stream, RecordStore& store, const std::string& set_id)
      : stream_(stream), store_(store), set_id_(set_id) {}

  std::optional<Candidate> Next() override { return stored_.ok() ? stream_.Next() : std::nullopt; }
  void Tell(Qualified result) override {
    if (stored_.ok()) stored_ = store_.AppendQualified(set_id_, {&result, 1});
    stream_.Tell(std::move(result));
    has_results_ = true;
  }
  bool IsOver() override { return !stored_.ok() || stream_.IsOver(); }
  size_t size_limit() const override { return stream_.size_limit(); }

  const Status& stored() const { return stored_; }
  bool has_results() const { return has_results_; }

 private:
  CandidateStream& stream_;
  RecordStore& store_;
  const std::string& set_id_;
  Status stored_;
  bool has_results_ = false;
};

}  // namespace

void BatchQualifier::Begin(std::string set_id, CutOff past) {
  set_id_ = std::move(set_id);
  past_ = std::move(past);
  recalled_.clear();
}

Result<std::vector<Qualified>> BatchQualifier::Qualify(const std::vector<Candidate>& batch,
                                                       const QualifyTime& time) {
  std::vector<Qualified> known = Recall(batch);
  std::vector<Candidate> unknown;
  std::copy_if(batch.begin(), batch.end(), std::back_inserter(unknown),
               [this](const Candidate& candidate) { return !Knows(candidate); });
  if (unknown.empty()) return known;
  Status stored;
  const auto keep = [&](const Qualified& result) {
    if (stored.ok()) stored = store_.AppendQualified(set_id_, {&result, 1});
  };
  auto results = evaluator_.Qualify(unknown, time, keep);
  ATTUNE_RETURN_IF_ERROR(stored);
  if (!results.ok()) return EvaluationStatus(results.error());
  if (known.empty()) return std::move(*results);
  std::map<Candidate, Qualified> by_candidate;
  for (std::vector<Qualified>* part : {&known, &*results}) {
    for (Qualified& result : *part) {
      Candidate asked = AskedOf(result);
      by_candidate.emplace(std::move(asked), std::move(result));
    }
  }
  std::vector<Qualified> in_order;
  for (const Candidate& candidate : batch) {
    const auto found = by_candidate.find(candidate);
    if (found != by_candidate.end()) in_order.push_back(std::move(found->second));
  }
  return in_order;
}

Status BatchQualifier::QualifyFrom(CandidateStream& stream, const QualifyTime& time) {
  StoredStream stored(stream, store_, set_id_);
  const Status qualified = evaluator_.QualifyFrom(stored, time);
  ATTUNE_RETURN_IF_ERROR(stored.stored());
  // Results count even if evaluating another candidate failed.
  return stored.has_results() ? Status::Ok() : EvaluationStatus(qualified);
}

std::vector<Qualified> BatchQualifier::Recall(const std::vector<Candidate>& batch) {
  std::vector<Qualified> known;
  for (const Candidate& candidate : batch) {
    const auto found = past_.results.find(candidate);
    if (found == past_.results.end()) continue;
    known.push_back(found->second);
    recalled_.insert(candidate);
  }
  evaluator_.TakeOver(known);
  return known;
}

}  // namespace attune
