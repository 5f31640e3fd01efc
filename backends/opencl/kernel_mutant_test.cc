// Corrupted kernel files: each is reported with its place, or harmless, or another whole kernel.
// The last are built, run and verified on a real device, each in a process of its own, as a tuning
// run does with every candidate.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/compile/builder.h"
#include "attune/kernel/kernel_file_mutation.h"
#include "attune/kernel/kernel_mutant.h"
#include "attune/verify/verifier.h"
#include "backends/opencl/opencl_backend.h"
#include "backends/opencl/opencl_device.h"
#include "backends/opencl/result_error.h"

namespace attune::opencl {
namespace {

namespace fs = std::filesystem;
using ::testing::AnyOf;
using ::testing::ElementsAreArray;
using ::testing::StartsWith;

// Processes at a time. Compiling, which is most of the time, is done by one thread.
constexpr size_t kProcesses = 2;
// A mutant may loop without end, or request any amount of memory. Processor time, because the
// machine may be busy; the other limit is for one that sleeps.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr rlim_t kMutantProcessorSeconds = 120;
#else
constexpr rlim_t kMutantProcessorSeconds = 10;
constexpr rlim_t kMutantMemoryBytes = rlim_t{8} << 30;
#endif
constexpr unsigned kMutantSeconds = 240;
constexpr size_t kMaxWorkspaceBytes = size_t{1} << 28;
// For problems at the limits of size (KernelUse::is_heavy).
constexpr rlim_t kHeavyProcessorSeconds = 200;
constexpr size_t kMaxHeavyWorkspaceBytes = size_t{2} << 30;

// The outcome for a mutant, as the exit code of its process.
enum class Fate {
  kRight = 40,     // Verified, and right on other data too.
  kRefused,        // Not loaded, not applicable, not built, or not launched.
  kFoundWrong,     // Told apart by the verifier.
  kAcceptedWrong,  // Verified although it is wrong.
  kNoDevice,
  kDied,       // Took its process with it, which in a tuning costs one trial.
  kDidNotEnd,  // The same, by its time.
  kUnknown,    // None of these.
};

std::string_view Name(Fate fate) {
  switch (fate) {
    case Fate::kRight:
      return "right";
    case Fate::kRefused:
      return "refused";
    case Fate::kFoundWrong:
      return "found_wrong";
    case Fate::kAcceptedWrong:
      return "accepted_wrong";
    case Fate::kNoDevice:
      return "no_device";
    case Fate::kDied:
      return "died";
    case Fate::kDidNotEnd:
      return "did_not_end";
    case Fate::kUnknown:
      return "unknown";
  }
  return "";
}

// The device behind `entry`, reported with no more than `limits`: for errors that only a smaller
// device would show.
DeviceEntry SmallerThan(DeviceEntry entry, const Config& limits) {
  for (const char* name : {"max_work_group_size", "local_memory_bytes"}) {
    entry.target.properties[name] = attune::Text(limits.at(name));
  }
  return entry;
}

// True if the result is right on data from `seed`. A product and a convolution are held against a
// definition that shares no code with the verifier.
bool IsRight(Executable& executable, Device& device, const Problem& problem, uint64_t seed) {
  if (OperatorName(problem) == "gemm" || OperatorName(problem) == "conv") {
    const auto error = ErrorOf(executable, device, problem, seed);
    return error.ok() && *error <= 1;
  }
  const auto data = ProblemData::Create(problem, seed);
  auto operands = BoundOperands::Create(device, problem, *data);
  if (!operands->ReserveWorkspace(executable.workspace_bytes()).ok()) return false;
  return !Verify(executable, device, *operands, *data, problem).failure.has_value();
}

// Verifies one use of `solver`, and holds the verdict against the definition on fresh data.
// `full_target` is that of the device without limits of ours: the compiler is the same.
Fate FateOf(const Solver& solver, Device& device, const Target& full_target,
            const kernel::KernelUse& use) {
  if (!solver.IsApplicable(use.problem, device.target()).ok()) return Fate::kRefused;
  MemoryKernelCache cache;
  const BuildOutcome built = Builder(cache).Build({&solver, use.problem, use.config}, full_target);
  if (built.failure() != nullptr) return Fate::kRefused;
  const auto executable = solver.Load(*built.artifact(), use.problem, use.config, device);
  if (!executable.ok()) return Fate::kRefused;
  const size_t most_bytes = use.is_heavy ? kMaxHeavyWorkspaceBytes : kMaxWorkspaceBytes;
  if ((*executable)->workspace_bytes() > most_bytes) return Fate::kRefused;
  const auto data = ProblemData::Create(use.problem, 1);
  auto operands = BoundOperands::Create(device, use.problem, *data);
  if (!operands->ReserveWorkspace((*executable)->workspace_bytes()).ok()) return Fate::kRefused;
  const Verdict verdict = Verify(**executable, device, *operands, *data, use.problem);
  if (verdict.failure.has_value()) {
    return verdict.failure->kind == FailureKind::kRunFailed ? Fate::kRefused : Fate::kFoundWrong;
  }
  const uint64_t last_seed = use.is_heavy ? 2 : 4;
  for (uint64_t seed = 2; seed <= last_seed; ++seed) {
    if (!IsRight(**executable, device, use.problem, seed)) return Fate::kAcceptedWrong;
  }
  return Fate::kRight;
}

// The kernel file of `folder`, in this process, which it may ruin.
Fate FateInThisProcess(const fs::path& folder, const std::string& solver,
                       const kernel::KernelUse& use) {
  // Much work is worth a compiler that optimises.
  if (use.is_heavy) ::unsetenv("POCL_EXTRA_BUILD_FLAGS");
  const auto backend = OpenClBackend({folder});
  if (backend->Devices().empty()) return Fate::kNoDevice;
  auto opened = backend->Open(backend->Devices()[0].spec);
  if (!opened.ok()) return Fate::kNoDevice;
  std::unique_ptr<Device> device = *std::move(opened);
  const Target full_target = device->target();
  DeviceEntry entry = dynamic_cast<OpenClDevice&>(*device).entry();
  if (use.small_device.has_value()) {
    entry = SmallerThan(std::move(entry), *use.small_device);
    auto small = OpenClDevice::Open(entry);
    if (!small.ok()) return Fate::kNoDevice;
    device = *std::move(small);
  }
  for (const auto& candidate : backend->solvers()) {
    if (candidate->id().name == solver) return FateOf(*candidate, *device, full_target, use);
  }
  return Fate::kRefused;
}

// The outcome of a process that FateInThisProcess() should have ended.
Fate FateFrom(int status) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return signal == SIGXCPU || signal == SIGALRM ? Fate::kDidNotEnd : Fate::kDied;
  }
  const int code = WEXITSTATUS(status);
  const bool known =
      code >= static_cast<int>(Fate::kRight) && code <= static_cast<int>(Fate::kNoDevice);
  return known ? static_cast<Fate>(code) : Fate::kUnknown;
}

