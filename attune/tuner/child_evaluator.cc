#include "attune/tuner/child_evaluator.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "attune/base/code_folder.h"
#include "attune/base/steady_time.h"
#include "attune/base/usable_cores.h"
#include "attune/kernel/data_file.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/problem/own_kernel.h"
#include "attune/tuner/build_ahead.h"
#include "attune/tuner/child_block_timer.h"
#include "attune/tuner/child_process.h"
#include "attune/tuner/reference_child.h"
#include "attune/tuner/spare_children.h"
#include "attune/verify/memory_limit.h"
#include "attune/verify/problem_data.h"
#include "attune/verify/reference_cost.h"

namespace attune {
namespace {

constexpr const char* kProgramName = "attune-evaluator";
// Of one problem that is not in heats: the race and the final each have one.
constexpr size_t kTimingChildren = 2;
// With shared children, who lists and qualifies, and those.
constexpr size_t kChildrenOfProblem = 1 + kTimingChildren;
// Of operands and their copies: with up to so many, a child has room on every device beside one
// that was killed and still has what it had.
constexpr int64_t kMostBytesBesideDying = int64_t{256} << 20;

ChildOptions WithDefaults(ChildOptions options) {
  if (options.jobs <= 0) options.jobs = options.share_children ? 1 : UsableCores();
  if (options.compile_jobs <= 0) options.compile_jobs = UsableCores();
  if (options.memory_limit_bytes <= 0) {
    // Every child at its limit at once, with room for the parent and the page cache.
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

// Those that have the device open for the next problem.
size_t OpenedAhead(const ChildOptions& options) { return options.opens_ahead ? 1 : 0; }

size_t JobsOf(const ChildOptions& options) { return static_cast<size_t>(options.jobs); }

int64_t OperandBytes(const Problem& problem) {
  size_t sum_bytes = 0;
  for (const Operand& operand : Operands(problem)) sum_bytes += SpanBytes(operand.tensor);
  return static_cast<int64_t>(sum_bytes);
}

// A child that times holds the copies of the operands, too: the budget and the one that exceeds it,
// and two more while they are made.
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
    kept_.LeaveTo(dying_);
    MakeRoomFor(std::max(BytesOfChild(), OperandBytes(problem) + terms.rotation_bytes));
    // They open the device while the reference is made, and do not wait for each other. With one
    // for the next problem there is one that was left by the problem before.
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
    auto opened = references_.TakeChild();
    // Where children do not stay, this one goes too.
    own_references_.TakeChild();
    if (!data.ok()) return data.error();
    data_.emplace(std::move(*data));
    assignment_ = {Text(problem), data_->fd(), terms, options_.memory_limit_bytes};
    operand_bytes_ = OperandBytes(problem);
    busy_.intervals.push_back({begin_ns, SteadyNowNs()});
    // Whoever has computed the reference goes on to list and qualify; if it cannot, another one
    // takes its place.
    if (opened.has_value() && opened->Greet(assignment_).ok()) {
      kept_.child.emplace(std::move(*opened));
    } else if (KeepsChild()) {
      opened_.Supply(kChildrenOfProblem + OpenedAhead(options_), std::stop_token());
    }
    return Status::Ok();
  }

  std::vector<std::string> TakeNotes() override { return references_.TakeNotes(); }

  Result<std::vector<Config>> List(const SolverId& solver) override {
    Bench own;
    Bench& bench = KeepsChild() ? kept_ : own;
    ATTUNE_RETURN_IF_ERROR(Occupy(bench));
    auto configs = AskForList(*bench.child, solver);
    Append(busy_, bench.child->TakeBusyTime());
    if (!configs.ok()) bench.child.reset();
    return configs;
  }

  Result<std::vector<Qualified>> Qualify(std::span<const Candidate> candidates,
                                         const QualifyTime& time,
                                         const QualifiedListener& on_each) override {
    if (candidates.empty()) return std::vector<Qualified>();
    dying_.AwaitAll();
    // On this thread: the system kills children with the thread that started them.
    if (KeepsChild()) return QualifyInTurn(candidates, time, on_each);
    return QualifySideBySide(candidates, time, on_each);
  }

  void TakeOver(std::span<const Qualified> results) override {
    for (const Qualified& result : results) Remember(result);
    if (!baseline_.has_value()) baseline_ = FirstPassed(results);
  }

  // Who compiles ahead needs enough to compile while the others run.
  size_t batch_size() const override { return KeepsChild() ? 64 : Evaluator::batch_size(); }

  Result<std::unique_ptr<BlockTimer>> StartTiming(std::span<const Candidate> candidates) override {
    kept_.LeaveTo(dying_);
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

  BusyTime TakeBusyTime() override { return std::exchange(busy_, {}); }

 private:
  using Results = std::vector<std::optional<Qualified>>;  // Of those that were begun.

  // Where one thread qualifies.
  struct Bench {
    // Who was killed last: it is gone before the next candidate begins, so that they are never in
    // memory together, and leaves its place to that one.
    std::optional<DyingChild> before;
    std::optional<ChildProcess> child;  // Nothing that it was asked so far left anything behind.
    int64_t ready_by_ns = QualifyTime::kForever;  // Of the candidate that comes next.

    // Kills who is there.
    void LeaveTo(DyingChildren& dying) {
      if (before.has_value()) dying.Add(std::move(*before));
      if (child.has_value()) dying.Add(child->End());
      before.reset();
      child.reset();
    }
  };

  // What a child of this problem has on its device, beside workspaces.
  int64_t BytesOfChild() const { return operand_bytes_ + assignment_.terms.rotation_bytes; }

  // So that nobody is short of memory for a moment, and a candidate fails for it.
  void MakeRoomFor(int64_t size_bytes) {
    if (size_bytes > kMostBytesBesideDying) dying_.AwaitAll();
  }

  // Of a result that was not given up.
  static void Tell(const QualifiedListener& on_each, const std::optional<Qualified>& result) {
    if (on_each && result.has_value()) on_each(*result);
  }

  // How long the launches of whoever passed take.
  void Remember(const Qualified& result) {
    if (result.trial.failure() != nullptr) return;
    quick_ns_.insert_or_assign(result.trial.candidate, result.quick_ns);
  }

  // In children that each thread has for itself.
  Result<std::vector<Qualified>> QualifySideBySide(std::span<const Candidate> candidates,
                                                   const QualifyTime& time,
                                                   const QualifiedListener& on_each) {
    Results results(candidates.size());
    std::stop_source all_taken;
    std::atomic<size_t> next = 0;
    std::mutex mutex;  // Guards busy_ and first_error; held while somebody listens.
    Status first_error;
    const auto work = [&] {
      Bench bench;
      for (size_t i; (i = next.fetch_add(1)) < candidates.size();) {
        // The first one always runs, so that a tight budget still makes progress.
        if (i > 0 && SteadyNowNs() >= time.begin_by_ns) break;
        BusyTime busy;
        bench.ready_by_ns = i == 0 ? time.first_ready_by_ns : time.ready_by_ns;
        auto outcome = QualifyOn(bench, candidates[i], busy);
        const std::lock_guard lock(mutex);
        Append(busy_, std::move(busy));
        if (outcome.ok()) {
          results[i] = std::move(*outcome);
          Tell(on_each, results[i]);
        } else if (first_error.ok()) {
          first_error = outcome.error();
        }
      }
      all_taken.request_stop();
    };
    {
      std::vector<std::jthread> workers;
      const size_t count = std::min(candidates.size(), JobsOf(options_));
      for (size_t i = 0; i < count; ++i) workers.emplace_back(work);
      spares_.Supply(candidates.size(), all_taken.get_token());
    }
    return Finished(std::move(results), first_error);
  }

  // In the kept child: first those that need no compiler, while other children compile, then the
  // others as they come.
  Result<std::vector<Qualified>> QualifyInTurn(std::span<const Candidate> candidates,
                                               const QualifyTime& time,
                                               const QualifiedListener& on_each) {
    Results results(candidates.size());
    Status first_error;
    // In place of those that failed candidates have used up.
    opened_.Supply(kTimingChildren + OpenedAhead(options_), std::stop_token());
    // The first one always runs, so that a tight budget still makes progress.
    bool has_begun = false;
    const auto qualify = [&](size_t i, const BuiltAhead& built) {
      kept_.ready_by_ns =
          std::exchange(has_begun, true) ? time.ready_by_ns : time.first_ready_by_ns;
      auto outcome = QualifyBuilt(candidates[i], built);
      if (outcome.ok()) {
        results[i] = std::move(*outcome);
        Tell(on_each, results[i]);
      } else if (first_error.ok()) {
        first_error = outcome.error();
      }
    };
    const auto [ready, compiled] = ByNeedOfCompiler(candidates);
    std::vector<Candidate> ahead;
    for (const size_t i : compiled) ahead.push_back(candidates[i]);
    QualifyTime to_build = time;
    if (!ready.empty()) to_build.first_ready_by_ns = time.ready_by_ns;
    build_ahead_.Begin(assignment_.problem, ahead, to_build);
    for (const size_t i : ready) {
      if (has_begun && SteadyNowNs() >= time.begin_by_ns) break;
      qualify(i, {});
    }
    while (auto built = build_ahead_.Take(has_begun ? time.begin_by_ns : 0)) {
      if (has_begun && SteadyNowNs() >= time.begin_by_ns) break;
      qualify(compiled[built->index], *built);
    }
    build_ahead_.End();
    Append(busy_, build_ahead_.TakeBusyTime());
    return Finished(std::move(results), first_error);
  }

  // Indices of those whose solver does not compile, and of the others.
  std::pair<std::vector<size_t>, std::vector<size_t>> ByNeedOfCompiler(
      std::span<const Candidate> candidates) const {
    std::pair<std::vector<size_t>, std::vector<size_t>> parts;
    const auto& compiling = options_.compiling;
    for (size_t i = 0; i < candidates.size(); ++i) {
      const bool compiles =
          std::find(compiling.begin(), compiling.end(), candidates[i].solver) != compiling.end();
      (compiles ? parts.second : parts.first).push_back(i);
    }
    return parts;
  }

  // On the kept child, what was compiled for it being in the kernel cache.
  Result<std::optional<Qualified>> QualifyBuilt(const Candidate& candidate,
                                                const BuiltAhead& built) {
    Qualified result;
    if (built.failure.has_value()) {
      result.trial.candidate = candidate;
      result.trial.role = TrialRole::kQualify;
      result.trial.outcome = *built.failure;
    } else {
      BusyTime busy;
      auto outcome = QualifyOn(kept_, candidate, busy);
      Append(busy_, std::move(busy));
      if (!outcome.ok() || !outcome->has_value()) return outcome;
      result = std::move(**outcome);
    }
    result.trial.build_ns += built.build_ns;
    return std::optional<Qualified>(std::move(result));
  }

  // Those of `results` that are there, in order.
  Result<std::vector<Qualified>> Finished(Results results, const Status& first_error) {
    std::vector<Qualified> finished;
    for (auto& result : results) {
      if (!result.has_value()) continue;
      Remember(*result);
      finished.push_back(std::move(*result));
    }
    // What did finish counts, whatever happened to a neighbour.
    if (finished.empty()) ATTUNE_RETURN_IF_ERROR(first_error);
    if (!baseline_.has_value()) baseline_ = FirstPassed(finished);
    return finished;
  }

  // Whether one child lists and qualifies until something fails or others are timed: starting one
  // costs more than most candidates.
  bool KeepsChild() const { return options_.share_children && options_.jobs == 1; }

  // Of children that run candidates. Those that compile never open the device.
  SpareChildren& SparesWithDevice() { return KeepsChild() ? opened_ : spares_; }

  Status Occupy(Bench& bench) {
    if (bench.child.has_value()) return Status::Ok();
    ATTUNE_ASSIGN_OR_RETURN(ChildProcess started, SparesWithDevice().TakeReady(assignment_));
    bench.child.emplace(std::move(started));
    return Status::Ok();
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
    // Those before may have left something behind that it stumbled over: the default that the child
    // was warmed up with, too.
    if (KeepsChild() && failure->kind == FailureKind::kCrashed) {
      ATTUNE_ASSIGN_OR_RETURN(ChildProcess alone, spares_.TakeReady(assignment_));
      bench.child.emplace(std::move(alone));
      return QualifyOnce(bench, candidate, busy);
    }
    return is_shared ? QualifyOnce(bench, candidate, busy) : std::move(result);
  }

  // Whether somebody who fails in this way has nobody but himself to blame, and hurt nobody else:
  // he did not get so far as to run, or his result is wrong and all memory around it as it was
  // (Verify says so first if it is not). Outputs and workspace are poisoned and inputs restored for
  // each, so that what others left there is no excuse.
  static bool IsHarmless(FailureKind kind) {
    return kind == FailureKind::kNotApplicable || kind == FailureKind::kWrongResult;
  }

  // Whether the child is as good as new.
  static bool LeftNothingBehind(const Reply& reply) {
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
    const int64_t asked_ns = SteadyNowNs();
    auto reply = child.Ask(request);
    const int64_t answered_ns = SteadyNowNs();
    Append(busy, child.TakeBusyTime());
    const bool was_given_up = child.was_given_up();
    if (!options_.share_children || !reply || !LeftNothingBehind(*reply)) {
      bench.before.emplace(child.End());
      bench.child.reset();
    }
    if (was_given_up) return std::optional<Qualified>();
    if (!reply) {
      // Whatever of it was building and loading nobody can tell.
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
  ReferenceChild own_references_;  // If not: a child for each user's kernel.
  std::optional<ProblemData> data_;
  Assignment assignment_;
  int64_t operand_bytes_ = 0;
  std::map<Candidate, double> quick_ns_;  // Of those that qualified.
  std::optional<Candidate> baseline_;     // Who outputs are compared with.
  Bench kept_;                            // If KeepsChild().
  DyingChildren dying_;                   // Gone before candidates run. Outlives all that kill.
  BusyTime busy_;
  bool asking_harms_ = false;  // Of problem after problem: a hang costs 20 s.
};

}  // namespace

void ShareIfCostly(const Backend& backend, ChildOptions& options) {
  options.share_children = backend.IsCostlyToOpen();
  options.compiling.clear();
  for (const auto& solver : backend.solvers()) {
    if (solver->traits().compiles) options.compiling.push_back(solver->id());
  }
  if (backend.reference_solver() == nullptr) return;
  options.pays_on_device = [](const Problem& problem) {
    return PaysOnDevice(problem, UsableCores());
  };
}

Result<std::filesystem::path> FindEvaluatorProgram() {
  auto found = FindOwnProgram(kProgramName, "ATTUNE_EVALUATOR");
  if (found.ok()) return found;
  return Status(found.error().code(),
                fmt::format("Cannot find the evaluator: {} Or set ATTUNE_EVALUATOR to its absolute "
                            "path.",
                            found.error().message()));
}

Status CheckMemoryLimit(const ChildOptions& options) {
  if (options.memory_limit_bytes <= 0) return Status::Ok();
  const Problem smallest = Normalized(PackedGemm(1, 1, 1));
  ATTUNE_ASSIGN_OR_RETURN(const ProblemData data, ProblemData::Create(smallest, 1));
  auto child = ChildProcess::Spawn(options);
  const auto all_bytes = static_cast<int64_t>(MemoryLimitBytes());
  if (!child.ok() || !child->Greet({Text(smallest), data.fd(), {}, all_bytes}).ok()) {
    return Status::Ok();
  }
  const int64_t needed_bytes = child->PeakResidentBytes();
  if (needed_bytes <= options.memory_limit_bytes) return Status::Ok();
  // From one start to the next it varies by some pages.
  const int64_t least_mib = (needed_bytes >> 20) + 2;
  return InvalidArgument(fmt::format(
      "The memory limit (--memory-limit, {} bytes) is below what a process takes on device '{}' "
      "before it runs any candidate: {} bytes. Give at least {}MiB, and beyond that what operands "
      "and workspaces take.",
      options.memory_limit_bytes, options.device, needed_bytes, least_mib));
}

Result<Peaks> MeasurePeaksInChild(const ChildOptions& options, int64_t end_ns) {
  ChildOptions alone = options;
  alone.memory_limit_bytes = static_cast<int64_t>(MemoryLimitBytes());
  ATTUNE_ASSIGN_OR_RETURN(ChildProcess child, ChildProcess::Spawn(alone));
  PeaksRequest request;
  request.device = options.device;
  child.SetReadyBy(end_ns);
  const auto reply = child.Ask(request);
  if (!reply) return Unavailable(reply.error().message);
  if (const auto* refused = std::get_if<RefusedReply>(&reply->content)) {
    return Unavailable(refused->message);
  }
  const auto* measured = std::get_if<PeaksReply>(&reply->content);
  if (measured == nullptr) {
    return Internal("The evaluator answered a question for peaks with a message of another kind.");
  }
  return measured->peaks;
}

std::unique_ptr<Evaluator> MakeChildEvaluator(ChildOptions options) {
  return std::make_unique<ChildEvaluator>(std::move(options));
}

}  // namespace attune
