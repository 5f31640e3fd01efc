#include "backends/host/perf_counters.h"

#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "attune/base/unique_fd.h"

namespace attune::host {
namespace {

struct PerfCounter {
  std::string_view name;
  uint32_t type;
  uint64_t config;
};

constexpr uint64_t CacheEvent(uint64_t cache, uint64_t result) {
  return cache | uint64_t{PERF_COUNT_HW_CACHE_OP_READ} << 8 | result << 16;
}

constexpr PerfCounter kCounters[] = {
    {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {"cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES},
    {"cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    {"branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
    {"branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
    {"L1-dcache-loads", PERF_TYPE_HW_CACHE,
     CacheEvent(PERF_COUNT_HW_CACHE_L1D, PERF_COUNT_HW_CACHE_RESULT_ACCESS)},
    {"L1-dcache-load-misses", PERF_TYPE_HW_CACHE,
     CacheEvent(PERF_COUNT_HW_CACHE_L1D, PERF_COUNT_HW_CACHE_RESULT_MISS)},
    {"LLC-loads", PERF_TYPE_HW_CACHE,
     CacheEvent(PERF_COUNT_HW_CACHE_LL, PERF_COUNT_HW_CACHE_RESULT_ACCESS)},
    {"LLC-load-misses", PERF_TYPE_HW_CACHE,
     CacheEvent(PERF_COUNT_HW_CACHE_LL, PERF_COUNT_HW_CACHE_RESULT_MISS)},
    {"task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
    {"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS}};

Result<PerfCounter> Named(const std::string& name) {
  const auto* const found = std::ranges::find(kCounters, name, &PerfCounter::name);
  if (found != std::end(kCounters)) return *found;
  return NotFound(fmt::format("The processor has no counter '{}'. It may have {}.", name,
                              fmt::join(PerfCounterNames(), ", ")));
}

perf_event_attr EventOf(const PerfCounter& counter) {
  perf_event_attr event = {};
  event.size = sizeof event;
  event.type = counter.type;
  event.config = counter.config;
  event.disabled = 1;
  event.inherit = 1;
  event.exclude_kernel = 1;  // By default, users may not count there.
  event.exclude_hv = 1;
  event.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  return event;
}

Status Refusal(std::string_view counter, int error) {
  if (error == EACCES || error == EPERM) {
    return Unavailable(
        fmt::format("The system lets this process not count '{}': {}. 2 or less in "
                    "/proc/sys/kernel/perf_event_paranoid permits it, as does CAP_PERFMON; in a "
                    "container its profile of system calls has to, too.",
                    counter, std::strerror(error)));
  }
  if (error == EMFILE || error == ENFILE) {
    return ResourceExhausted(fmt::format("There is no descriptor left to count '{}' with: {}.",
                                         counter, std::strerror(error)));
  }
  return Unsupported(
      fmt::format("The processor counts no '{}' here: {}. Most virtual machines have no counters.",
                  counter, std::strerror(error)));
}

std::vector<pid_t> ThreadsOfProcess() {
  std::vector<pid_t> threads;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", error)) {
    const std::string name = entry.path().filename().string();
    pid_t thread = 0;
    std::from_chars(name.data(), name.data() + name.size(), thread);
    if (thread > 0) threads.push_back(thread);
  }
  return threads;
}

// One counter of each thread.
class OpenedCounter {
 public:
  static Result<OpenedCounter> Open(const PerfCounter& counter, const OpenPerfEvent& open) {
    OpenedCounter opened(counter.name);
    for (const pid_t thread : ThreadsOfProcess()) {
      perf_event_attr event = EventOf(counter);
      UniqueFd fd(open(event, thread));
      if (fd.valid()) {
        opened.threads_.push_back(std::move(fd));
      } else if (errno != ESRCH) {  // It has ended since.
        return Refusal(counter.name, errno);
      }
    }
    return opened;
  }

  void Start() const { ControlAll(PERF_EVENT_IOC_ENABLE); }
  void Stop() const { ControlAll(PERF_EVENT_IOC_DISABLE); }

  Result<double> Value() const {
    double sum = 0;
    for (const UniqueFd& thread : threads_) {
      struct {
        uint64_t value, enabled, running;
      } read = {};
      if (::read(thread.get(), &read, sizeof read) != sizeof read) {
        return Unavailable(
            fmt::format("The count of '{}' cannot be read: {}.", name_, std::strerror(errno)));
      }
      if (read.enabled > 0 && read.running == 0) {
        return Unavailable(fmt::format(
            "The processor was too busy with other counters for '{}': count fewer.", name_));
      }
      if (read.running == 0) continue;  // The thread slept.
      sum += static_cast<double>(read.value) *
             (static_cast<double>(read.enabled) / static_cast<double>(read.running));
    }
    return sum;
  }

 private:
  explicit OpenedCounter(std::string_view name) : name_(name) {}
  void ControlAll(unsigned long request) const {
    for (const UniqueFd& thread : threads_) ::ioctl(thread.get(), request, 0);
  }

  std::string_view name_;
  std::vector<UniqueFd> threads_;
};

class PerfCounters final : public CounterSource {
 public:
  explicit PerfCounters(OpenPerfEvent open) : open_(std::move(open)) {}

  Result<std::vector<std::vector<double>>> Count(const std::vector<std::string>& counters, size_t,
                                                 const std::function<Status()>& run) override {
    std::vector<OpenedCounter> opened;
    for (const std::string& name : counters) {
      ATTUNE_ASSIGN_OR_RETURN(const PerfCounter counter, Named(name));
      ATTUNE_ASSIGN_OR_RETURN(OpenedCounter one, OpenedCounter::Open(counter, open_));
      opened.push_back(std::move(one));
    }
    for (const OpenedCounter& one : opened) one.Start();
    const Status ran = run();
    for (const OpenedCounter& one : opened) one.Stop();
    ATTUNE_RETURN_IF_ERROR(ran);
    std::vector<double> values;
    for (const OpenedCounter& one : opened) {
      ATTUNE_ASSIGN_OR_RETURN(const double value, one.Value());
      values.push_back(value);
    }
    return std::vector<std::vector<double>>{std::move(values)};
  }

  const std::string& warning() const override { return none_; }

 private:
  const OpenPerfEvent open_;
  const std::string none_;
};

}  // namespace

int OpenPerfEventOfKernel(perf_event_attr& event, pid_t thread) {
  return static_cast<int>(
      ::syscall(SYS_perf_event_open, &event, thread, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

std::vector<std::string> PerfCounterNames() {
  std::vector<std::string> names;
  for (const PerfCounter& counter : kCounters) names.emplace_back(counter.name);
  return names;
}

std::unique_ptr<CounterSource> MakePerfCounters(OpenPerfEvent open) {
  return std::make_unique<PerfCounters>(std::move(open));
}

Status CheckPerfCounters(const OpenPerfEvent& open) {
  perf_event_attr event = EventOf(kCounters[0]);
  const UniqueFd fd(open(event, 0));
  return fd.valid() ? Status::Ok() : Refusal(kCounters[0].name, errno);
}

}  // namespace attune::host
