#include "attune/tuner/child_evaluator.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include "attune/base/steady_time.h"
#include "attune/base/usable_cores.h"
#include "attune/kernel/data_file.h"
#include "attune/problem/own_kernel.h"
#include "attune/tuner/build_ahead.h"
#include "attune/tuner/child_block_timer.h"
#include "attune/tuner/child_process.h"
#include "attune/tuner/reference_child.h"
#include "attune/tuner/spare_children.h"
#include "attune/verify/memory_limit.h"
#include "attune/verify/problem_data.h"

namespace attune {
namespace {

// Worker processes that time one problem with a single screening round: the race and the final each
// have one.
constexpr size_t kTimingChildren = 2;
// With shared worker processes: the one that lists and qualifies, and those.
constexpr size_t kChildrenOfProblem = 1 + kTimingChildren;
// Bytes of operands and their copies: up to this limit, every device has room for a worker process
// beside a killed one that still holds its memory.
constexpr int64_t kMostBytesBesideDying = int64_t{256} << 20;
// Interval at which a thread that waits for compilers checks whether the search is over.
constexpr int64_t kStreamIntervalNs = 50'000'000;

ChildOptions WithDefaults(ChildOptions options) {
  const bool is_one_at_a_time = options.share_children && !options.on_processor;
  if (options.jobs <= 0) options.jobs = is_one_at_a_time ? 1 : UsableCores();
  if (options.compile_jobs <= 0) options.compile_jobs = UsableCores();
  if (options.memory_limit_bytes <= 0) {
    // Room for every worker process at its limit at once, the parent and the page cache.
    options.memory_limit_bytes = static_cast<int64_t>(MemoryLimitBytes()) / (options.jobs + 2);
  }
  return options;
}

// Page by page: a library may list more than one message holds.
Result<std::vector<Config>> AskForList(ChildProcess& child, const SolverId& solver) {
  std::vector<Config> configs;
  for (;;) {
    const auto reply = child.Ask(ListRequest{Text(solver), configs.size()});
    if (!reply) return Unavailable(reply.error().message);
    if (const auto* failed = std::get_if<FailedReply>(&reply->content)) {
      return Unavailable(failed->failure.message);
    }
    const auto* page = std::get_if<ListedReply>(&reply->content);
    if (page == nullptr) {
      return Internal(
          "The evaluator answered a request for a list with a message of another kind.");
    }
    for (const std::string& text : page->configs) {
      ATTUNE_ASSIGN_OR_RETURN(Config config, ParseConfig(text));
      configs.push_back(std::move(config));
    }
    if (configs.size() >= page->total || page->configs.empty()) return configs;
  }
}

// Number of worker processes with the device open for the next problem.
size_t OpenedAhead(const ChildOptions& options) { return options.opens_ahead ? 1 : 0; }

size_t JobsOf(const ChildOptions& options) { return static_cast<size_t>(options.jobs); }

int64_t OperandBytes(const Problem& problem) {
  size_t sum_bytes = 0;
  for (const Operand& operand : Operands(problem)) sum_bytes += SpanBytes(operand.tensor);
  return static_cast<int64_t>(sum_bytes);
}

// A worker process that times holds the copies of the operands, too: the budget, the copy that
// exceeds it, and two more while they are made.
Assignment WithRoomForCopies(Assignment assignment, int64_t operand_bytes) {
  const int64_t rotation_bytes = assignment.terms.rotation_bytes;
  if (rotation_bytes > 0) assignment.memory_limit_bytes += rotation_bytes + 3 * operand_bytes;
  return assignment;
}

class ChildEvaluator final : public Evaluator {
 public:
  explicit ChildEvaluator(ChildOptions options)
      : options_(WithDefaults(std::move(options))),
        spares_(options_, JobsOf(options_) + kTimingChildren, JobsOf(options_)),
        opened_(options_, 0, kChildrenOfProblem + OpenedAhead(options_)),
        build_ahead_(spares_, options_.device, static_cast<size_t>(options_.compile_jobs)),
        references_(opened_, options_),
        own_references_(spares_, options_) {}