// Equivalent mutations, of which one is run.
struct MutantGroup {
  kernel::KernelMutation mutation;
  kernel::KernelMutant mutant;
  int size = 0;

  std::string Description() const {
    return fmt::format(
        "{} {} {{{}}} {}{}\nnow {}", mutation.file_name, mutation.place.to_string(),
        Text(mutant.use->config), Text(mutant.use->problem),
        mutant.use->small_device ? " on a device of " + Text(*mutant.use->small_device) : "",
        mutation.changed.dump());
  }
};

// Runs each group's mutant in a process of its own, some at a time.
class MutantRun {
 public:
  explicit MutantRun(const std::vector<MutantGroup>& groups) : groups_(groups) {}

  // The fate of each group.
  std::vector<Fate> Run() {
    std::vector<Fate> fates(groups_.size(), Fate::kUnknown);
    for (size_t next = 0; next < groups_.size() || !running_.empty();) {
      if (next < groups_.size() && running_.size() < kProcesses) {
        Start(next++);
      } else {
        Finish(fates);
      }
    }
    return fates;
  }

 private:
  struct Process {
    size_t group = 0;
    std::unique_ptr<kernel::MutantFolder> folder;
  };

  void Start(size_t group) {
    Process process{group, std::make_unique<kernel::MutantFolder>()};
    const MutantGroup& chosen = groups_[group];
    process.folder->Write(chosen.mutation.ChangedText());
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(kMutantSeconds);
      Limit(RLIMIT_CPU,
            chosen.mutant.use->is_heavy ? kHeavyProcessorSeconds : kMutantProcessorSeconds);
      Limit(RLIMIT_CORE, 0);
      // The signals that kill a corrupted kernel are no faults for a sanitizer to report.
      for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) ::signal(fault, SIG_DFL);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
      Limit(RLIMIT_AS, kMutantMemoryBytes);
#endif
      ::_exit(static_cast<int>(
          FateInThisProcess(process.folder->path(), chosen.mutant.solver, *chosen.mutant.use)));
    }
    running_.emplace(child, std::move(process));
  }

  static void Limit(__rlimit_resource resource, rlim_t value) {
    const rlimit limit{value, value};
    ::setrlimit(resource, &limit);
  }

  void Finish(std::vector<Fate>& fates) {
    int status = 0;
    const pid_t child = ::waitpid(-1, &status, 0);
    const auto ended = running_.find(child);
    ASSERT_NE(ended, running_.end());
    fates[ended->second.group] = FateFrom(status);
    running_.erase(ended);
  }

  const std::vector<MutantGroup>& groups_;
  std::map<pid_t, Process> running_;
};

