#include "attune/tuner/candidate_runner.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "attune/base/steady_time.h"
#include "attune/measure/block_timer.h"
#include "attune/verify/memory_limit.h"
#include "attune/verify/output_check.h"
#include "attune/verify/special_values.h"
#include "attune/verify/verifier.h"

namespace attune {
namespace {

// Time limit for other thread runtimes to fall asleep after a block. OpenBLAS built with its
// default time-out spins for some 30 ms.
constexpr int64_t kQuiescenceLimitNs = 500'000'000;
constexpr int kQuickRuns = 3;
constexpr double kQuickBlockNs = 500e3;
constexpr double kMostQuickLaunches = 1000;
// A candidate whose first block takes this many times as long as the best one is not timed again.
constexpr double kHopelessFactor = 3;
// Limit of every requested warm-up, because the phase has a deadline.
constexpr int64_t kLongestWarmUpNs = 5'000'000'000;
// Limit over all blocks that are ready at once: at some 2 KiB per launch, host and device, about
// 100 MB. A race of 48 candidates of 3 us needs half of it.
constexpr int64_t kMostReadyLaunches = 65'536;
// Longer than any plausible phase.
constexpr double kMostDeviceNs = 1e18;
// The share of the memory that copies of the operands may take, as a divisor.
constexpr size_t kMostMemoryForCopies = 4;

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

Result<CandidateRunner> CandidateRunner::Create(RunnerParts parts) {
  ATTUNE_ASSIGN_OR_RETURN(BoundOperands operands,
                          BoundOperands::Create(*parts.device, *parts.problem, *parts.data));
  return CandidateRunner(std::move(parts), std::move(operands));
}

CandidateRunner::CandidateRunner(RunnerParts parts, BoundOperands operands)
    : parts_(std::move(parts)),
      operands_(std::move(operands)),
      repeating_(dynamic_cast<RepeatingDevice*>(parts_.device)) {}

tl::expected<std::vector<Config>, Failure> CandidateRunner::List(const SolverId& id) {
  const Solver* solver = FindSolver(*parts_.solvers, id);
  if (solver == nullptr) {
    return tl::unexpected(Failure{FailureKind::kNotApplicable, Phase::kLoad,
                                  fmt::format("There is no solver {} here.", Text(id))});
  }
  parts_.on_phase(Phase::kLoad);
  auto configs = solver->ListOn(*parts_.device, *parts_.problem);
  if (configs.ok()) return std::move(*configs);
  return tl::unexpected(Failure{KindOf(configs.error(), FailureKind::kLoadFailed), Phase::kLoad,
                                configs.error().message()});
}

tl::expected<std::unique_ptr<Executable>, FailedCandidate> CandidateRunner::MakeReady(
    const Candidate& candidate, Qualification& qualification) {
  const auto fail = [&](FailureKind kind, Phase phase, std::string message) {
    return tl::unexpected(FailedCandidate{{kind, phase, std::move(message)}, qualification});
  };
  const Solver* solver = FindSolver(*parts_.solvers, candidate.solver);
  if (solver == nullptr) {
    return fail(FailureKind::kNotApplicable, Phase::kBuild,
                fmt::format("There is no solver {} here.", Text(candidate.solver)));
  }
  is_asleep_ = false;
  parts_.on_phase(Phase::kBuild);
  const BuildRequest request{
      .solver = solver, .problem = *parts_.problem, .config = candidate.config, .is_draft = true};
  const BuildOutcome built = parts_.builder->Build(request, parts_.device->target());
  qualification.build_ns = built.build_ns;
  if (const Failure* failure = built.failure()) {
    return tl::unexpected(FailedCandidate{*failure, qualification});
  }
  parts_.on_phase(Phase::kLoad);
  const int64_t begin_ns = SteadyNowNs();
  auto loaded = parts_.builder->Load(request, *built.artifact(), *parts_.device);
  if (!loaded.ok()) {
    return fail(KindOf(loaded.error(), FailureKind::kLoadFailed), Phase::kLoad,
                loaded.error().message());
  }
  std::unique_ptr<Executable> executable = std::move(loaded->executable);
  if (const Status done = parts_.device->Synchronize(); !done.ok()) {
    return fail(FailureKind::kLoadFailed, Phase::kLoad, done.message());
  }
  qualification.load_ns = SteadyNowNs() - begin_ns;
  // The workspace may move.
  for (Loaded& other : loaded_) ForgetBlock(other);
  qualification.workspace_bytes = static_cast<int64_t>(executable->workspace_bytes());
  if (const Status reserved = operands_.ReserveWorkspace(executable->workspace_bytes());
      !reserved.ok()) {
    return fail(KindOf(reserved, FailureKind::kOutOfMemory), Phase::kLoad, reserved.message());
  }
  return executable;
}

tl::expected<Qualification, FailedCandidate> CandidateRunner::Qualify(
    const Candidate& candidate, const std::optional<Agreement>& agreement) {
  Qualification qualification;
  auto executable = MakeReady(candidate, qualification);
  if (!executable) return tl::unexpected(executable.error());
  parts_.on_phase(Phase::kVerify);
  Verdict verdict = Verify(**executable, *parts_.device, operands_, *parts_.data, *parts_.problem);
  qualification.max_error = verdict.max_error;
  if (verdict.failure.has_value()) {
    return tl::unexpected(FailedCandidate{std::move(*verdict.failure), qualification});
  }
  if (agreement.has_value() && agreement->against != candidate) {
    if (auto failure = CheckAgreement(*agreement)) {
      return tl::unexpected(FailedCandidate{std::move(*failure), qualification});
    }
    // The threads of the other one ran last.
    if (const Status asleep = FallAsleep(); !asleep.ok()) {
      return tl::unexpected(FailedCandidate{
          {FailureKind::kRunFailed, Phase::kVerify, asleep.message()}, qualification});
    }
  }
  const Solver& solver = *FindSolver(*parts_.solvers, candidate.solver);
  if (solver.KeepsSpecialValues(*parts_.problem)) {
    if (auto failure = CheckSpecialValues(**executable, *parts_.device, operands_, *parts_.data,
                                          *parts_.problem)) {
      return tl::unexpected(FailedCandidate{std::move(*failure), qualification});
    }
  }
  parts_.on_phase(Phase::kMeasure);
  const Status captured = parts_.device->TryCapture(**executable, operands_.arguments());
  const auto quick_ns = QuickTime(**executable);
  if (!quick_ns) return tl::unexpected(FailedCandidate{quick_ns.error(), qualification});
  qualification.quick_ns = *quick_ns;
  device_ns_ += *quick_ns;  // The launch that was verified.
  if (!captured.ok()) qualification.capture_failure = captured.message();
  return qualification;
}

std::optional<Failure> CandidateRunner::CheckAgreement(const Agreement& agreement) {
  const auto fail = [](FailureKind kind, std::string message) {
    return Failure{kind, Phase::kVerify, std::move(message)};
  };
  const auto actual = operands_.DownloadOutput();
  if (!actual.ok()) return fail(FailureKind::kRunFailed, actual.error().message());
  const auto expected = OutputOf(agreement.against);
  if (!expected.ok()) return fail(FailureKind::kNotApplicable, expected.error().message());
  const auto verdict = CompareOutputs(agreement.tolerance, Operands(*parts_.problem).back().tensor,
                                      *expected, *actual);
  if (!verdict.ok()) return fail(FailureKind::kNotApplicable, verdict.error().message());
  if (verdict->agrees) return std::nullopt;
  return fail(FailureKind::kWrongResult,
              fmt::format("{} elements do not agree with {} within atol {} and rtol {}. The first, "
                          "at element offset {}, is {:.9g} instead of {:.9g}. Seed {}.",
                          verdict->bad_elements, Text(agreement.against), agreement.tolerance.atol,
                          agreement.tolerance.rtol, verdict->first_bad_element, verdict->actual,
                          verdict->expected, parts_.data->seed()));
}

Result<std::vector<std::byte>> CandidateRunner::OutputOf(const Candidate& candidate) {
  Qualification unused;
  auto executable = MakeReady(candidate, unused);
  if (!executable) {
    return Internal(fmt::format("There is no output of {} to compare with: {}", Text(candidate),
                                executable.error().failure.message));
  }
  parts_.on_phase(Phase::kVerify);
  ATTUNE_RETURN_IF_ERROR(operands_.Reset());
  ATTUNE_RETURN_IF_ERROR((*executable)->Run(operands_.arguments()));
  ATTUNE_RETURN_IF_ERROR(parts_.device->Synchronize());
  return operands_.DownloadOutput();
}

tl::expected<double, Failure> CandidateRunner::QuickTime(Executable& executable) {
  std::optional<double> best_ns;
  for (int run = 0; run < kQuickRuns; ++run) {
    // The first launch wakes threads that slept through the verification, which may take longer
    // than a small GEMM.
    const double known_ns = best_ns.value_or(kQuickBlockNs);
    TimingRequest request;
    request.launches =
        static_cast<int>(std::clamp(kQuickBlockNs / known_ns, 1.0, kMostQuickLaunches));
    const auto time_ns = parts_.device->TimeNs(executable, operands_.arguments(), request);
    if (!time_ns.ok()) {
      return tl::unexpected(
          Failure{FailureKind::kRunFailed, Phase::kMeasure, time_ns.error().message()});
    }
    device_ns_ += request.launches * *time_ns;
    best_ns = std::min(best_ns.value_or(*time_ns), *time_ns);
    // Far above the noise: not repeated.
    if (*time_ns > kLongLaunchNs || IsHopeless(*time_ns)) break;
  }
  best_quick_ns_ = std::min(best_quick_ns_.value_or(*best_ns), *best_ns);
  return *best_ns;
}

tl::expected<size_t, FailedCandidate> CandidateRunner::Load(const Candidate& candidate) {
  Qualification qualification;
  auto executable = MakeReady(candidate, qualification);
  if (!executable) return tl::unexpected(executable.error());
  if (const Status asleep = FallAsleep(); !asleep.ok()) {
    return tl::unexpected(
        FailedCandidate{{FailureKind::kLoadFailed, Phase::kLoad, asleep.message()}, qualification});
  }
  loaded_.emplace_back().executable = std::move(*executable);
  return loaded_.size() - 1;
}

bool CandidateRunner::IsHopeless(double launch_ns) const {
  // Shorter blocks may be slow only because threads had to wake up.
  return launch_ns >= kQuickBlockNs && best_quick_ns_.has_value() &&
         launch_ns > kHopelessFactor * *best_quick_ns_;
}

Status CandidateRunner::FallAsleep() {
  ATTUNE_RETURN_IF_ERROR(parts_.device->AwaitQuiescence(kQuiescenceLimitNs));
  is_asleep_ = true;
  return Status::Ok();
}

Status CandidateRunner::MakeCopies() {
  if (copies_.has_value()) return Status::Ok();
  if (parts_.terms.rotation_bytes <= 0) {
    return InvalidArgument("Rotating operands were asked for, and no size of their copies.");
  }
  // Candidates that were loaded before share the memory with the copies.
  const size_t limit_bytes = MemoryLimitBytes() / kMostMemoryForCopies;
  ATTUNE_ASSIGN_OR_RETURN(RotatingOperands copies,
                          RotatingOperands::Create(*parts_.device, *parts_.problem, operands_,
                                                   parts_.terms.rotation_bytes, limit_bytes));
  copies_.emplace(std::move(copies));
  return Status::Ok();
}

Result<int64_t> CandidateRunner::WarmUp(Executable& executable, bool is_first) {
  const bool is_asked = parts_.terms.warm_up_launches > 0 || parts_.terms.warm_up_ns > 0;
  const int64_t most = !is_first || !is_asked              ? 1
                       : parts_.terms.warm_up_launches > 0 ? parts_.terms.warm_up_launches
                                                           : std::numeric_limits<int64_t>::max();
  const int64_t longest_ns = parts_.terms.warm_up_ns > 0
                                 ? std::min(parts_.terms.warm_up_ns, kLongestWarmUpNs)
                                 : kLongestWarmUpNs;
  const int64_t begin_ns = SteadyNowNs();
  int64_t launches = 0;
  while (launches < most) {
    ATTUNE_RETURN_IF_ERROR(executable.Run(operands_.arguments()));
    ATTUNE_RETURN_IF_ERROR(parts_.device->Synchronize());
    ++launches;
    if (SteadyNowNs() - begin_ns >= longest_ns) break;
  }
  return launches;
}

void CandidateRunner::ForgetBlock(Loaded& candidate) {
  if (candidate.block != nullptr) ready_launches_ -= candidate.of_block.launches;
  candidate.block.reset();
  candidate.of_block.launches = 0;
}

Result<TimedBlock*> CandidateRunner::ReadyBlock(Loaded& candidate, const TimingRequest& request) {
  const TimingRequest& ready = candidate.of_block;
  if (ready.launches == request.launches && ready.cache == request.cache) {
    return candidate.block.get();
  }
  ForgetBlock(candidate);
  if (ready_launches_ + request.launches > kMostReadyLaunches) return nullptr;
  ATTUNE_ASSIGN_OR_RETURN(candidate.block, repeating_->MakeBlock(*candidate.executable,
                                                                 operands_.arguments(), request));
  candidate.of_block = request;
  if (candidate.block != nullptr) ready_launches_ += request.launches;
  return candidate.block.get();
}

Result<double> CandidateRunner::TimeBlock(Loaded& candidate, Executable& timed,
                                          const TimingRequest& request) {
  // An executable that steps through copies launches on other operands each time.
  const bool repeats = repeating_ != nullptr && &timed == candidate.executable.get();
  if (repeats) {
    ATTUNE_ASSIGN_OR_RETURN(TimedBlock * block, ReadyBlock(candidate, request));
    if (block != nullptr) return block->TimeNs();
  }
  return parts_.device->TimeNs(timed, operands_.arguments(), request);
}

int64_t CandidateRunner::TakeDeviceNs() {
  // A time that is out of range comes from a faulty clock and is ignored.
  const double device_ns = std::exchange(device_ns_, 0);
  return device_ns > 0 && device_ns < kMostDeviceNs ? std::llround(device_ns) : 0;
}

tl::expected<double, Failure> CandidateRunner::Time(size_t index, const TimingRequest& request) {
  assert(index < loaded_.size());
  Loaded& candidate = loaded_[index];
  const auto fail = [](const Status& status) {
    return tl::unexpected(Failure{FailureKind::kRunFailed, Phase::kMeasure, status.message()});
  };
  parts_.on_phase(Phase::kMeasure);
  std::optional<RotatingExecutable> rotating;
  TimingRequest of_device = request;
  if (request.cache == CacheState::kRotating) {
    if (const Status made = MakeCopies(); !made.ok()) return fail(made);
    rotating.emplace(*candidate.executable, *copies_);
    of_device.cache = CacheState::kWarm;
  }
  // Asleep since the last block, unless that one or a load after it failed on its way.
  if (!is_asleep_) {
    if (const Status asleep = FallAsleep(); !asleep.ok()) return fail(asleep);
  }
  is_asleep_ = false;
  Executable& timed = rotating ? static_cast<Executable&>(*rotating) : *candidate.executable;
  // Another candidate ran before: one launch brings code, operands and threads back.
  const bool first = candidate.last_ns == 0;
  int64_t warm_ups = 0;
  if (first || (request.cache != CacheState::kCold && candidate.last_ns < kLongLaunchNs)) {
    const auto launches = WarmUp(timed, first);
    if (!launches.ok()) return fail(launches.error());
    warm_ups = *launches;
  }
  const auto time_ns = TimeBlock(candidate, timed, of_device);
  if (!time_ns.ok()) return fail(time_ns.error());
  device_ns_ += static_cast<double>(warm_ups + request.launches) * *time_ns;
  // Before the next block all threads must be asleep again; the candidate that keeps a processor
  // busy fails.
  if (const Status asleep = FallAsleep(); !asleep.ok()) return fail(asleep);
  candidate.last_ns = *time_ns;
  return *time_ns;
}

}  // namespace attune
