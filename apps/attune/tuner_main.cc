// attune-tuner: tunes one problem after the other for a program that must not wait. Started by the
// run time; docs/formats/tuner_protocol.md has the lines that it reads and writes.

#include <poll.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "apps/attune/cpu_budget.h"
#include "apps/attune/duration.h"
#include "apps/attune/flight_lock.h"
#include "apps/attune/thread_policy.h"
#include "apps/attune/tuning_terms.h"
#include "attune/base/process_variables.h"
#include "attune/base/steady_time.h"
#include "attune/index/candidate_models.h"
#include "attune/index/model_origin.h"
#include "attune/index/refit.h"
#include "attune/measure/clock.h"
#include "attune/tuner/child_evaluator.h"
#include "attune/tuner/tune_run.h"
#include "runtime/launches_at.h"
#include "runtime/machine_lock.h"
#include "runtime/places.h"
#include "runtime/tuner_request.h"
#include "storage/sql/sql_store.h"

namespace attune {
namespace {

// The run time takes a tuner that does not answer for a minute for dead. After this, under
// SCHED_IDLE, it disturbs others no more than they disturb it.
constexpr std::chrono::seconds kTurnPatience{15};

struct TunerSettings {
  std::string database;
  std::string device = "cpu";
  std::string scope = "all";
  std::string per_problem = "2s";
  double cpu_share = 1;
};

// Ends this process as soon as nobody is there to read an answer: whoever asked may be killed at
// any moment, and what was stored by then stays. Not PR_SET_PDEATHSIG, which follows the thread
// that started us. The children end with their parent. Call before StepBack, so that the end does
// not wait for a processor that nobody wants.
void EndWithReader() {
  std::thread([] {
    // Hanging up is told without being asked for.
    pollfd answers{STDOUT_FILENO, 0, 0};
    while (::poll(&answers, 1, -1) <= 0) {
    }
    if ((answers.revents & (POLLHUP | POLLERR)) != 0) ::_exit(0);
  }).detach();
}

// Goes on in a process that is nobody's child: a program that waits for children of any kind must
// not find one that it did not start, or wait for one that never ends. It stays in its process
// group, by which the run time can still end it. Call before any thread is started.
void LeaveParent() {
  const pid_t pid = ::fork();
  // Where no process can be made, being a child has to do.
  if (pid > 0) ::_exit(0);
}

// Everybody else goes first: a thread under SCHED_IDLE runs where nobody wants to.
void StepBack() {
  const sched_param none{};
  // Where the system refuses, being nice has to do.
  (void)::sched_setscheduler(0, SCHED_IDLE, &none);
  (void)::setpriority(PRIO_PROCESS, 0, 19);
  // If memory runs out, the kernel kills this process and its children before the served program.
  std::ofstream("/proc/self/oom_score_adj") << 1000;
}

std::vector<std::string> SolversInScope(const SolverList& solvers, const std::string& scope) {
  std::vector<std::string> names;
  if (scope == "all") return names;
  for (const auto& solver : solvers) {
    const SolverTraits& traits = solver->traits();
    if (traits.last_resort) continue;
    if (scope == "dynamic" ? traits.dynamic : traits.instant) names.push_back(solver->id().name);
  }
  return names;
}

// What tuning needs, opened once.
class BackgroundTuner {
 public:
  static Result<std::unique_ptr<BackgroundTuner>> Open(const TunerSettings& settings) {
    std::unique_ptr<BackgroundTuner> tuner(new BackgroundTuner(settings));
    tuner->backends_.list = LazyBackends();
    ATTUNE_ASSIGN_OR_RETURN(tuner->place_, FindPlaceToMeasure(tuner->backends_, settings.device));
    // Told apart by people who wonder about a record: others were running beside.
    tuner->place_.environment["host.background"] = "yes";
    // Nobody waits for it, and what it has measured is worth more than its time.
    constexpr std::chrono::seconds kPatience{60};
    ATTUNE_ASSIGN_OR_RETURN(tuner->store_, OpenSqlStore(settings.database, {kPatience, 0}));
    ChildOptions children;
    ATTUNE_ASSIGN_OR_RETURN(children.program, FindEvaluatorProgram());
    children.device = settings.device;
    ShareIfCostly(*tuner->place_.backend, children);
    children.jobs = 0;  // Under SCHED_IDLE all of them are nobody's burden.
    tuner->evaluator_ = MakeChildEvaluator(std::move(children));
    ATTUNE_ASSIGN_OR_RETURN(tuner->options_.per_problem_ns, ParseDurationNs(settings.per_problem));
    tuner->options_.solver_filter =
        SolversInScope(tuner->place_.backend->solvers(), settings.scope);
    tuner->options_.select = SelectionAt(tuner->place_);
    // A program is being served meanwhile: what is far slower is worth no launch beside it.
    tuner->options_.prune.factor = kFarSlower;
    tuner->models_at_.database = settings.database;
    if (const auto named = ValueOf(VariablesOfProcess(), "ATTUNE_TIME_MODELS")) {
      tuner->models_at_.files = PathsIn(*named);
    }
    tuner->launches_ = LaunchesAt(tuner->place_);
    tuner->other_places_.emplace(tuner->place_.target);
    if (auto machine = MachineLock::Open(tuner->place_, kTurnPatience); machine.ok()) {
      tuner->machine_ = std::move(*machine);
    } else if (machine.error().code() != StatusCode::kUnavailable) {
      return machine.error();
    }
    return tuner;
  }

