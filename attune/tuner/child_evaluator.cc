#include "attune/tuner/child_evaluator.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "attune/base/steady_time.h"
#include "attune/tuner/child_process.h"
#include "attune/tuner/spare_children.h"
#include "attune/verify/memory_limit.h"
#include "attune/verify/problem_data.h"

namespace attune {
namespace {

constexpr const char* kProgramName = "attune-evaluator";
// A child that does not come up says nothing about the candidate: the machine was busy, or out of
// processes.
constexpr int kStartAttempts = 3;
// Of one problem that is not in heats: the race and the final each have one.
constexpr size_t kTimingChildren = 2;
// A launch this much slower than the one that qualified hangs: others ran beside that one, and not
// beside those that are timed.
constexpr double kSlowestLaunch = 10;

int AvailableCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

ChildOptions WithDefaults(ChildOptions options) {
  if (options.jobs <= 0) options.jobs = options.share_children ? 1 : AvailableCores();
  if (options.memory_limit_bytes <= 0) {
    // Every child at its limit at once, with room for the parent and the page cache.
    options.memory_limit_bytes = static_cast<int64_t>(MemoryLimitBytes()) / (options.jobs + 2);
  }
  return options;
}

void Append(std::vector<BusyInterval>& to, std::vector<BusyInterval> from) {
  to.insert(to.end(), from.begin(), from.end());
}

// A child that has said it is ready; another one if need be.
Result<ChildProcess> StartChild(SpareChildren& spares, const Assignment& assignment) {
  for (int attempt = 1;; ++attempt) {
    // What killed one spare may have killed them all.
    auto child = attempt == 1 ? spares.Take() : spares.StartAnother();
    const Status ready = child.ok() ? child->Greet(assignment) : child.error();
    if (ready.ok()) return child;
    if (attempt == kStartAttempts) return ready;
  }
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

// How long a block may take.
struct Pace {
  int64_t run_deadline_ns = 0;
  std::map<Candidate, double> quick_ns;  // Of a launch, as qualifying saw it.

  double QuickNs(const Candidate& candidate) const {
    const auto found = quick_ns.find(candidate);
    return found == quick_ns.end() ? 0 : found->second;
  }
};

// Times candidates in one child at a time. A candidate that kills its child is remembered and left
// out of the next.
class ChildBlockTimer final : public BlockTimer {
 public:
  ChildBlockTimer(SpareChildren& spares, Assignment assignment, Pace pace,
                  std::vector<Candidate> candidates, std::vector<BusyInterval>& busy,
                  std::optional<DyingChild>& ended)
      : spares_(spares),
        assignment_(std::move(assignment)),
        pace_(std::move(pace)),
        candidates_(std::move(candidates)),
        busy_(busy),
        ended_(ended) {}

  ~ChildBlockTimer() override {
    CollectBusy();
    if (child_.has_value()) ended_.emplace(child_->End());
  }

  // Starts a child and loads into it everything that is not banned.
  Status Restart() {
    CollectBusy();
    child_.reset();
    loaded_.assign(candidates_.size(), std::nullopt);
    ATTUNE_ASSIGN_OR_RETURN(ChildProcess child, StartChild(spares_, assignment_));
    child_.emplace(std::move(child));
    size_t next_index = 0;
    for (size_t i = 0; i < candidates_.size(); ++i) {
      if (banned_.contains(i)) continue;
      auto reply = child_->Ask(LoadRequest{Text(candidates_[i])});
      if (!reply) return BanAndRestart(i, std::move(reply.error()));
      if (auto* failed = std::get_if<FailedReply>(&reply->content)) {
        banned_.emplace(i, std::move(failed->failure));
      } else {
        loaded_[i] = next_index++;
      }
    }
    return Status::Ok();
  }

  tl::expected<double, Failure> TimeBlock(size_t index, const TimingRequest& request) override {
    if (const auto banned = banned_.find(index); banned != banned_.end()) {
      return tl::unexpected(banned->second);
    }
    if (!child_.has_value()) {
      return tl::unexpected(
          Failure{FailureKind::kCrashed, Phase::kMeasure, "No child to measure in: " + broken_});
    }
    child_->SetRunDeadline(BlockDeadlineNs(pace_.run_deadline_ns, request.launches,
                                           pace_.QuickNs(candidates_[index])));
    auto reply = child_->Ask(TimeRequest{*loaded_[index], request.launches, request.cache});
    if (!reply) return tl::unexpected(Replace(index, std::move(reply.error())));
    const auto* timed = std::get_if<TimedReply>(&reply->content);
    if (timed != nullptr && std::isfinite(timed->ns) && timed->ns > 0) return timed->ns;
    Failure failure{FailureKind::kRunFailed, Phase::kMeasure, "The child gave no positive time."};
    if (auto* failed = std::get_if<FailedReply>(&reply->content)) {
      failure = std::move(failed->failure);
    }
    banned_.emplace(index, failure);
    return tl::unexpected(std::move(failure));
  }

  int generation() const override { return generation_; }

 private:
  Status BanAndRestart(size_t index, Failure failure) {
    banned_.emplace(index, std::move(failure));
    return Restart();
  }

  // After the death of the child at the hands of candidate `index`.
  Failure Replace(size_t index, Failure failure) {
    ++generation_;
    const Status restarted = BanAndRestart(index, failure);
    if (!restarted.ok()) {
      broken_ = restarted.message();
      child_.reset();
    }
    return failure;
  }

  void CollectBusy() {
    if (child_.has_value()) Append(busy_, child_->TakeBusyIntervals());
  }

  SpareChildren& spares_;
  const Assignment assignment_;
  const Pace pace_;
  const std::vector<Candidate> candidates_;
  std::vector<BusyInterval>& busy_;
  std::optional<DyingChild>& ended_;
  std::optional<ChildProcess> child_;
  std::vector<std::optional<uint64_t>> loaded_;  // Index in the child, by index here.
  std::map<size_t, Failure> banned_;
  std::string broken_;
  int generation_ = 0;
};

class ChildEvaluator final : public Evaluator {
 public:
  explicit ChildEvaluator(ChildOptions options)
      : options_(WithDefaults(std::move(options))),
        spares_(options_, JobsOf(options_) + kTimingChildren, JobsOf(options_)) {}

  Status Begin(const Problem& problem, uint64_t seed, const EvaluationTerms& terms,
               const ReferenceTerms& reference) override {
    baseline_.reset();
    timed_before_.reset();
    kept_.Clear();
    quick_ns_.clear();
    const int64_t begin_ns = SteadyNowNs();
    ATTUNE_ASSIGN_OR_RETURN(ProblemData data, ProblemData::Create(problem, seed, reference));
    data_.emplace(std::move(data));
    assignment_ = {Text(problem), data_->fd(), terms, options_.memory_limit_bytes};
    operand_bytes_ = OperandBytes(problem);
    busy_.push_back({begin_ns, SteadyNowNs()});
    return Status::Ok();
  }

  Result<std::vector<Config>> List(const SolverId& solver) override {
    Bench own;
    Bench& bench = KeepsChild() ? kept_ : own;
    ATTUNE_RETURN_IF_ERROR(Occupy(bench));
    auto configs = AskForList(*bench.child, solver);
    Append(busy_, bench.child->TakeBusyIntervals());
    if (!configs.ok()) bench.child.reset();
    return configs;
  }

  Result<std::vector<Qualified>> Qualify(std::span<const Candidate> candidates,
                                         int64_t deadline_ns) override {
    if (candidates.empty()) return std::vector<Qualified>();
    std::vector<std::optional<Qualified>> results(candidates.size());
    std::stop_source all_taken;
    std::atomic<size_t> next = 0;
    std::mutex mutex;  // Guards busy_ and first_error.
    Status first_error;
    const auto work = [&](Bench& bench) {
      for (size_t i; (i = next.fetch_add(1)) < candidates.size();) {
        // The first one always runs, so that a tight budget still makes progress.
        if (i > 0 && SteadyNowNs() >= deadline_ns) break;
        std::vector<BusyInterval> busy;
        auto outcome = QualifyOn(bench, candidates[i], busy);
        const std::lock_guard lock(mutex);
        Append(busy_, std::move(busy));
        if (outcome.ok()) {
          results[i] = std::move(*outcome);
        } else if (first_error.ok()) {
          first_error = outcome.error();
        }
      }
      all_taken.request_stop();
    };
    if (KeepsChild()) {
      // On this thread: the system kills children with the thread that started them.
      work(kept_);
    } else {
      std::vector<std::jthread> workers;
      const size_t count = std::min(candidates.size(), JobsOf(options_));
      for (size_t i = 0; i < count; ++i) {
        workers.emplace_back([&] {
          Bench bench;
          work(bench);
        });
      }
      spares_.Supply(candidates.size(), all_taken.get_token());
    }
    std::vector<Qualified> finished;
    for (auto& result : results) {
      if (!result.has_value()) continue;
      if (result->trial.failure() == nullptr) {
        quick_ns_.insert_or_assign(result->trial.candidate, result->quick_ns);
      }
      finished.push_back(std::move(*result));
    }
    // What did finish counts, whatever happened to a neighbour.
    if (finished.empty()) ATTUNE_RETURN_IF_ERROR(first_error);
    if (!baseline_.has_value()) baseline_ = FirstPassed(finished);
    return finished;
  }

  Result<std::unique_ptr<BlockTimer>> StartTiming(std::span<const Candidate> candidates) override {
    timed_before_.reset();
    kept_.Clear();
    spares_.Settle();
    auto timer = std::make_unique<ChildBlockTimer>(
        spares_, WithRoomForCopies(assignment_, operand_bytes_),
        Pace{options_.run_deadline_ns, quick_ns_},
        std::vector<Candidate>(candidates.begin(), candidates.end()), busy_, timed_before_);
    ATTUNE_RETURN_IF_ERROR(timer->Restart());
    return std::unique_ptr<BlockTimer>(std::move(timer));
  }

  std::vector<BusyInterval> TakeBusyIntervals() override { return std::exchange(busy_, {}); }

 private:
  // Where one thread qualifies.
  struct Bench {
    // Who was killed last: it is gone before the next candidate begins, so that they are never in
    // memory together, and leaves its place to that one.
    std::optional<DyingChild> before;
    std::optional<ChildProcess> child;  // Nothing that it was asked so far left anything behind.

    void Clear() {
      before.reset();
      child.reset();
    }
  };

  // Whether one child lists and qualifies until something fails or others are timed: starting one
  // costs more than most candidates.
  bool KeepsChild() const { return options_.share_children && options_.jobs == 1; }

  Status Occupy(Bench& bench) {
    if (bench.child.has_value()) return Status::Ok();
    ATTUNE_ASSIGN_OR_RETURN(ChildProcess started, StartChild(spares_, assignment_));
    bench.child.emplace(std::move(started));
    return Status::Ok();
  }

  Result<Qualified> QualifyOn(Bench& bench, const Candidate& candidate,
                              std::vector<BusyInterval>& busy) {
    const bool is_shared = bench.child.has_value();
    ATTUNE_ASSIGN_OR_RETURN(Qualified result, QualifyOnce(bench, candidate, busy));
    const Failure* failure = result.trial.failure();
    // Those before may have left something behind that it stumbled over.
    const bool is_innocent = failure != nullptr && is_shared &&
                             failure->kind != FailureKind::kNotApplicable &&
                             failure->kind != FailureKind::kTimedOut;
    return is_innocent ? QualifyOnce(bench, candidate, busy) : Result<Qualified>(std::move(result));
  }

  // Whether the child is as good as new: the candidate passed, or did not get so far as to run.
  static bool LeftNothingBehind(const Reply& reply) {
    const auto* failed = std::get_if<FailedReply>(&reply.content);
    if (failed != nullptr) return failed->failure.kind == FailureKind::kNotApplicable;
    return std::holds_alternative<QualifiedReply>(reply.content);
  }

  Result<Qualified> QualifyOnce(Bench& bench, const Candidate& candidate,
                                std::vector<BusyInterval>& busy) {
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
    auto reply = child.Ask(request);
    Append(busy, child.TakeBusyIntervals());
    if (!options_.share_children || !reply || !LeftNothingBehind(*reply)) {
      bench.before.emplace(child.End());
      bench.child.reset();
    }
    if (!reply) {
      result.trial.outcome = std::move(reply.error());
      return result;
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
    result.trial.workspace_bytes = known.workspace_bytes;
    result.trial.max_error = known.max_error;
    return result;
  }

  const ChildOptions options_;
  SpareChildren spares_;
  std::optional<ProblemData> data_;
  Assignment assignment_;
  int64_t operand_bytes_ = 0;
  std::map<Candidate, double> quick_ns_;    // Of those that qualified.
  std::optional<Candidate> baseline_;       // Who outputs are compared with.
  Bench kept_;                              // If KeepsChild().
  std::optional<DyingChild> timed_before_;  // Of the last timer: gone before others are timed.
  std::vector<BusyInterval> busy_;
};

}  // namespace

int64_t BlockDeadlineNs(int64_t run_deadline_ns, int launches, double quick_ns) {
  // One launch more: it warms up, and is not counted.
  const double slowest_ns = kSlowestLaunch * (launches + 1.0) * quick_ns;
  return std::max(run_deadline_ns, static_cast<int64_t>(slowest_ns));
}

Result<std::filesystem::path> FindEvaluatorProgram() {
  if (const char* chosen = std::getenv("ATTUNE_EVALUATOR")) {
    std::error_code ignored;
    if (std::filesystem::exists(chosen, ignored)) return std::filesystem::path(chosen);
    return NotFound(fmt::format("ATTUNE_EVALUATOR names '{}', which does not exist.", chosen));
  }
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto folder = program.parent_path();
  const std::filesystem::path places[] = {
      folder / kProgramName, folder.parent_path() / "libexec" / "attune" / kProgramName};
  for (const auto& place : places) {
    if (std::filesystem::exists(place, error)) return place;
  }
  return NotFound(
      fmt::format("Cannot find the evaluator: neither '{}' nor '{}' exists. Build or "
                  "install it, or set ATTUNE_EVALUATOR.",
                  places[0].string(), places[1].string()));
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

Result<Peaks> MeasurePeaksInChild(const ChildOptions& options) {
  ChildOptions alone = options;
  alone.memory_limit_bytes = static_cast<int64_t>(MemoryLimitBytes());
  ATTUNE_ASSIGN_OR_RETURN(ChildProcess child, ChildProcess::Spawn(alone));
  PeaksRequest request;
  request.device = options.device;
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
