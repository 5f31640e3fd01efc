#include "attune/tuner/evaluator.h"

#include <algorithm>
#include <utility>

namespace attune {
namespace {

// Candidates out of a list.
class ListStream final : public CandidateStream {
 public:
  ListStream(std::span<const Candidate> candidates, const QualifiedListener& on_each)
      : candidates_(candidates), on_each_(on_each) {}

  std::optional<Candidate> Next() override {
    if (next_ == candidates_.size()) return std::nullopt;
    return candidates_[next_++];
  }
  void Tell(Qualified result) override {
    if (on_each_) on_each_(result);
    results_.push_back(std::move(result));
  }
  bool IsOver() override { return false; }
  size_t size_limit() const override { return candidates_.size(); }

  std::vector<Qualified> TakeResults() {
    const auto place = [this](const Qualified& result) {
      return std::find(candidates_.begin(), candidates_.end(), AskedOf(result));
    };
    std::stable_sort(results_.begin(), results_.end(),
                     [&](const Qualified& a, const Qualified& b) { return place(a) < place(b); });
    return std::move(results_);
  }

 private:
  const std::span<const Candidate> candidates_;
  const QualifiedListener& on_each_;
  size_t next_ = 0;
  std::vector<Qualified> results_;
};

}  // namespace

Result<std::vector<Qualified>> Evaluator::Qualify(std::span<const Candidate> candidates,
                                                  const QualifyTime& time,
                                                  const QualifiedListener& on_each) {
  ListStream stream(candidates, on_each);
  const Status qualified = QualifyFrom(stream, time);
  std::vector<Qualified> results = stream.TakeResults();
  // Results count even if evaluating another candidate failed.
  if (results.empty()) ATTUNE_RETURN_IF_ERROR(qualified);
  return results;
}

void Append(BusyTime& to, BusyTime from) {
  to.intervals.insert(to.intervals.end(), from.intervals.begin(), from.intervals.end());
  to.of_device.insert(to.of_device.end(), from.of_device.begin(), from.of_device.end());
  to.idle.insert(to.idle.end(), from.idle.begin(), from.idle.end());
}

int64_t UnionLengthNs(std::vector<BusyInterval> intervals) {
  std::sort(intervals.begin(), intervals.end(),
            [](const BusyInterval& a, const BusyInterval& b) { return a.begin_ns < b.begin_ns; });
  int64_t total_ns = 0;
  int64_t covered_until_ns = INT64_MIN;
  for (const BusyInterval& interval : intervals) {
    const int64_t begin_ns = std::max(interval.begin_ns, covered_until_ns);
    if (interval.end_ns <= begin_ns) continue;
    total_ns += interval.end_ns - begin_ns;
    covered_until_ns = interval.end_ns;
  }
  return total_ns;
}

Status EvaluationStatus(const Status& status) {
  const bool is_plain = status.ok() || status.code() == StatusCode::kUnsupported ||
                        status.code() == StatusCode::kDeadlineExceeded;
  return is_plain ? status : Internal(status.message());
}

int64_t VerifyNs(int64_t elapsed_ns, const Trial& qualified) {
  // A build time may have been measured by another clock.
  return std::max<int64_t>(elapsed_ns - qualified.build_ns - qualified.load_ns, 0);
}

std::optional<Candidate> FirstPassed(std::span<const Qualified> results) {
  for (const Qualified& result : results) {
    if (result.trial.failure() == nullptr) return result.trial.candidate;
  }
  return std::nullopt;
}

}  // namespace attune
