#include "attune/tuner/evaluation_server.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "attune/base/steady_time.h"
#include "attune/base/unique_fd.h"
#include "attune/compile/builder.h"
#include "attune/compile/default_kernel_cache.h"
#include "attune/compile/kernel_cache.h"
#include "attune/problem/own_kernel.h"
#include "attune/tuner/candidate_runner.h"
#include "attune/tuner/child_protocol.h"
#include "attune/tuner/own_reference.h"
#include "attune/verify/problem_data.h"
#include "attune/verify/reference_on_device.h"

namespace attune {
namespace {

// Limit of a message that a library may have made arbitrarily long.
constexpr size_t kMaxFailureBytes = 32768;

// One conversation with the parent. Requests are answered in order.
class EvaluationServer {
 public:
  EvaluationServer(int socket_fd, const BackendList& backends)
      : socket_fd_(socket_fd),
        backends_(backends),
        cache_(OpenDefaultKernelCache().cache),
        // The parent process reads standard error.
        builder_(*cache_, {.on_warnings = [](std::string_view log) {
          (void)std::fwrite(log.data(), 1, log.size(), stderr);
        }}) {}

  // Warms up before the first request. An error answers no request; the request that needs the
  // device or the problem reports it.
  Status WarmUp(const std::string& device, const std::string& problem_text) {
    ATTUNE_ASSIGN_OR_RETURN(const Problem problem, ParseProblem(problem_text));
    ATTUNE_ASSIGN_OR_RETURN(const Backend* backend, OpenDevice(device));
    for (const auto& solver : backend->solvers()) {
      if (!solver->IsApplicable(problem, device_->target()).ok()) continue;
      ATTUNE_ASSIGN_OR_RETURN(const Config config,
                              solver->DefaultConfig(problem, device_->target()));
      ATTUNE_ASSIGN_OR_RETURN(const BuildRecipe recipe,
                              solver->Recipe(problem, config, device_->target()));
      return recipe.empty() ? solver->Load({}, problem, config, *device_).status() : Status::Ok();
    }
    return Status::Ok();
  }

  // Serves until the parent closes. The status says why the conversation broke, if it did.
  Status Serve() {
    ATTUNE_RETURN_IF_ERROR(Send(ListeningReply{}));
    for (;;) {
      ATTUNE_ASSIGN_OR_RETURN(const std::optional<Request> request, NextRequest());
      if (!request.has_value()) return Status::Ok();
      ATTUNE_RETURN_IF_ERROR(
          std::visit([this](const auto& content) { return this->Answer(content); }, *request));
    }
  }

 private:
  // Nothing at the end of the stream.
  Result<std::optional<Request>> NextRequest() {
    for (;;) {
      ATTUNE_ASSIGN_OR_RETURN(const std::optional<std::string> frame, TakeFrame(received_));
      if (frame.has_value()) {
        ATTUNE_ASSIGN_OR_RETURN(Request request, DecodeRequest(*frame));
        return std::optional<Request>(std::move(request));
      }
      if (!ReadFrames(socket_fd_, received_, passed_fd_)) return std::optional<Request>();
    }
  }

  template <class Content>
  Status Send(Content content) {
    const int64_t device_ns = runner_.has_value() ? runner_->TakeDeviceNs() : 0;
    return WriteFrame(socket_fd_, Encode(Reply{SteadyNowNs(), std::move(content), device_ns}));
  }

  Status Answer(const HelloRequest& hello) {
    const Status prepared = Prepare(hello);
    return prepared.ok() ? Send(ReadyReply{}) : Send(RefusedReply{prepared.message()});
  }

  Status Answer(const PeaksRequest& request) {
    const auto peaks = MeasurePeaks(request);
    return peaks.ok() ? Send(PeaksReply{*peaks}) : Send(RefusedReply{peaks.error().message()});
  }

  Result<Peaks> MeasurePeaks(const PeaksRequest& request) {
    ATTUNE_RETURN_IF_ERROR(CheckVersion(request.version));
    ATTUNE_ASSIGN_OR_RETURN(const Backend* backend, FindBackend(backends_, request.device));
    ATTUNE_ASSIGN_OR_RETURN(const auto device, backend->Open(request.device));
    return backend->MeasurePeaks(*device);
  }