// Reports at another location than the corrupted field, because the error shows only there.
struct ReportElsewhere {
  const char* corrupted;
  const char* reported;
  const char* phrase;
};
constexpr ReportElsewhere kReportsElsewhere[] = {
    // Uses of a name that is gone.
    {"/parameters", "/constraints", "', which does not exist."},
    {"/definitions", "/launches", "', which does not exist."},
    {"/variables", "/launches", "', which does not exist."},
    {"/variables", "/workspace_bytes", "', which does not exist."},
    // Parameters have values for each language, of which there is one more or less.
    {"/language", "/parameters", "must have one list for each language of this file."},
};

// True if a message is about `section`: begins with a pointer into it, as in "/parameters/2: ...",
// or with its doubled key, or reports that it is missing.
bool IsAbout(const std::string& message, const std::string& section) {
  return message.starts_with(section + "/") || message.starts_with(section + ":") ||
         message.starts_with(section + "x: unknown key.") ||
         message == fmt::format("(the whole file): the key '{}' is missing.", section.substr(1));
}

bool IsKnownElsewhere(const std::string& message, const std::string& section) {
  return std::any_of(std::begin(kReportsElsewhere), std::end(kReportsElsewhere),
                     [&](const ReportElsewhere& known) {
                       return section == known.corrupted && IsAbout(message, known.reported) &&
                              message.ends_with(known.phrase);
                     });
}

// Mutations that make a kernel wrong for problems that are too large for any test: the rules that
// keep the offsets of A and B below 2^31 are gone, which shows from 8 GiB on.
constexpr const char* kKnownBeyondTests[] = {"gemm_tiled.json /applies/3",
                                             "gemm_tiled.json /applies/4"};

template <class Kind>
void Record(const std::map<Kind, int>& counts) {
  for (const auto& [kind, count] : counts) {
    fmt::print("{}: {}\n", Name(kind), count);
    ::testing::Test::RecordProperty(std::string(Name(kind)), count);
  }
}

// A thousand times, one random field of a shipped kernel file is corrupted.
class KernelMutantTest : public ::testing::Test {
 protected:
  struct Reported {
    std::string place;
    std::string message;
  };

