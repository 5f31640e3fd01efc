#include "attune/tuner/front_source.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "attune/search/scalarisation.h"

namespace attune {
namespace {

// Maximum number of searches for points of a front; further points turn up between them.
constexpr size_t kWeights = 5;

}  // namespace

Result<FrontSource> FrontSource::Create(const Problem& problem, const Target& target,
                                        const std::vector<const Solver*>& solvers,
                                        const Options& options, std::vector<std::string>* notes) {
  const std::vector<std::vector<double>> weights = options.objectives.size() == 1
                                                       ? std::vector<std::vector<double>>{{1}}
                                                       : FrontWeights(kWeights);
  FrontSource source(options);
  CandidateSource::Options of_part = options.search;
  of_part.max_candidates = 0;
  std::vector<std::string> repeated;
  for (const std::vector<double>& each : weights) {
    ATTUNE_ASSIGN_OR_RETURN(CandidateSource part,
                            CandidateSource::Create(problem, target, solvers, of_part,
                                                    source.parts_.empty() ? notes : &repeated));
    source.parts_.push_back({std::move(part), each});
    ++of_part.seed;
  }
  return source;
}

std::optional<double> FrontSource::NumberFor(
    const Part& part, const std::optional<std::vector<double>>& values) const {
  if (!values.has_value()) return std::nullopt;
  std::vector<double> scaled;
  for (size_t i = 0; i < objectives_.size(); ++i) {
    scaled.push_back(
        Scaled((*values)[i], (*usual_)[i], objectives_[i].direction == Direction::kMaximize));
  }
  return Tchebycheff(scaled, part.weights);
}

bool FrontSource::AskPart(size_t part, size_t count, std::vector<Candidate>& batch) {
  const std::vector<Candidate> asked = parts_[part].source.Ask(count);
  for (const Candidate& candidate : asked) {
    if (const auto known = known_.find(candidate); known != known_.end()) {
      parts_[part].source.Tell(candidate, {NumberFor(parts_[part], known->second)});
      continue;
    }
    std::vector<size_t>& waiting = waiting_[candidate];
    if (waiting.empty()) {
      batch.push_back(candidate);
      ++asked_;
    }
    waiting.push_back(part);
  }
  return !asked.empty();
}

size_t FrontSource::Left() const {
  if (max_candidates_ <= 0) return std::numeric_limits<size_t>::max();
  return static_cast<size_t>(std::max<int64_t>(max_candidates_ - asked_, 0));
}

std::vector<Candidate> FrontSource::Ask(size_t max_count) {
  std::vector<Candidate> batch;
  if (!std::exchange(defaults_asked_, true)) {
    for (size_t part = 0; part < parts_.size(); ++part) AskPart(part, max_count, batch);
    return batch;
  }
  max_count = std::min(max_count, Left());
  const size_t share = std::max<size_t>(max_count / parts_.size(), 1);
  // Ends when all parts in turn have no candidate.
  for (size_t silent = 0; silent < parts_.size() && batch.size() < max_count;) {
    const size_t part = std::exchange(next_, (next_ + 1) % parts_.size());
    silent = AskPart(part, std::min(share, max_count - batch.size()), batch) ? 0 : silent + 1;
  }
  return batch;
}

bool FrontSource::IsExhausted() {
  std::vector<Candidate> more;
  for (size_t part = 0; part < parts_.size() && more.empty(); ++part) {
    while (more.empty() && AskPart(part, 1, more)) {
    }
  }
  return more.empty();
}

void FrontSource::Tell(const Candidate& candidate, std::optional<std::vector<double>> values) {
  if (values.has_value() && !usual_.has_value()) usual_ = values;
  if (const auto waiting = waiting_.find(candidate); waiting != waiting_.end()) {
    for (const size_t part : waiting->second) {
      parts_[part].source.Tell(candidate, {NumberFor(parts_[part], values)});
    }
    waiting_.erase(waiting);
  }
  known_.emplace(candidate, std::move(values));
}

}  // namespace attune