  Status Answer(const ReferenceRequest& request) {
    const auto failure = MakeReference(request);
    if (!failure.ok()) return Send(RefusedReply{failure.error().message()});
    if (failure->has_value()) return SendFailure({**failure, {}});
    return Send(ReferencedReply{});
  }

  // Nothing if the reference is there. An error means that this device does not compute it. The
  // mapping ends when this returns: otherwise the parent could not seal it.
  Result<std::optional<Failure>> MakeReference(const ReferenceRequest& request) {
    ATTUNE_RETURN_IF_ERROR(CheckVersion(request.version));
    if (!passed_fd_.valid()) return InvalidArgument("No data of the problem came to be completed.");
    const UniqueFd data_fd = std::move(passed_fd_);
    ATTUNE_ASSIGN_OR_RETURN(const Problem problem, ParseProblem(request.problem));
    ATTUNE_ASSIGN_OR_RETURN(const Backend* backend, OpenDevice(request.device));
    const bool is_own = IsOwnKernel(problem);
    const Solver* solver = backend->reference_solver();
    if (is_own) {
      ATTUNE_ASSIGN_OR_RETURN(solver,
                              FindOwnReference(backend->solvers(), problem, device_->target()));
    }
    if (solver == nullptr) {
      return Unsupported(fmt::format("Device '{}' computes no references.", request.device));
    }
    ATTUNE_RETURN_IF_ERROR(solver->IsApplicable(problem, device_->target()));
    ATTUNE_ASSIGN_OR_RETURN(const Config config, solver->DefaultConfig(problem, device_->target()));
    ATTUNE_ASSIGN_OR_RETURN(ReferenceDraft draft, ReferenceDraft::Map(problem, data_fd.get()));
    ATTUNE_RETURN_IF_ERROR(Send(PhaseReply{Phase::kBuild}));
    const BuildOutcome built =
        builder_.Build({.solver = solver, .problem = problem, .config = config, .is_draft = true},
                       device_->target());
    if (built.failure() != nullptr) return std::optional(*built.failure());
    ATTUNE_RETURN_IF_ERROR(Send(PhaseReply{Phase::kLoad}));
    const auto executable = solver->Load(*built.artifact(), problem, config, *device_);
    if (!executable.ok()) {
      return std::optional(
          Failure{FailureKind::kLoadFailed, Phase::kLoad, executable.error().message()});
    }
    ATTUNE_RETURN_IF_ERROR(Send(PhaseReply{Phase::kRun}));
    const Status computed = is_own ? ComputeOwnReferenceOn(*device_, **executable, problem, draft)
                                   : ComputeReferenceOn(*device_, **executable, problem, draft);
    if (computed.ok()) return std::optional<Failure>();
    // Smaller ones may fit.
    if (computed.code() == StatusCode::kResourceExhausted) return computed;
    return std::optional(Failure{FailureKind::kRunFailed, Phase::kRun, computed.message()});
  }

  // The backend of the device called `spec`, which is `device_` from now on. One that is open
  // stays, unless it has been lost since.
  Result<const Backend*> OpenDevice(const std::string& spec) {
    ATTUNE_ASSIGN_OR_RETURN(const Backend* backend, FindBackend(backends_, spec));
    if (device_ != nullptr && spec == device_spec_ && device_->Synchronize().ok()) return backend;
    device_.reset();
    ATTUNE_ASSIGN_OR_RETURN(device_, backend->Open(spec));
    device_spec_ = spec;
    return backend;
  }

  Status Answer(const CompileRequest& request) {
    const auto built = Compile(request);
    if (!built.ok()) return Send(RefusedReply{built.error().message()});
    if (const Failure* failure = built->failure()) {
      return SendFailure({*failure, {.build_ns = built->build_ns}});
    }
    return Send(CompiledReply{built->build_ns});
  }

