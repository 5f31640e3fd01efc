// Corrupted kernel files that are still whole and consistent: built, run and verified on a real
// device, each in a process of its own, as a tuning run does with every candidate.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "attune/base/file.h"
#include "attune/compile/builder.h"
#include "attune/verify/verifier.h"
#include "backends/opencl/kernel_file_mutation.h"
#include "backends/opencl/opencl_backend.h"
#include "backends/opencl/result_error.h"

namespace attune::opencl {
namespace {

namespace fs = std::filesystem;

constexpr int kMutations = 1000;
// Of those that still bind as many arguments as the program takes, and of the others, which are
// refused by their number.
constexpr size_t kBindingMutants = 30;
constexpr size_t kOtherMutants = 6;
// A mutant may loop without end, or ask for any amount of memory.
constexpr unsigned kMutantSeconds = 40;
constexpr rlim_t kMutantMemoryBytes = rlim_t{8} << 30;
constexpr size_t kMaxWorkspaceBytes = size_t{1} << 28;

// What becomes of a mutant. Exit codes of its process.
enum class Fate {
  kRight = 40,     // Verified, and right on other data too.
  kRefused,        // Not loaded, not applicable, not built, or not launched.
  kFoundWrong,     // Told apart by the verifier.
  kAcceptedWrong,  // Verified although it is wrong.
  kDied,           // Took its process with it, or did not end.
  kNoDevice,
};

// Verifies one use of `solver`, and holds the verdict against the definition on fresh data.
Fate FateOf(const Solver& solver, Device& device, const KernelUse& use) {
  if (!solver.IsApplicable(use.problem, device.target()).ok()) return Fate::kRefused;
  MemoryKernelCache cache;
  const BuildOutcome built =
      Builder(cache).Build({&solver, use.problem, use.config}, device.target());
  if (built.failure() != nullptr) return Fate::kRefused;
  const auto executable = solver.Load(*built.artifact(), use.problem, use.config, device);
  if (!executable.ok()) return Fate::kRefused;
  if ((*executable)->workspace_bytes() > kMaxWorkspaceBytes) return Fate::kRefused;
  const auto data = ProblemData::Create(use.problem, 1);
  auto operands = BoundOperands::Create(device, use.problem, *data);
  if (!operands->ReserveWorkspace((*executable)->workspace_bytes()).ok()) return Fate::kRefused;
  const Verdict verdict = Verify(**executable, device, *operands, *data, use.problem);
  if (verdict.failure.has_value()) {
    return verdict.failure->kind == FailureKind::kRunFailed ? Fate::kRefused : Fate::kFoundWrong;
  }
  for (uint64_t seed = 2; seed < 5; ++seed) {
    const auto error = ErrorOf(**executable, device, use.problem, seed);
    if (!error.ok() || *error > 1) return Fate::kAcceptedWrong;
  }
  return Fate::kRight;
}

// The kernel file of `folder`, in this process, which it may ruin.
Fate FateInThisProcess(const fs::path& folder, const std::string& solver, const KernelUse& use) {
  const auto backend = OpenClBackend({folder});
  if (backend->Devices().empty()) return Fate::kNoDevice;
  const auto device = backend->Open(backend->Devices()[0].spec);
  if (!device.ok()) return Fate::kNoDevice;
  for (const auto& candidate : backend->solvers()) {
    if (candidate->id().name == solver) return FateOf(*candidate, **device, use);
  }
  return Fate::kRefused;
}

Fate FateInAChild(const fs::path& folder, const std::string& solver, const KernelUse& use) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(kMutantSeconds);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    const rlimit memory{kMutantMemoryBytes, kMutantMemoryBytes};
    ::setrlimit(RLIMIT_AS, &memory);
#endif
    ::_exit(static_cast<int>(FateInThisProcess(folder, solver, use)));
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  if (!WIFEXITED(status)) return Fate::kDied;
  const int code = WEXITSTATUS(status);
  const bool known =
      code >= static_cast<int>(Fate::kRight) && code <= static_cast<int>(Fate::kNoDevice);
  return known ? static_cast<Fate>(code) : Fate::kDied;
}

// Writes `json` as a kernel file beside copies of all sources, and finds out about it.
Fate FateOfFile(const std::string& json, const KernelFile& file, const KernelUse& use) {
  const fs::path folder =
      fs::path(::testing::TempDir()) / fmt::format("attune_kernel_mutant_{}", ::getpid());
  fs::create_directories(folder);
  for (const auto& entry : fs::directory_iterator(ATTUNE_SOURCE_KERNEL_DIR)) {
    if (entry.path().extension() != ".cl") continue;
    fs::copy_file(entry.path(), folder / entry.path().filename());
  }
  EXPECT_TRUE(WriteFileAtomically(folder / "mutant.json", json).ok());
  const Fate fate = FateInAChild(folder, fmt::format("opencl.{}", file.name), use);
  fs::remove_all(folder);
  return fate;
}

struct Mutant {
  KernelMutation mutation;
  KernelFile file;
  KernelUse use;
};

std::vector<size_t> ArgumentCounts(const KernelFile& file) {
  std::vector<size_t> counts;
  for (const KernelLaunch& launch : file.launches) counts.push_back(launch.arguments.size());
  return counts;
}

struct Mutants {
  std::vector<Mutant> binding;
  std::vector<Mutant> others;
};

// Mutations that parse and make something else happen.
Mutants MakeMutants() {
  Mutants mutants;
  Random random(20);
  for (int i = 0; i < kMutations; ++i) {
    KernelMutation mutation = RandomMutation(random);
    auto file = ParseKernelFile(mutation.ChangedText());
    if (!file.ok()) continue;
    const auto intact = ParseKernelFile(mutation.original.dump());
    auto use = FirstDifference(*file, *intact);
    if (!use.has_value()) continue;
    const bool binds = ArgumentCounts(*file) == ArgumentCounts(*intact);
    (binds ? mutants.binding : mutants.others)
        .push_back({std::move(mutation), *std::move(file), *std::move(use)});
  }
  return mutants;
}

// `count` of `mutants`, evenly.
void AddSample(const std::vector<Mutant>& mutants, size_t count, std::vector<Mutant>& sample) {
  for (size_t i = 0; i < count; ++i) sample.push_back(mutants[i * mutants.size() / count]);
}

TEST(KernelMutantTest, MutantIsRefusedOrFoundWrongOrRightButNeverWrongAndAccepted) {
  const Mutants all = MakeMutants();
  ASSERT_GE(all.binding.size(), kBindingMutants);
  ASSERT_GE(all.others.size(), kOtherMutants);
  std::vector<Mutant> sample;
  AddSample(all.binding, kBindingMutants, sample);
  AddSample(all.others, kOtherMutants, sample);
  std::map<Fate, int> fates;

  for (const Mutant& mutant : sample) {
    const Fate fate = FateOfFile(mutant.mutation.ChangedText(), mutant.file, mutant.use);
    if (fate == Fate::kNoDevice) GTEST_SKIP() << "There is no OpenCL device here.";
    ++fates[fate];
    EXPECT_NE(fate, Fate::kAcceptedWrong)
        << mutant.mutation.file_name << " " << mutant.mutation.place.to_string() << " {"
        << Text(mutant.use.config) << "} " << Text(mutant.use.problem) << "\nnow "
        << mutant.mutation.changed.dump();
  }

  // Neither judge says yes or no to everything.
  EXPECT_GT(fates[Fate::kRight], 0);
  EXPECT_GT(fates[Fate::kFoundWrong], 0);
  EXPECT_GE(fates[Fate::kRefused], static_cast<int>(kOtherMutants));
  RecordProperty("right", fates[Fate::kRight]);
  RecordProperty("refused", fates[Fate::kRefused]);
  RecordProperty("found_wrong", fates[Fate::kFoundWrong]);
  RecordProperty("died", fates[Fate::kDied]);
}

}  // namespace
}  // namespace attune::opencl