  Status Begin(const Problem& problem, uint64_t seed, const EvaluationTerms& terms,
               const ReferenceTerms& reference) override {
    baseline_.reset();
    quick_ns_.clear();
    EndBenches();
    MakeRoomFor(std::max(BytesOfChild(), OperandBytes(problem) + terms.rotation_bytes));
    // They open the device while the reference is made, and do not wait for each other. With one
    // for the next problem there is also one left from the previous problem.
    if (KeepsChild()) {
      opened_.DropEnded();
      opened_.WarmUpFor(Text(problem));
      opened_.Supply(kChildrenOfProblem + OpenedAhead(options_), std::stop_token());
    }
    const int64_t begin_ns = SteadyNowNs();
    ReferenceTerms reference_terms = reference;
    reference_terms.read_data = kernel::ReadOwnData;
    if (KeepsChild()) {
      reference_terms.maker = references_.For(problem);
    } else if (IsOwnKernel(problem)) {
      reference_terms.maker = own_references_.For(problem);
    }
    auto data = ProblemData::Create(problem, seed, reference_terms);
    auto opened = KeepsChild() ? references_.TakeChild() : own_references_.TakeChild();
    if (!data.ok()) return data.error();
    data_.emplace(std::move(*data));
    assignment_ = {Text(problem), data_->fd(), terms, options_.memory_limit_bytes};
    operand_bytes_ = OperandBytes(problem);
    busy_.intervals.push_back({begin_ns, SteadyNowNs(), TuningStep::kReference});
    // The worker process that computed the reference also lists and qualifies; if it cannot,
    // another one replaces it.
    const bool stays = KeepsChild() || TakesTurns();
    if (stays && opened.has_value() && opened->Greet(assignment_).ok()) {
      benches_.front().child.emplace(std::move(*opened));
    } else if (KeepsChild()) {
      opened_.Supply(kChildrenOfProblem + OpenedAhead(options_), std::stop_token());
    }
    return Status::Ok();
  }

  std::vector<std::string> TakeNotes() override { return references_.TakeNotes(); }

  Result<std::vector<Config>> List(const SolverId& solver) override {
    Bench own;
    Bench& bench = KeepsChild() ? benches_.front() : own;
    ATTUNE_RETURN_IF_ERROR(Occupy(bench));
    auto configs = AskForList(*bench.child, solver);
    Append(busy_, bench.child->TakeBusyTime());
    if (!configs.ok()) bench.child.reset();
    return configs;
  }

  Status QualifyFrom(CandidateStream& stream, const QualifyTime& time) override {
    if (stream.size_limit() == 0) return Status::Ok();
    dying_.AwaitAll();
    // Runs on this thread: the system kills worker processes with the thread that started them.
    return KeepsChild() ? QualifyInTurn(stream, time) : QualifySideBySide(stream, time);
  }

  void TakeOver(std::span<const Qualified> results) override {
    for (const Qualified& result : results) Remember(result);
    if (!baseline_.has_value()) baseline_ = FirstPassed(results);
  }

  // Compiling ahead needs enough candidates to compile while others run.
  size_t batch_size() const override { return KeepsChild() ? 64 : Evaluator::batch_size(); }

  Result<std::unique_ptr<BlockTimer>> StartTiming(std::span<const Candidate> candidates) override {
    EndBenches();
    MakeRoomFor(BytesOfChild());
    SpareChildren& spares = SparesWithDevice();
    spares.Settle();
    auto timer = std::make_unique<ChildBlockTimer>(
        spares, WithRoomForCopies(assignment_, operand_bytes_),
        Pace{options_.run_deadline_ns, quick_ns_},
        std::vector<Candidate>(candidates.begin(), candidates.end()),
        TimerRemains{busy_, dying_, asking_harms_});
    ATTUNE_RETURN_IF_ERROR(timer->Restart());
    return std::unique_ptr<BlockTimer>(std::move(timer));
  }

