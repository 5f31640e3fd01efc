// Chooses the next candidates of a problem: the spaces of all applicable solvers, seen as one.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attune/base/status.h"
#include "attune/problem/problem.h"
#include "attune/problem/target.h"
#include "attune/search/searcher.h"
#include "attune/solver/solver.h"
#include "attune/space/config_space.h"
#include "attune/trial/candidate.h"
#include "attune/tuner/other_places.h"

namespace attune {

// Asks breadth first: the default config of every solver in order, then small spaces whole, then
// the large ones in turns. The further behind the best a solver is, the rarer are its turns (half
// as fast, an eighth of them), and a solver that proved to be far behind is left out. A batch ends
// early at the turn of a solver whose searcher waits for answers. Deterministic for a seed, the
// same answers and, with searchers that count workers, as many cores.
class CandidateSource {
 public:
  struct Options {
    std::string searcher = "adaptive";  // For spaces above kExhaustiveSize.
    uint64_t seed = 1;
    int64_t max_candidates = 0;  // Limit after the defaults; 0: no limit.
    bool drop_hopeless = true;   // Stop asking a solver that stays kHopelessRatio behind the best.
    // By solver name, the one config of a solver; its default if others have one and it has none.
    // Empty: whole spaces.
    std::map<std::string, Config> only_configs = {};
    // Transfer priors of the candidates: where the search of a large space begins.
    TimesOfPlaces elsewhere = {};
  };

  // A solver whose space cannot be made is left out with a note. Fails if the searcher's name is
  // unknown.
  static Result<CandidateSource> Create(const Problem& problem, const Target& target,
                                        const std::vector<const Solver*>& solvers,
                                        const Options& options, std::vector<std::string>* notes);

  // Adds further configs of `solver`, which the device listed, best guess first: the guesses are
  // asked for next. kInvalidArgument if the list is no space (ConfigSpace::FromConfigs). Empty
  // lists are ignored, and so are all if only_configs is set.
  Status AddListed(const SolverId& solver, const std::vector<Config>& configs);

  // Number of candidates that may be asked for, as known so far, and whether one is among them.
  uint64_t size() const;
  bool Has(const Candidate& candidate) const;

  // At most `max_count` new candidates; empty if there is none now. `is_idle`: no result is
  // outstanding, so solvers may get ahead of those whose searchers wait for results.
  std::vector<Candidate> Ask(size_t max_count, bool is_idle = true);

  // Passes the result of a candidate that was asked for.
  void Tell(const Candidate& candidate, const Answer& answer);

  // The best time so far, of all candidates and of those of one solver.
  std::optional<double> BestNs() const;
  std::optional<double> BestNsOf(const SolverId& solver) const;

 private:
  struct Arm {
    Arm(SolverId its_solver, ConfigSpace its_space, std::unique_ptr<Searcher> its_searcher)
        : solver(std::move(its_solver)),
          space(std::move(its_space)),
          searcher(std::move(its_searcher)) {}

    SolverId solver;
    ConfigSpace space;  // A solver that is listed on the device has two arms with different spaces.
    std::unique_ptr<Searcher> searcher;  // Null for a space that is listed whole.
    uint64_t next_index = 0;             // Next index of a space that is listed whole.
    int64_t asked = 0;
    int64_t turns = 0;   // Turns of a large space.
    bool waits = false;  // For answers, before it can ask for more.
    std::optional<double> best_ns;

    bool whole() const { return searcher == nullptr; }
    bool Exhausted() const;
    std::vector<uint64_t> Ask(size_t max_count);
  };

  explicit CandidateSource(Options options) : options_(std::move(options)) {}
  // The config of `solver` in only_configs, as a space.
  Result<ConfigSpace> OnlyConfig(const Solver& solver, const Problem& problem,
                                 const Target& target) const;
  // The caller expects the first `head` configs to be good. `evaluations` as in SearcherOptions.
  Status AddArm(const SolverId& solver, ConfigSpace space, uint64_t head, uint64_t evaluations);
  bool IsHopeless(const Arm& arm) const;
  // Number of candidates that may still be asked for.
  size_t Left() const;
  // Weight of an arm's past turns and its next one; the minimum is next.
  double TurnsTaken(const Arm& arm) const;
  // The arm with a large space that is next; null if no arm has a candidate now, or, unless
  // `may_get_ahead`, if the next arm would get too far ahead of those that wait for answers.
  Arm* NextArm(bool may_get_ahead);

  static constexpr double kHopelessRatio = 4.0;
  static constexpr int64_t kChancesBeforeHopeless = 6;
  // Turns of the best solver that others may be ahead while it waits for answers.
  static constexpr double kTurnsAhead = 16;
  // Guesses taken of a list: the searcher gets the rest, although a library may have guessed more.
  static constexpr uint64_t kGuesses = 8;
  // Built candidates beside those that cores compile, so that the device never waits.
  static constexpr int kWaitingForTheDevice = 2;

  Options options_;
  // The first config of a shipped solver is a good guess (Solver::Space); that of a user's kernel
  // is arbitrary.
  bool default_is_chosen_ = true;
  std::vector<Arm> arms_;
  bool defaults_asked_ = false;
};

}  // namespace attune
