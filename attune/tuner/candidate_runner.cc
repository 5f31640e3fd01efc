#include "attune/tuner/candidate_runner.h"

#include <algorithm>
#include <cassert>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "attune/base/steady_time.h"
#include "attune/measure/block_timer.h"
#include "attune/verify/verifier.h"

namespace attune {
namespace {

// How long other thread runtimes may take to fall asleep after a block. OpenBLAS built with its
// default time-out spins for some 30 ms.
constexpr int64_t kQuiescenceLimitNs = 500'000'000;
constexpr int kQuickRuns = 3;
constexpr double kQuickBlockNs = 500e3;
constexpr double kMostQuickLaunches = 1000;

FailureKind KindOf(const Status& status, FailureKind otherwise) {
  switch (status.code()) {
    case StatusCode::kUnsupported:
    case StatusCode::kUnavailable:
      return FailureKind::kNotApplicable;
    case StatusCode::kResourceExhausted:
      return FailureKind::kOutOfMemory;
    default:
      return otherwise;
  }
}

}  // namespace

Result<CandidateRunner> CandidateRunner::Create(const SolverList& solvers, Device& device,
                                                const Problem& problem, const ProblemData& data,
                                                Builder& builder, PhaseListener on_phase) {
  ATTUNE_ASSIGN_OR_RETURN(BoundOperands operands, BoundOperands::Create(device, problem, data));
  return CandidateRunner(solvers, device, problem, data, builder, std::move(on_phase),
                         std::move(operands));
}

CandidateRunner::CandidateRunner(const SolverList& solvers, Device& device, const Problem& problem,
                                 const ProblemData& data, Builder& builder, PhaseListener on_phase,
                                 BoundOperands operands)
    : solvers_(solvers),
      device_(device),
      problem_(problem),
      data_(data),
      builder_(builder),
      on_phase_(std::move(on_phase)),
      operands_(std::move(operands)) {}

tl::expected<std::unique_ptr<Executable>, FailedCandidate> CandidateRunner::MakeReady(
    const Candidate& candidate, Qualification& qualification) {
  const auto fail = [&](FailureKind kind, Phase phase, std::string message) {
    return tl::unexpected(FailedCandidate{{kind, phase, std::move(message)}, qualification});
  };
  const Solver* solver = FindSolver(solvers_, candidate.solver);
  if (solver == nullptr) {
    return fail(FailureKind::kNotApplicable, Phase::kBuild,
                fmt::format("There is no solver {} here.", Text(candidate.solver)));
  }
  on_phase_(Phase::kBuild);
  const BuildOutcome built = builder_.Build({solver, problem_, candidate.config}, device_.target());
  qualification.build_ns = built.build_ns;
  if (const Failure* failure = built.failure()) {
    return tl::unexpected(FailedCandidate{*failure, qualification});
  }
  on_phase_(Phase::kLoad);
  const int64_t begin_ns = SteadyNowNs();
  auto executable = solver->Load(*built.artifact(), problem_, candidate.config, device_);
  if (!executable.ok()) {
    return fail(KindOf(executable.error(), FailureKind::kLoadFailed), Phase::kLoad,
                executable.error().message());
  }
  if (const Status done = device_.Synchronize(); !done.ok()) {
    return fail(FailureKind::kLoadFailed, Phase::kLoad, done.message());
  }
  qualification.load_ns = SteadyNowNs() - begin_ns;
  qualification.workspace_bytes = static_cast<int64_t>((*executable)->workspace_bytes());
  if (const Status reserved = operands_.ReserveWorkspace((*executable)->workspace_bytes());
      !reserved.ok()) {
    return fail(KindOf(reserved, FailureKind::kOutOfMemory), Phase::kLoad, reserved.message());
  }
  return std::move(*executable);
}

tl::expected<Qualification, FailedCandidate> CandidateRunner::Qualify(const Candidate& candidate) {
  Qualification qualification;
  auto executable = MakeReady(candidate, qualification);
  if (!executable) return tl::unexpected(executable.error());
  on_phase_(Phase::kVerify);
  Verdict verdict = Verify(**executable, device_, operands_, data_, problem_);
  qualification.max_error = verdict.max_error;
  if (verdict.failure.has_value()) {
    return tl::unexpected(FailedCandidate{std::move(*verdict.failure), qualification});
  }
  on_phase_(Phase::kMeasure);
  const auto quick_ns = QuickTime(**executable);
  if (!quick_ns) return tl::unexpected(FailedCandidate{quick_ns.error(), qualification});
  qualification.quick_ns = *quick_ns;
  return qualification;
}

tl::expected<double, Failure> CandidateRunner::QuickTime(Executable& executable) {
  std::optional<double> best_ns;
  for (int run = 0; run < kQuickRuns; ++run) {
    // The first launch wakes threads that slept through the verification, which may take longer
    // than a small product.
    const double known_ns = best_ns.value_or(kQuickBlockNs);
    TimingRequest request;
    request.launches =
        static_cast<int>(std::clamp(kQuickBlockNs / known_ns, 1.0, kMostQuickLaunches));
    const auto time_ns = device_.TimeNs(executable, operands_.arguments(), request);
    if (!time_ns.ok()) {
      return tl::unexpected(
          Failure{FailureKind::kRunFailed, Phase::kMeasure, time_ns.error().message()});
    }
    best_ns = std::min(best_ns.value_or(*time_ns), *time_ns);
    // Far above the noise: not repeated.
    if (*time_ns > kLongLaunchNs) break;
  }
  return *best_ns;
}

tl::expected<size_t, FailedCandidate> CandidateRunner::Load(const Candidate& candidate) {
  Qualification qualification;
  auto executable = MakeReady(candidate, qualification);
  if (!executable) return tl::unexpected(executable.error());
  if (const Status asleep = device_.AwaitQuiescence(kQuiescenceLimitNs); !asleep.ok()) {
    return tl::unexpected(
        FailedCandidate{{FailureKind::kLoadFailed, Phase::kLoad, asleep.message()}, qualification});
  }
  loaded_.push_back({std::move(*executable), 0});
  return loaded_.size() - 1;
}

tl::expected<double, Failure> CandidateRunner::Time(size_t index, const TimingRequest& request) {
  assert(index < loaded_.size());
  Loaded& candidate = loaded_[index];
  const auto fail = [](const Status& status) {
    return tl::unexpected(Failure{FailureKind::kRunFailed, Phase::kMeasure, status.message()});
  };
  on_phase_(Phase::kMeasure);
  // Somebody else ran before: one launch brings code, operands and threads back.
  const bool first = candidate.last_ns == 0;
  if (first || (request.cache == CacheState::kWarm && candidate.last_ns < kLongLaunchNs)) {
    if (const Status ran = candidate.executable->Run(operands_.arguments()); !ran.ok()) {
      return fail(ran);
    }
    if (const Status done = device_.Synchronize(); !done.ok()) return fail(done);
  }
  const auto time_ns = device_.TimeNs(*candidate.executable, operands_.arguments(), request);
  if (!time_ns.ok()) return fail(time_ns.error());
  // Before the next block everything is asleep again; whoever keeps a processor busy is the one to
  // blame.
  if (const Status asleep = device_.AwaitQuiescence(kQuiescenceLimitNs); !asleep.ok()) {
    return fail(asleep);
  }
  candidate.last_ns = *time_ns;
  return *time_ns;
}

}  // namespace attune