  void BuildForUse(const Candidate& candidate) override {
    if (!TakesTurns() || !NeedsCompiler(candidate)) return;
    auto child = spares_.Take();
    if (!child.ok()) return;
    (void)child->Ask(CompileRequest{kChildProtocolVersion, options_.device, assignment_.problem,
                                    Text(candidate), false});
    Append(busy_, child->TakeBusyTime());
  }

  BusyTime TakeBusyTime() override { return std::exchange(busy_, {}); }

 private:
  // The workplace of one thread that qualifies.
  struct Bench {
    // The worker process killed last. It is gone before the next candidate begins, so that they are
    // never in memory together, and leaves its place to the next.
    std::optional<DyingChild> before;
    std::optional<ChildProcess> child;            // No request to it has left anything behind.
    size_t children = 0;                          // Number of worker processes so far.
    int64_t ready_by_ns = QualifyTime::kForever;  // Deadline of the next candidate.
    std::unique_lock<std::mutex> turn;  // Held while its candidate is timed: see TakesTurns.

    // Kills the worker processes of the bench.
    void LeaveTo(DyingChildren& dying) {
      if (before.has_value()) dying.Add(std::move(*before));
      if (child.has_value()) dying.Add(child->End());
      before.reset();
      child.reset();
    }
  };

  // Bytes of a worker process of this problem on its device, beside workspaces.
  int64_t BytesOfChild() const { return operand_bytes_ + assignment_.terms.rotation_bytes; }

  // Prevents a short lack of memory that would fail a candidate.
  void MakeRoomFor(int64_t size_bytes) {
    if (size_bytes > kMostBytesBesideDying) dying_.AwaitAll();
  }

  // Keeps the launch time of a qualified candidate.
  void Remember(const Qualified& result) {
    if (result.trial.failure() != nullptr) return;
    quick_ns_.insert_or_assign(result.trial.candidate, result.quick_ns);
  }

  // State of one call of QualifyFrom, shared by its threads.
  struct Round {
    Round(CandidateStream& its_stream, const QualifyTime& its_time)
        : stream(its_stream), time(its_time) {}

    CandidateStream& stream;
    const QualifyTime time;
    std::mutex mutex;  // Guards everything below, busy_ and calls of the stream.
    std::condition_variable told;
    size_t begun = 0;
    size_t out = 0;                                            // Begun, without a result.
    std::optional<std::pair<size_t, Candidate>> first_passed;  // And its number.
    Status first_error;

    // True if no further candidate begins. The first one always begins, so that a tight budget
    // makes progress.
    bool IsOver() const {
      return begun > 0 && (stream.IsOver() || SteadyNowNs() >= time.begin_by_ns);
    }
    // Deadline for building and loading candidate `number`.
    int64_t ReadyByNs(size_t number) const {
      return number == 0 ? time.first_ready_by_ns : time.ready_by_ns;
    }
  };

  // Qualifies in worker processes that belong to one thread each.
  Status QualifySideBySide(CandidateStream& stream, const QualifyTime& time) {
    Round round(stream, time);
    const size_t most = stream.size_limit();
    const size_t jobs = std::min(most, JobsOf(options_));
    std::deque<Bench> own(TakesTurns() ? 0 : jobs);
    if (TakesTurns()) {
      if (benches_.size() < jobs) benches_.resize(jobs);
      // Started here, because a worker process ends with the thread that started it.
      for (size_t i = 0; i < jobs; ++i) ATTUNE_RETURN_IF_ERROR(Occupy(benches_[i]));
    }
    std::stop_source all_taken;
    {
      std::vector<std::jthread> workers;
      for (size_t i = 0; i < jobs; ++i) {
        Bench& bench = TakesTurns() ? benches_[i] : own[i];
        workers.emplace_back([&] {
          QualifyOthers(round, bench);
          all_taken.request_stop();
        });
      }
      spares_.Supply(most, all_taken.get_token());
    }
    return Finish(round);
  }

