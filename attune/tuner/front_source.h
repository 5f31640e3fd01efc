// Chooses the next candidates for objectives beside time: several interleaved searches, each for
// its own weights of the objectives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attune/base/status.h"
#include "attune/problem/problem.h"
#include "attune/problem/target.h"
#include "attune/solver/solver.h"
#include "attune/trial/candidate.h"
#include "attune/trial/figure.h"
#include "attune/tuner/candidate_source.h"

namespace attune {

// A CandidateSource for each pair of weights (search/scalarisation.h), or one for a single
// objective. They take turns. A candidate that several ask for is tried once, and each part gets
// its own scalar value. The limit of candidates is one of all searches together. Deterministic as a
// CandidateSource is.
class FrontSource {
 public:
  struct Options {
    CandidateSource::Options search;
    std::vector<Objective> objectives;  // One or two.
  };

  // As CandidateSource::Create.
  static Result<FrontSource> Create(const Problem& problem, const Target& target,
                                    const std::vector<const Solver*>& solvers,
                                    const Options& options, std::vector<std::string>* notes);

  // At most `max_count` that were not asked for before; first the defaults of all solvers. Empty at
  // the end of the search.
  std::vector<Candidate> Ask(size_t max_count);

  // True if no search would ask for anything more, whatever the limit. Call Ask no more after it.
  bool IsExhausted();

  // Passes the values of a candidate, asked for or not, in the order of the objectives; nothing if
  // it failed. All others are compared with the first values.
  void Tell(const Candidate& candidate, std::optional<std::vector<double>> values);

 private:
  struct Part {
    CandidateSource source;
    std::vector<double> weights;
  };

  explicit FrontSource(const Options& options)
      : objectives_(options.objectives), max_candidates_(options.search.max_candidates) {}
  std::optional<double> NumberFor(const Part& part,
                                  const std::optional<std::vector<double>>& values) const;
  // Number of candidates that may still be asked for.
  size_t Left() const;
  // Adds the candidates of `part` to `batch`; returns true if there are any.
  bool AskPart(size_t part, size_t count, std::vector<Candidate>& batch);

  const std::vector<Objective> objectives_;
  const int64_t max_candidates_;  // 0: no limit.
  int64_t asked_ = 0;             // Candidates that several parts ask for count once.
  std::vector<Part> parts_;
  size_t next_ = 0;  // The part that asks next.
  bool defaults_asked_ = false;
  std::optional<std::vector<double>> usual_;
  std::map<Candidate, std::optional<std::vector<double>>> known_;
  std::map<Candidate, std::vector<size_t>> waiting_;  // Parts that asked, by candidate.
};

}  // namespace attune