  Result<BuildOutcome> Compile(const CompileRequest& request) {
    ATTUNE_RETURN_IF_ERROR(CheckVersion(request.version));
    ATTUNE_ASSIGN_OR_RETURN(const Problem problem, ParseProblem(request.problem));
    ATTUNE_ASSIGN_OR_RETURN(const Candidate candidate, ParseCandidate(request.candidate));
    ATTUNE_ASSIGN_OR_RETURN(const Backend* backend, FindBackend(backends_, request.device));
    const Solver* solver = FindSolver(backend->solvers(), candidate.solver);
    if (solver == nullptr) {
      return NotFound(fmt::format("There is no solver {} here.", Text(candidate.solver)));
    }
    ATTUNE_ASSIGN_OR_RETURN(const Target target, TargetOf(*backend, request.device));
    ATTUNE_RETURN_IF_ERROR(Send(PhaseReply{Phase::kBuild}));
    return builder_.Build({solver, problem, candidate.config, request.is_draft}, target);
  }

  // The target that the driver reports for a device without opening it.
  static Result<Target> TargetOf(const Backend& backend, const std::string& spec) {
    for (const DeviceReport& device : backend.Devices()) {
      if (device.spec == spec) return device.target;
    }
    return NotFound(fmt::format("There is no device '{}' to compile for.", spec));
  }

  static Status CheckVersion(int version) {
    if (version == kChildProtocolVersion) return Status::Ok();
    return FailedPrecondition(
        fmt::format("The parent speaks version {} of the child protocol, this evaluator {}. "
                    "Install both from one build.",
                    version, kChildProtocolVersion));
  }

  Status Prepare(const HelloRequest& hello) {
    ATTUNE_RETURN_IF_ERROR(CheckVersion(hello.version));
    ATTUNE_ASSIGN_OR_RETURN(problem_, ParseProblem(hello.problem));
    ATTUNE_ASSIGN_OR_RETURN(const Backend* backend, OpenDevice(hello.device));
    if (!passed_fd_.valid()) return InvalidArgument("No data of the problem came with the hello.");
    const UniqueFd data_fd = std::move(passed_fd_);
    ATTUNE_ASSIGN_OR_RETURN(ProblemData data, ProblemData::Map(problem_, data_fd.get()));
    data_.emplace(std::move(data));
    // If a phase cannot be reported, the reader is gone; the next request ends the conversation.
    const auto on_phase = [this](Phase phase) {
      (void)Send(PhaseReply{phase});
      if (phase == Phase::kMeasure && awaits_turn_) AwaitTurn();
    };
    EvaluationTerms terms;
    terms.rotation_bytes = hello.rotation_bytes;
    terms.warm_up_launches = hello.warm_up_launches;
    terms.warm_up_ns = hello.warm_up_ns;
    ATTUNE_ASSIGN_OR_RETURN(CandidateRunner runner,
                            CandidateRunner::Create({.solvers = &backend->solvers(),
                                                     .device = device_.get(),
                                                     .problem = &problem_,
                                                     .data = &*data_,
                                                     .builder = &builder_,
                                                     .terms = terms,
                                                     .on_phase = on_phase}));
    runner_.emplace(std::move(runner));
    return Status::Ok();
  }

  Status Answer(const QualifyRequest& request) {
    ATTUNE_ASSIGN_OR_RETURN(const Candidate candidate, ParseForRunner(request.candidate));
    std::optional<Agreement> agreement;
    if (request.agreement.has_value()) {
      ATTUNE_ASSIGN_OR_RETURN(Candidate against, ParseCandidate(request.agreement->against));
      agreement = Agreement{std::move(against), request.agreement->tolerance};
    }
    awaits_turn_ = request.awaits_turn;
    auto qualified = runner_->Qualify(candidate, agreement);
    awaits_turn_ = false;
    if (qualified) return Send(QualifiedReply{*qualified});
    return SendFailure(std::move(qualified.error()));
  }

  // Reads the TurnRequest. After anything else the next read ends the conversation.
  void AwaitTurn() {
    const auto request = NextRequest();
    if (request.ok() && request->has_value() && std::holds_alternative<TurnRequest>(**request)) {
      return;
    }
    ::shutdown(socket_fd_, SHUT_RD);
  }

  static Status Answer(const TurnRequest&) {
    return InvalidArgument("Nothing waits for a turn here.");
  }

  Status Answer(const LoadRequest& request) {
    ATTUNE_ASSIGN_OR_RETURN(const Candidate candidate, ParseForRunner(request.candidate));
    auto index = runner_->Load(candidate);
    if (!index) return SendFailure(std::move(index.error()));
    loaded_count_ = *index + 1;
    return Send(LoadedReply{});
  }