  // Qualifies candidates on `bench` until the stream ends.
  void QualifyOthers(Round& round, Bench& bench) {
    const size_t children = bench.children;
    std::unique_lock lock(round.mutex);
    for (;;) {
      std::optional<Candidate> candidate;
      while (!round.IsOver()) {
        candidate = round.stream.Next();
        if (candidate.has_value() || round.out == 0) break;
        round.told.wait(lock);
      }
      if (!candidate.has_value()) break;
      const size_t number = round.begun++;
      ++round.out;
      lock.unlock();
      BusyTime busy;
      bench.ready_by_ns = round.ReadyByNs(number);
      auto outcome = QualifyOn(bench, *candidate, busy);
      lock.lock();
      Append(busy_, std::move(busy));
      Tell(round, number, std::move(outcome));
      --round.out;
      round.told.notify_all();
    }
    round.told.notify_all();
    lock.unlock();
    // This thread may have started a later worker process, which would end with it.
    if (bench.children == children) return;
    const std::lock_guard bench_lock(benches_mutex_);
    bench.before.reset();
    bench.child.reset();
  }

  // Runs candidates in the kept worker process while others compile. Candidates that need no
  // compiler run first.
  Status QualifyInTurn(CandidateStream& stream, const QualifyTime& time) {
    Round round(stream, time);
    // Replaces those that failed candidates used up.
    opened_.Supply(kTimingChildren + OpenedAhead(options_), std::stop_token());
    build_ahead_.Begin(assignment_.problem);
    std::deque<BuiltAhead> ready;
    size_t asked = 0;
    while (!round.IsOver()) {
      while (const std::optional<Candidate> candidate = stream.Next()) {
        if (NeedsCompiler(*candidate)) {
          build_ahead_.Add(*candidate, round.ReadyByNs(asked));
        } else {
          ready.push_back({*candidate, 0, std::nullopt});
        }
        ++asked;
      }
      if (ready.empty() && build_ahead_.left() == 0) break;
      std::optional<BuiltAhead> next;
      if (ready.empty()) {
        next = build_ahead_.Take(SteadyNowNs() + kStreamIntervalNs);
        if (!next.has_value()) continue;
      } else {
        next = std::move(ready.front());
        ready.pop_front();
      }
      benches_.front().ready_by_ns = round.ReadyByNs(round.begun);
      const size_t number = round.begun++;
      Tell(round, number, QualifyBuilt(next->candidate, *next));
    }
    build_ahead_.End();
    Append(busy_, build_ahead_.TakeBusyTime());
    return Finish(round);
  }

  bool NeedsCompiler(const Candidate& candidate) const {
    const auto& compiling = options_.compiling;
    return std::find(compiling.begin(), compiling.end(), candidate.solver) != compiling.end();
  }

  // Passes a result on, unless the candidate was given up.
  void Tell(Round& round, size_t number, Result<std::optional<Qualified>> outcome) {
    if (!outcome.ok()) {
      if (round.first_error.ok()) round.first_error = outcome.error();
      return;
    }
    if (!outcome->has_value()) return;
    Qualified& result = **outcome;
    Remember(result);
    const bool is_first = !round.first_passed.has_value() || number < round.first_passed->first;
    if (is_first && result.trial.failure() == nullptr) {
      round.first_passed.emplace(number, result.trial.candidate);
    }
    round.stream.Tell(std::move(result));
  }

  Status Finish(const Round& round) {
    if (!baseline_.has_value() && round.first_passed.has_value()) {
      baseline_ = round.first_passed->second;
    }
    return round.first_error;
  }

