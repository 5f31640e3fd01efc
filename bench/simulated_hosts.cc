#include "bench/simulated_hosts.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "attune/base/spawn_settings.h"
#include "attune/base/steady_time.h"
#include "bench/figures.h"

namespace attune {
namespace {

constexpr std::string_view kBackend = "simulated";
constexpr std::chrono::milliseconds kLook{2};

std::atomic<bool> asked_to_end = false;

// Ends once the steady clock is at `end_ns`. Uses only calls that are safe after a fork beside
// threads.
[[noreturn]] void LiveUntil(int64_t end_ns) {
  constexpr int64_t kNsPerSecond = 1'000'000'000;
  const timespec end = {end_ns / kNsPerSecond, end_ns % kNsPerSecond};
  while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, nullptr) == EINTR) continue;
  ::_exit(0);
}

// Keeps its device busy with a process for each job, which lives for as long as a job takes.
class ProcessDoer final : public JobDoer {
 public:
  explicit ProcessDoer(int64_t job_ms) : job_ns_(job_ms * 1'000'000) {}

  std::vector<JobStep> StepsOf(const Session& session) override {
    if (session.terms.backend != kBackend) return {};
    return {kBenchStep};
  }
  void LookAgain() override {}
  Result<std::vector<JobReport>> Do(const Session&, const std::vector<Job>& jobs) override {
    std::vector<JobReport> reports;
    for (const Job& job : jobs) {
      const int64_t end_ns = SteadyNowNs() + job_ns_;
      const pid_t process = ::fork();
      if (process == 0) LiveUntil(end_ns);
      int status = -1;
      if (process > 0) ::waitpid(process, &status, 0);
      reports.push_back({{job.id, job.attempts}, JobState::kDone, 0, "s", {}});
      if (status != 0) reports.back().state = JobState::kFailed;
    }
    return reports;
  }
  std::string WhyNoMore() override { return ""; }

 private:
  const int64_t job_ns_;
};

// A process of this program.
pid_t StartDevice(const FleetPlace& place, const std::string& name, int64_t job_ms) {
  const std::vector<std::string> words = {
      "/proc/self/exe", "--device",     name,      "--job-ms", fmt::format("{}", job_ms),
      "--database",     place.database, "--queue", place.queue};
  pid_t process = -1;
  const int error = SpawnSettings().Spawn(words, environ, &process);
  Require(error == 0 ? Status::Ok() : Internal("No process could be started."));
  return process;
}

}  // namespace

double DevicesKeptBusy(BenchFleet& fleet, const FleetPlace& place, const SimulatedHosts& hosts) {
  const int64_t session = fleet.NewSession("simulated", std::string(kBackend));
  const int64_t before = fleet.RunningWorkers();
  std::vector<pid_t> devices;
  for (int host = 0; host < hosts.hosts; ++host) {
    for (int device = 0; device < hosts.devices; ++device) {
      devices.push_back(StartDevice(place, fmt::format("host{}/{}", host, device), hosts.job_ms));
    }
  }
  while (fleet.RunningWorkers() - before < std::ssize(devices)) std::this_thread::sleep_for(kLook);
  const int64_t count = hosts.jobs_of_a_device * std::ssize(devices);
  fleet.Load(session, {count, 1});
  const auto start = WallClock::now();
  fleet.Publish();
  while (!fleet.IsDone(session)) std::this_thread::sleep_for(10 * kLook);
  const double took_s = SecondsSince(start);
  for (const pid_t device : devices) ::kill(device, SIGTERM);
  for (const pid_t device : devices) {
    int status = -1;
    ::waitpid(device, &status, 0);
    Require(status == 0 ? Status::Ok() : Internal("A simulated device ended with a failure."));
  }
  fleet.Close(session);
  return static_cast<double>(count) * 1e-3 * static_cast<double>(hosts.job_ms) / took_s;
}

int RunDevice(const FleetPlace& place, const std::string& name, int64_t job_ms) {
  ::signal(SIGTERM, [](int) { asked_to_end = true; });
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  BenchFleet fleet(place.database, place.queue);
  ProcessDoer doer(job_ms);
  fleet.Work(name, doer, &asked_to_end);
  return 0;
}

}  // namespace attune