  Status Answer(const ListRequest& request) {
    ATTUNE_ASSIGN_OR_RETURN(const Candidate of_solver, ParseForRunner(request.solver + "{}"));
    if (of_solver.solver != listed_solver_) {
      auto configs = runner_->List(of_solver.solver);
      if (!configs) return SendFailure({std::move(configs.error()), {}});
      listed_solver_ = of_solver.solver;
      listed_ = std::move(*configs);
    }
    ListedReply reply;
    reply.total = listed_.size();
    for (size_t i = request.first; i < listed_.size(); ++i) {
      if (reply.configs.size() == kConfigsPerPage) break;
      reply.configs.push_back(Text(listed_[i]));
    }
    return Send(std::move(reply));
  }

  Status Answer(const TimeRequest& request) {
    if (!runner_.has_value() || request.index >= loaded_count_ || request.launches < 1) {
      return InvalidArgument(fmt::format("Request to time candidate {} of {} with {} launches.",
                                         request.index, loaded_count_, request.launches));
    }
    const auto time_ns = runner_->Time(request.index, {request.launches, request.cache});
    if (time_ns) return Send(TimedReply{*time_ns});
    return SendFailure({time_ns.error(), {}});
  }

  Status Answer(const MeterChildRequest& request) {
    if (!runner_.has_value()) return FailedPrecondition("Figures were asked for before the hello.");
    if (!request.index.has_value()) {
      const Status can = runner_->CheckMeter(request.figures);
      return can.ok() ? Send(MeteredReply{}) : Send(RefusedReply{can.message()});
    }
    if (*request.index >= loaded_count_) {
      return InvalidArgument(fmt::format("Request to measure figures of candidate {} of {}.",
                                         *request.index, loaded_count_));
    }
    auto reading = runner_->Meter(*request.index, request.figures);
    if (reading) return Send(MeteredReply{*std::move(reading)});
    return SendFailure({reading.error(), {}});
  }

  Status Answer(const ConditionsRequest&) {
    if (device_ == nullptr)
      return FailedPrecondition("Conditions were asked for before the hello.");
    return Send(ConditionsReply{device_->Conditions().value_or(DeviceConditions())});
  }

  Result<Candidate> ParseForRunner(const std::string& text) {
    if (!runner_.has_value()) return FailedPrecondition("A candidate came before the hello.");
    return ParseCandidate(text);
  }

  Status SendFailure(FailedCandidate failed) {
    if (failed.failure.message.size() > kMaxFailureBytes) {
      failed.failure.message.resize(kMaxFailureBytes);
    }
    FailedReply reply{std::move(failed.failure), failed.qualification};
    reply.device_lost = device_ != nullptr && !device_->Synchronize().ok();
    // It did apply, and lost the device.
    const bool is_refusal = reply.failure.kind == FailureKind::kNotApplicable;
    if (reply.device_lost && is_refusal) reply.failure.kind = FailureKind::kLoadFailed;
    return Send(std::move(reply));
  }

  const int socket_fd_;
  const BackendList& backends_;
  std::unique_ptr<KernelCache> cache_;
  Builder builder_;
  std::string received_;
  UniqueFd passed_fd_;  // The latest descriptor.
  Problem problem_;
  std::unique_ptr<Device> device_;
  std::string device_spec_;
  std::optional<ProblemData> data_;
  std::optional<CandidateRunner> runner_;
  bool awaits_turn_ = false;  // Set while a QualifyRequest with awaits_turn is answered.
  size_t loaded_count_ = 0;
  SolverId listed_solver_ = {"", 0};  // Solver of `listed_`.
  std::vector<Config> listed_;
};

}  // namespace

int ServeEvaluations(int socket_fd, const BackendList& backends,
                     const std::vector<std::string>& arguments) {
  const pid_t parent = ::getppid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The parent may have died before the line above.
  if (::getppid() != parent) return 1;
  EvaluationServer server(socket_fd, backends);
  if (arguments.size() == 2) (void)server.WarmUp(arguments[0], arguments[1]);
  return server.Serve().ok() ? 0 : 1;
}

}  // namespace attune