  // Runs a candidate in the kept worker process; its compiled code is in the kernel cache.
  Result<std::optional<Qualified>> QualifyBuilt(const Candidate& candidate,
                                                const BuiltAhead& built) {
    Qualified result;
    if (built.failure.has_value()) {
      result.trial.candidate = candidate;
      result.trial.role = TrialRole::kQualify;
      result.trial.outcome = *built.failure;
    } else {
      BusyTime busy;
      auto outcome = QualifyOn(benches_.front(), candidate, busy);
      Append(busy_, std::move(busy));
      if (!outcome.ok() || !outcome->has_value()) return outcome;
      result = std::move(**outcome);
    }
    result.trial.build_ns += built.build_ns;
    return std::optional<Qualified>(std::move(result));
  }

  // True if one worker process lists and qualifies until a failure or until others are timed:
  // starting one costs more than most candidates.
  bool KeepsChild() const {
    return options_.share_children && options_.jobs == 1 && !options_.on_processor;
  }
  // True if worker processes stay, build and verify candidates concurrently, and time them one at a
  // time.
  bool TakesTurns() const { return options_.share_children && options_.on_processor; }

  // Kills the worker processes of all benches, which hold memory.
  void EndBenches() {
    for (Bench& bench : benches_) bench.LeaveTo(dying_);
  }

  // Spare worker processes that run candidates. Those that compile never open the device.
  SpareChildren& SparesWithDevice() { return KeepsChild() ? opened_ : spares_; }

  Status Occupy(Bench& bench) {
    if (bench.child.has_value()) return Status::Ok();
    ATTUNE_ASSIGN_OR_RETURN(ChildProcess started, SparesWithDevice().TakeReady(assignment_));
    const std::lock_guard lock(benches_mutex_);
    bench.child.emplace(std::move(started));
    ++bench.children;
    return Status::Ok();
  }

  // Waits until no other candidate is timed, and pauses all other worker processes until EndTurn.
  void AwaitTurn(Bench& own) {
    own.turn = std::unique_lock(turns_);
    const std::lock_guard lock(benches_mutex_);
    for (Bench& other : benches_) {
      if (&other != &own && other.child.has_value()) other.child->Pause();
    }
  }

  void EndTurn(Bench& own) {
    if (!own.turn.owns_lock()) return;
    {
      const std::lock_guard lock(benches_mutex_);
      for (Bench& other : benches_) {
        if (other.child.has_value()) other.child->Resume();
      }
    }
    own.turn.unlock();
  }

  // Nothing if it was given up.
  Result<std::optional<Qualified>> QualifyOn(Bench& bench, const Candidate& candidate,
                                             BusyTime& busy) {
    const bool is_shared = bench.child.has_value();
    ATTUNE_ASSIGN_OR_RETURN(auto result, QualifyOnce(bench, candidate, busy));
    const Failure* failure = result.has_value() ? result->trial.failure() : nullptr;
    if (failure == nullptr || IsHarmless(failure->kind) ||
        failure->kind == FailureKind::kTimedOut) {
      return result;
    }
    // Earlier candidates may have left something behind that caused the crash, including the
    // default of the warm-up.
    if (KeepsChild() && failure->kind == FailureKind::kCrashed) {
      ATTUNE_ASSIGN_OR_RETURN(ChildProcess alone, spares_.TakeReady(assignment_));
      bench.child.emplace(std::move(alone));
      return QualifyOnce(bench, candidate, busy);
    }
    return is_shared ? QualifyOnce(bench, candidate, busy) : std::move(result);
  }

  // True if a failure of this kind is the candidate's own and affects no other: it did not run, or
  // its result is wrong and all memory around it is intact (Verify reports damage first). Outputs
  // and workspace are poisoned and inputs restored for each candidate, so earlier candidates are no
  // excuse. On a processor, a wrong kernel may have written to any memory of its process.
  bool IsHarmless(FailureKind kind) const {
    return kind == FailureKind::kNotApplicable ||
           (kind == FailureKind::kWrongResult && !options_.on_processor);
  }

