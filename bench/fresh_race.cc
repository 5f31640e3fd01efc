#include "bench/fresh_race.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "attune/base/random.h"
#include "attune/base/unique_fd.h"
#include "attune/tuner/local_evaluator.h"
#include "runtime/machine_lock.h"
#include "runtime/places.h"

extern char** environ;

namespace attune {
namespace {

constexpr const char* kRaceFlag = "--race";
constexpr double kBlockNs = 3e6;
constexpr int kMostLaunches = 20'000;
constexpr uint64_t kSeed = 20250;

std::string ReadToEnd(int fd) {
  std::string text;
  char chunk[4096];
  for (ssize_t got = 0; (got = ::read(fd, chunk, sizeof(chunk))) > 0;) {
    text.append(chunk, static_cast<size_t>(got));
  }
  return text;
}

// Runs this program with `arguments`; returns its output, if it exited with 0. It is called by its
// path, beside which it looks for plug-ins.
Result<std::string> OutputOfSelf(std::vector<std::string> arguments) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return Unavailable("Cannot create a pipe.");
  UniqueFd reading(ends[0]), writing(ends[1]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, writing.get(), STDOUT_FILENO);
  std::error_code error;
  std::string program = std::filesystem::read_symlink("/proc/self/exe", error).string();
  if (error) return Unavailable("Cannot find the path of this program.");
  std::vector<char*> argv = {program.data()};
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_t child = 0;
  const int failed =
      ::posix_spawn(&child, program.c_str(), &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return Unavailable("Cannot start this program again.");
  writing.Reset();
  std::string output = ReadToEnd(reading.get());
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return Internal(fmt::format("The race ended with status {}: {}", status, output));
  }
  return output;
}

// Blocks of about the same length for every candidate that qualified.
std::vector<TimingRequest> RequestsFor(const std::vector<Qualified>& qualified, CacheState cache) {
  std::vector<TimingRequest> requests;
  for (const Qualified& candidate : qualified) {
    const double quick_ns = std::max(candidate.quick_ns, 1.0);
    const int launches =
        static_cast<int>(std::clamp<double>(kBlockNs / quick_ns, 1, kMostLaunches));
    requests.push_back({.launches = launches, .cache = cache});
  }
  return requests;
}

// Rounds in random order, one block of each.
Status TimeRounds(BlockTimer& timer, const std::vector<size_t>& places,
                  const std::vector<TimingRequest>& requests, int rounds, RaceSamples& samples) {
  Random random(kSeed);
  std::vector<size_t> order(places.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  for (int round = 0; round < rounds; ++round) {
    random.Shuffle(std::span<size_t>(order));
    for (const size_t i : order) {
      const auto time_ns = timer.TimeBlock(i, requests[places[i]]);
      if (!time_ns) return Internal(time_ns.error().message);
      samples[places[i]].push_back(*time_ns);
    }
  }
  return Status::Ok();
}

// Exclusive use of the device, as for tuning.
Result<MachineTurns::Grant> TurnAt(const Place& place) {
  const auto machine = MachineLock::Open(place);
  if (!machine.ok() && machine.error().code() != StatusCode::kUnavailable) return machine.error();
  MachineTurns::Grant grant{nullptr, machine.ok() ? "" : machine.error().message()};
  if (machine.ok()) {
    ATTUNE_ASSIGN_OR_RETURN(grant, (*machine)->Take(MachineUse::kTime, nullptr));
  }
  if (!grant.note.empty()) std::fprintf(stderr, "%s\n", grant.note.c_str());
  return grant;
}

Result<RaceSamples> RaceHere(const RacePlan& plan) {
  const LoadedBackends backends = LoadBackends();
  ATTUNE_ASSIGN_OR_RETURN(const Place place, FindPlace(backends.list, plan.device));
  ATTUNE_ASSIGN_OR_RETURN(const MachineTurns::Grant grant, TurnAt(place));
  ATTUNE_ASSIGN_OR_RETURN(const auto device, place.backend->Open(place.device_spec));
  const auto evaluator = MakeLocalEvaluator(place.backend->solvers(), *device);
  ATTUNE_RETURN_IF_ERROR(evaluator->Begin(plan.problem, kSeed, plan.terms, {}));
  ATTUNE_ASSIGN_OR_RETURN(const auto qualified, evaluator->Qualify(plan.candidates, {}, nullptr));
  std::vector<Candidate> sound;
  std::vector<size_t> places;  // Indices of the sound ones in the plan.
  for (size_t i = 0; i < qualified.size(); ++i) {
    if (qualified[i].trial.failure() != nullptr) continue;
    sound.push_back(plan.candidates[i]);
    places.push_back(i);
  }
  RaceSamples samples(plan.candidates.size());
  ATTUNE_ASSIGN_OR_RETURN(const auto timer, evaluator->StartTiming(sound));
  ATTUNE_RETURN_IF_ERROR(
      TimeRounds(*timer, places, RequestsFor(qualified, plan.cache), plan.rounds, samples));
  return samples;
}

// The inverse of the arguments that RaceInFreshProcess passes.
Result<RacePlan> PlanFrom(std::span<char*> arguments) {
  if (arguments.size() < 6) {
    return InvalidArgument("--race takes device, rounds, caches, copies, problem, candidates.");
  }
  RacePlan plan;
  plan.device = arguments[0];
  plan.rounds = std::atoi(arguments[1]);
  plan.cache = ParseCacheState(arguments[2]).value_or(CacheState::kWarm);
  plan.terms.rotation_bytes = std::atoll(arguments[3]);
  ATTUNE_ASSIGN_OR_RETURN(plan.problem, ParseProblem(arguments[4]));
  for (char* text : arguments.subspan(5)) {
    ATTUNE_ASSIGN_OR_RETURN(Candidate candidate, ParseCandidate(text));
    plan.candidates.push_back(std::move(candidate));
  }
  return plan;
}

}  // namespace

Result<RaceSamples> RaceInFreshProcess(const RacePlan& plan) {
  std::vector<std::string> arguments = {kRaceFlag,
                                        plan.device,
                                        std::to_string(plan.rounds),
                                        std::string(Name(plan.cache)),
                                        std::to_string(plan.terms.rotation_bytes),
                                        Text(plan.problem)};
  for (const Candidate& candidate : plan.candidates) arguments.push_back(Text(candidate));
  ATTUNE_ASSIGN_OR_RETURN(const std::string output, OutputOfSelf(std::move(arguments)));
  const auto json = nlohmann::json::parse(output, nullptr, false);
  if (!json.is_array() || json.size() != plan.candidates.size()) {
    return Internal(fmt::format("The race printed something else than samples: {}", output));
  }
  return json.get<RaceSamples>();
}

std::optional<int> MaybeServeRace(int argc, char** argv) {
  if (argc < 2 || std::string_view(argv[1]) != kRaceFlag) return std::nullopt;
  const Result<RacePlan> plan = PlanFrom(std::span<char*>(argv, argc).subspan(2));
  const Result<RaceSamples> samples =
      plan.ok() ? RaceHere(*plan) : Result<RaceSamples>(plan.error());
  if (!samples.ok()) {
    std::fprintf(stderr, "%s\n", samples.error().ToString().c_str());
    return 1;
  }
  std::puts(nlohmann::json(*samples).dump().c_str());
  return 0;
}

}  // namespace attune