  nlohmann::json Tune(const TunerRequest& request) {
    const Problem& problem = request.problem;
    // One process at a time; who comes second finds the records of the first.
    const auto lock = FlightLock::Acquire(settings_.database, problem);
    if (!lock.ok()) return Answer(problem, "failed", lock.error().message());
    TunerParts parts;
    parts.solvers = &place_.backend->solvers();
    parts.target = place_.target;
    parts.environment = place_.environment;
    parts.store = store_.get();
    parts.evaluator = evaluator_.get();
    parts.clock = &clock_;
    parts.machine = machine_.get();
    parts.other_places = &*other_places_;
    // As they are now: somebody may have fitted them again. The run time says what is refused.
    const ModelOrigin origin = OriginOf(place_.target, place_.environment);
    const CandidateModels models(models_at_, origin, launches_);
    parts.models = &models;
    TuneOptions options = UnderTerms(options_, request.terms);
    options.served = request.served;
    Tuner tuner(parts, std::move(options));
    const TaggedProblem tagged{problem, 1};
    const auto summary = TuneAll(tuner, {&tagged, 1}, {}, nullptr);
    if (!summary.ok()) return Answer(problem, "failed", summary.error().message());
    const ProblemOutcome& outcome = summary->outcomes.front();
    if (outcome.kind == ProblemOutcome::Kind::kTuned) ++tuned_since_fit_;
    return Answer(problem, std::string(Name(outcome.kind)), outcome.message);
  }

  // Fits models again whose records have grown, when nothing is measured. What fails leaves the old
  // ones, and is tried again when more was tuned.
  void RefitIfGrown() {
    if (tuned_since_fit_ < kTunedBetweenFits) return;
    tuned_since_fit_ = 0;
    std::unique_ptr<MachineTurns::Turn> turn;
    if (machine_ != nullptr) {
      const int64_t end_ns = SteadyNowNs() + kFitPatienceNs;
      auto grant = machine_->Take(MachineUse::kPrepare, [=] { return SteadyNowNs() < end_ns; });
      if (!grant.ok()) return;
      turn = std::move(grant->turn);
    }
    (void)RefitGrown(*store_, settings_.database, place_.target,
                     OriginOf(place_.target, place_.environment), launches_.get());
  }

 private:
  // To see whether enough was added all records are read.
  static constexpr int kTunedBetweenFits = 8;
  // The next request waits, too, and its program takes a tuner that is silent for long for dead.
  static constexpr int64_t kFitPatienceNs = 5'000'000'000;