  // True if the worker process can run another candidate as if new.
  bool LeftNothingBehind(const Reply& reply) const {
    const auto* failed = std::get_if<FailedReply>(&reply.content);
    if (failed != nullptr) return IsHarmless(failed->failure.kind) && !failed->device_lost;
    return std::holds_alternative<QualifiedReply>(reply.content);
  }

  Result<std::optional<Qualified>> QualifyOnce(Bench& bench, const Candidate& candidate,
                                               BusyTime& busy) {
    Qualified result;
    result.trial.candidate = candidate;
    result.trial.role = TrialRole::kQualify;
    ATTUNE_RETURN_IF_ERROR(Occupy(bench));
    bench.before.reset();
    ChildProcess& child = *bench.child;
    QualifyRequest request{Text(candidate)};
    const auto& output_check = assignment_.terms.output_check;
    if (output_check.has_value() && baseline_.has_value()) {
      request.agreement = AgreementRequest{Text(*baseline_), *output_check};
    }
    child.SetReadyBy(bench.ready_by_ns);
    request.awaits_turn = TakesTurns();
    if (TakesTurns()) child.SetAwaitTurn([this, &bench] { AwaitTurn(bench); });
    const int64_t asked_ns = SteadyNowNs();
    auto reply = child.Ask(request);
    const int64_t answered_ns = SteadyNowNs();
    EndTurn(bench);
    Append(busy, child.TakeBusyTime());
    const bool was_given_up = child.was_given_up();
    if (!options_.share_children || !reply || !LeftNothingBehind(*reply)) {
      bench.before.emplace(child.End());
      const std::lock_guard lock(benches_mutex_);
      bench.child.reset();
    }
    if (was_given_up) return std::optional<Qualified>();
    if (!reply) {
      // The share of building and loading is unknown.
      result.verify_ns = answered_ns - asked_ns;
      result.trial.outcome = std::move(reply.error());
      return std::optional<Qualified>(std::move(result));
    }
    Qualification known;
    if (const auto* qualified = std::get_if<QualifiedReply>(&reply->content)) {
      known = qualified->qualification;
      result.quick_ns = known.quick_ns;
    } else if (auto* failed = std::get_if<FailedReply>(&reply->content)) {
      known = failed->qualification;
      result.trial.outcome = std::move(failed->failure);
    } else {
      return Internal("The evaluator answered a candidate with a message of another kind.");
    }
    result.trial.build_ns = known.build_ns;
    result.trial.load_ns = known.load_ns;
    result.verify_ns = VerifyNs(answered_ns - asked_ns, result.trial);
    result.trial.workspace_bytes = known.workspace_bytes;
    result.trial.max_error = known.max_error;
    result.trial.capture_failure = std::move(known.capture_failure);
    return std::optional<Qualified>(std::move(result));
  }

  const ChildOptions options_;
  SpareChildren spares_;
  SpareChildren opened_;           // If KeepsChild().
  BuildAhead build_ahead_;         // If KeepsChild().
  ReferenceChild references_;      // If KeepsChild().
  ReferenceChild own_references_;  // If not: a worker process for each user's kernel.
  std::optional<ProblemData> data_;
  Assignment assignment_;
  int64_t operand_bytes_ = 0;
  std::map<Candidate, double> quick_ns_;  // Launch times of qualified candidates.
  std::optional<Candidate> baseline_;     // The candidate that outputs are compared with.
  std::mutex benches_mutex_;              // Guards Bench::child against Pause and Resume.
  std::deque<Bench> benches_{1};          // One if KeepsChild(), one for each job if TakesTurns().
  std::mutex turns_;                      // Held while a candidate is timed, if TakesTurns().
  DyingChildren dying_;                   // Gone before candidates run. Outlives all that kill.
  BusyTime busy_;
  bool asking_harms_ = false;  // Kept for all problems: a hang costs 20 s.
};

}  // namespace

std::unique_ptr<Evaluator> MakeChildEvaluator(ChildOptions options) {
  return std::make_unique<ChildEvaluator>(std::move(options));
}

}  // namespace attune
