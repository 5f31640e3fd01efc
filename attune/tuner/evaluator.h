// Builds, verifies and times candidates of one problem, in this process or in worker processes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attune/base/status.h"
#include "attune/measure/race.h"
#include "attune/problem/problem.h"
#include "attune/record/record.h"
#include "attune/trial/timeline.h"
#include "attune/trial/trial.h"
#include "attune/tuner/qualify_time.h"
#include "attune/verify/output_check.h"
#include "attune/verify/problem_data.h"

namespace attune {

// Optional terms of an evaluation; values, that travel to worker processes.
struct EvaluationTerms {
  // Bytes of the copies that launches step through with kRotating; 0: no copies.
  int64_t rotation_bytes = 0;
  // Untimed launches before the first block of a candidate, until either limit is reached; 0 is no
  // limit, and both 0 are the usual single launch. After 5 s they end in any case.
  int64_t warm_up_launches = 0;
  int64_t warm_up_ns = 0;
  // The whole output of every candidate must also agree with that of the first candidate that
  // qualified in an earlier call of Qualify, on the same inputs.
  std::optional<OutputTolerance> output_check;

  friend bool operator==(const EvaluationTerms&, const EvaluationTerms&) = default;
};

// An interval of useful work: steady-clock nanoseconds of this machine.
struct BusyInterval {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  TuningStep step = TuningStep::kVerify;
  std::string candidate = {};  // Text; empty if it is about none.
  int process = 0;             // Id of the process; 0 is the tuner.
};

// Intervals of useful work, and the part of them in which the device itself was busy.
struct BusyTime {
  std::vector<BusyInterval> intervals;
  // Time of candidate launches by the clock of the device, each placed no later than its report:
  // see CandidateRunner::TakeDeviceNs.
  std::vector<BusyInterval> of_device;
  // When processes started or waited, for the timeline alone.
  std::vector<BusyInterval> idle = {};
};
void Append(BusyTime& to, BusyTime from);

// Total length of the union of `intervals`, in nanoseconds: overlapping work counts once.
int64_t UnionLengthNs(std::vector<BusyInterval> intervals);

// The verification's part of `elapsed_ns`, in which `qualified` was built, loaded and verified.
int64_t VerifyNs(int64_t elapsed_ns, const Trial& qualified);

// The first of `results` that passed.
std::optional<Candidate> FirstPassed(std::span<const Qualified> results);

// `status` of an evaluator for the tuner: a failure to evaluate one problem gets a code of its own,
// so that it is not taken for a failure of the store, which ends a whole run.
Status EvaluationStatus(const Status& status);

// Gets each result as it comes, one at a time, on any thread. May be null.
using QualifiedListener = std::function<void(const Qualified&)>;

// A source of candidates that receives their results. An evaluator takes the next candidate when it
// has room for one, so a searcher learns from a result while other candidates are built. Called on
// any thread, one call at a time.
class CandidateStream {
 public:
  virtual ~CandidateStream() = default;

  // The next candidate. Nothing if the stream ended or waits for results.
  virtual std::optional<Candidate> Next() = 0;
  // Takes the result of a candidate, in any order. Candidates that were given up have none.
  virtual void Tell(Qualified result) = 0;
  // True if no further candidate should begin. Once true, it stays true.
  virtual bool IsOver() = 0;
  // Upper bound on the number of candidates; kUnlimited if unknown.
  virtual size_t size_limit() const = 0;
  static constexpr size_t kUnlimited = size_t{1} << 32;
};

// Not thread-safe. One problem at a time.
class Evaluator {
 public:
  virtual ~Evaluator() = default;

  // Makes inputs and reference of `problem` from `seed`; replaces those of the problem before.
  // `terms` hold until the next Begin. kDeadlineExceeded if `reference` requested a stop.
  virtual Status Begin(const Problem& problem, uint64_t seed, const EvaluationTerms& terms,
                       const ReferenceTerms& reference) = 0;

  // Harmless problems since the last call: sentences for people.
  virtual std::vector<std::string> TakeNotes() { return {}; }

  // The configs that `solver` lists on the device for the problem (Solver::ListOn), best guess
  // first.
  virtual Result<std::vector<Config>> List(const SolverId& solver) = 0;

  // Builds, loads, verifies and briefly runs the candidates of `stream`, several concurrently if
  // possible, until the stream ends or is over. Candidates that exceed `time` are given up. For a
  // solver that searches (SolverTraits::searches), the result holds the candidate it found. Fails
  // if candidates cannot be evaluated at all, for example if no worker process can be started.
  virtual Status QualifyFrom(CandidateStream& stream, const QualifyTime& time) = 0;

  // The same for a list; returns the results in the order of `candidates`.
  Result<std::vector<Qualified>> Qualify(std::span<const Candidate> candidates,
                                         const QualifyTime& time, const QualifiedListener& on_each);

  // Takes results of candidates of this problem from an earlier process, under the same terms:
  // those that passed may be timed and compared with as if they had qualified here.
  virtual void TakeOver(std::span<const Qualified>) {}

  // Number of candidates that keep it busy until the first result.
  virtual size_t batch_size() const { return 16; }

  // Makes qualified candidates ready to be timed side by side. The timer must not outlive this
  // object, and is invalid after the next Begin. Workspaces and operands are shared.
  virtual Result<std::unique_ptr<BlockTimer>> StartTiming(
      std::span<const Candidate> candidates) = 0;

  // Builds the final code of a chosen candidate that was tuned as a draft (Drafter). If that fails,
  // programs that load the candidate build it.
  virtual void BuildForUse(const Candidate&) {}

  // Busy time since Begin, for the shares of useful time.
  virtual BusyTime TakeBusyTime() = 0;
};

}  // namespace attune