  explicit BackgroundTuner(const TunerSettings& settings) : settings_(settings) {}

  static nlohmann::json Answer(const Problem& problem, const std::string& outcome,
                               const std::string& message) {
    return {{"problem", Text(problem)}, {"outcome", outcome}, {"message", message}};
  }

  const TunerSettings settings_;
  LoadedBackends backends_;
  Place place_;
  std::unique_ptr<RecordStore> store_;
  std::unique_ptr<Evaluator> evaluator_;
  std::unique_ptr<MachineTurns> machine_;    // Null where turns cannot be taken.
  std::optional<OtherPlaces> other_places_;  // From Make on.
  SteadyClock clock_;
  TuneOptions options_;
  ModelLocation models_at_;
  std::shared_ptr<const LaunchSource> launches_;
  int tuned_since_fit_ = 0;
};

nlohmann::json AnswerLine(const std::string& line, BackgroundTuner& tuner) {
  const auto request = DecodeTunerRequest(line);
  if (!request.ok()) return {{"outcome", "failed"}, {"message", request.error().message()}};
  return tuner.Tune(*request);
}

// False if nobody can read it.
bool Say(const nlohmann::json& answer) {
  const auto lenient = nlohmann::json::error_handler_t::replace;
  std::cout << answer.dump(-1, ' ', false, lenient) << std::endl;
  return std::cout.good();
}

int Serve(const TunerSettings& settings) {
  const auto tuner = BackgroundTuner::Open(settings);
  for (std::string line; std::getline(std::cin, line);) {
    const int64_t begin_ns = SteadyNowNs();
    const int64_t computed_ns = ProcessorTimeNs();
    nlohmann::json answer =
        tuner.ok() ? AnswerLine(line, **tuner)
                   : nlohmann::json{{"outcome", "failed"}, {"message", tuner.error().message()}};
    const int64_t rest_ns = tuner.ok() ? RestNs(ProcessorTimeNs() - computed_ns,
                                                SteadyNowNs() - begin_ns, settings.cpu_share)
                                       : 0;
    answer["rest_ms"] = rest_ns / 1'000'000;
    if (!Say(answer)) return 1;
    const int64_t fit_begin_ns = SteadyNowNs();
    const int64_t fit_computed_ns = ProcessorTimeNs();
    if (tuner.ok()) (*tuner)->RefitIfGrown();
    const int64_t fit_rest_ns = RestNs(ProcessorTimeNs() - fit_computed_ns,
                                       SteadyNowNs() - fit_begin_ns, settings.cpu_share);
    std::this_thread::sleep_for(std::chrono::nanoseconds(rest_ns + fit_rest_ns));
  }
  return 0;
}

}  // namespace
}  // namespace attune

int main(int argc, char** argv) try {
  attune::DropVariablesOfUser();
  attune::SetThreadWaitPolicy(argv);
  std::signal(SIGPIPE, SIG_IGN);
  attune::LeaveParent();
  attune::EndWithReader();
  attune::StepBack();
  CLI::App program("Tunes problems for a running program; reads requests from its input.");
  attune::TunerSettings settings;
  program.add_option("--db", settings.database, "Where records go")->required();
  program.add_option("--device", settings.device, "Device to tune on");
  program.add_option("--scope", settings.scope, "Solvers that take part")
      ->check(CLI::IsMember({"all", "dynamic", "loaded"}));
  program.add_option("--per-problem", settings.per_problem, "Time for one problem, as 2s");
  program.add_option("--cpu-share", settings.cpu_share, "Part of one core, on average")
      ->check(CLI::Range(0.001, 1.0));
  CLI11_PARSE(program, argc, argv);
  return attune::Serve(settings);
} catch (const std::exception&) {
  // Limits leave no thread or memory. The served program notices the end of this process.
  // Standard error belongs to that program, so this prints nothing.
  return 1;
}