  static void SetUpTestSuite() {
    std::map<std::string, size_t> known;
    kernel::MutantClassifier classifier;
    Random random(kernel::kMutationSeed);
    for (int i = 0; i < kernel::kMutations; ++i) {
      kernel::KernelMutation mutation = kernel::RandomMutation(random);
      kernel::KernelMutant mutant = classifier.Classify(mutation);
      ++kinds_[mutant.kind];
      if (mutant.kind == kernel::MutantKind::kBeyondTests) {
        beyond_tests_.push_back(mutation.file_name + " " + mutation.place.to_string());
      }
      if (mutant.kind == kernel::MutantKind::kReported) {
        reported_.push_back({mutation.place.to_string(), mutant.report});
      }
      if (mutant.kind != kernel::MutantKind::kAnother) continue;
      const std::string effect = fmt::format("{}\n{}", Text(mutant.use->problem), mutant.use->text);
      const auto [place, is_new] = known.emplace(effect, groups_.size());
      if (is_new) groups_.push_back({std::move(mutation), std::move(mutant)});
      ++groups_[place->second].size;
    }
  }
  static void TearDownTestSuite() {
    kinds_.clear();
    reported_.clear();
    beyond_tests_.clear();
    groups_.clear();
  }

  static std::map<kernel::MutantKind, int> kinds_;
  static std::vector<Reported> reported_;
  static std::vector<std::string> beyond_tests_;  // Places of kernel::MutantKind::kBeyondTests.
  static std::vector<MutantGroup> groups_;        // For kernel::MutantKind::kAnother.
};

std::map<kernel::MutantKind, int> KernelMutantTest::kinds_;
std::vector<KernelMutantTest::Reported> KernelMutantTest::reported_;
std::vector<std::string> KernelMutantTest::beyond_tests_;
std::vector<MutantGroup> KernelMutantTest::groups_;

TEST_F(KernelMutantTest, EveryCorruptedFieldIsReportedOrHarmlessOrAnotherWholeKernel) {
  int all = 0;
  for (const auto& [kind, count] : kinds_) {
    EXPECT_NE(Name(kind), "");
    all += count;
  }
  EXPECT_EQ(all, kernel::kMutations);
  Record(kinds_);
  EXPECT_GT(kinds_[kernel::MutantKind::kReported], kernel::kMutations / 2);
  EXPECT_THAT(beyond_tests_, ElementsAreArray(kKnownBeyondTests))
      << "Neither reported nor proven harmless.";
}

TEST_F(KernelMutantTest, EveryReportHasItsPlace) {
  for (const Reported& each : reported_) {
    EXPECT_THAT(each.message,
                AnyOf(StartsWith("/"), StartsWith("(the whole file): "), StartsWith("line ")))
        << each.place;
    const std::string section = each.place.substr(0, each.place.find('/', 1));
    EXPECT_TRUE(IsAbout(each.message, section) || IsKnownElsewhere(each.message, section))
        << each.place << " was corrupted. " << each.message;
  }
}

TEST_F(KernelMutantTest, EveryOtherKernelIsRefusedOrFoundWrongOrRight) {
  // Mutants of one program compile it once, and fast rather than well.
  const fs::path cache =
      fs::path(::testing::TempDir()) / fmt::format("attune_mutants_{}", ::getpid());
  ::setenv("POCL_CACHE_DIR", cache.c_str(), 1);
  ::setenv("POCL_EXTRA_BUILD_FLAGS", "-cl-opt-disable", 1);

  const std::vector<Fate> fates = MutantRun(groups_).Run();

  fs::remove_all(cache);
  if (std::count(fates.begin(), fates.end(), Fate::kNoDevice) > 0) {
    GTEST_SKIP() << "There is no OpenCL device here.";
  }
  std::map<Fate, int> counts;
  for (size_t i = 0; i < groups_.size(); ++i) {
    counts[fates[i]] += groups_[i].size;
    EXPECT_NE(fates[i], Fate::kAcceptedWrong) << groups_[i].Description();
    EXPECT_NE(fates[i], Fate::kUnknown) << groups_[i].Description();
    // At a limit a mutant must be right or refused, and not end its process.
    const kernel::KernelUse& use = *groups_[i].mutant.use;
    if (!use.small_device.has_value() && !use.is_heavy) continue;
    EXPECT_THAT(fates[i], AnyOf(Fate::kRight, Fate::kRefused)) << groups_[i].Description();
  }
  Record(counts);
  // Neither judge gives the same verdict for everything.
  EXPECT_GT(counts[Fate::kRight], 0);
  EXPECT_GT(counts[Fate::kFoundWrong], 0);
  EXPECT_GT(counts[Fate::kRefused], 0);
}

}  // namespace
}  // namespace attune::opencl
