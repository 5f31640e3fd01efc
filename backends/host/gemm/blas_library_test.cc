#include "backends/host/gemm/blas_library.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>
#include <xmmintrin.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/without_threads.h"
#include "attune/ops/gemm/gemm.h"
#include "backends/host/quiescence.h"

namespace attune::host {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

// C = A * B of all ones, so every element of C is k.
struct OnesProduct {
  explicit OnesProduct(int64_t size)
      : a(static_cast<size_t>(size * size), 1.0f), b(a), c(a), n(size) {}
  MatrixProduct product() {
    MatrixProduct p;
    p.m = p.n = p.k = p.lda = p.ldb = p.ldc = n;
    p.a = reinterpret_cast<const std::byte*>(a.data());
    p.b = reinterpret_cast<const std::byte*>(b.data());
    p.c = reinterpret_cast<std::byte*>(c.data());
    return p;
  }
  std::vector<float> a, b, c;
  int64_t n;
};

class LimitedBlasTest : public ::testing::TestWithParam<BlasDialect (*)()> {};

// Leaves 2 MB, less than a library takes for a product.
bool LimitAddressSpace() {
  uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  constexpr rlim_t kLeft = 2 << 20;
  const rlim_t bytes = pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + kLeft;
  const rlimit limit = {bytes, bytes};
  return pages > 0 && ::setrlimit(RLIMIT_AS, &limit) == 0;
}

// Runs this test again in a process of its own: a library that another test has loaded counts as
// the program's own.
template <class Claim>
void ExpectInNewProcess(const Claim& claim) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(::_exit(claim() ? 0 : 1), ::testing::ExitedWithCode(0), "");
}

TEST_P(LimitedBlasTest, WithoutItsMemoryItIsNotMadeReady) {
  ExpectInNewProcess([] {
    const auto library = BlasLibrary::Open(GetParam()());
    if (!library.ok()) return true;
    return LimitAddressSpace() &&
           (*library)->Prepare(1, 1).code() == StatusCode::kResourceExhausted;
  });
}

TEST_P(LimitedBlasTest, ALimitThatIsSetLaterStopsLargeProducts) {
  ExpectInNewProcess([] {
    const auto library = BlasLibrary::Open(GetParam()());
    if (!library.ok()) return true;
    OnesProduct small(16);
    OnesProduct large(300);
    if (!(*library)->Prepare(1, 1).ok() || !LimitAddressSpace()) return false;
    return (*library)->Gemm(DataType::kF32, small.product(), 1) &&
           !(*library)->Gemm(DataType::kF32, large.product(), 1) && !(*library)->IsReady(1);
  });
}

INSTANTIATE_TEST_SUITE_P(Libraries, LimitedBlasTest,
                         ::testing::Values(OpenBlasDialect, BlisDialect));

// Under this key: all threads together, those that have ended included.
constexpr int kWholeProcess = 0;

// Nanoseconds that each thread of this process has run.
std::map<int, int64_t> RunTimesNs() {
  std::map<int, int64_t> times;
  timespec whole{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &whole);
  times[kWholeProcess] = int64_t{whole.tv_sec} * 1'000'000'000 + whole.tv_nsec;
  DIR* folder = ::opendir("/proc/self/task");
  while (const dirent* entry = ::readdir(folder)) {
    const int tid = std::atoi(entry->d_name);
    if (tid <= 0) continue;
    std::ifstream file("/proc/self/task/" + std::to_string(tid) + "/schedstat");
    file >> times[tid];
  }
  ::closedir(folder);
  return times;
}

// Threads that did a share of the work between the two readings. BLIS over pthreads starts threads
// for every call and ends them afterwards: their time is the part missing from the whole.
int ThreadsThatWorked(const std::map<int, int64_t>& before, const std::map<int, int64_t>& after) {
  int64_t most_ns = 1;
  int64_t ended_ns = after.at(kWholeProcess) - before.at(kWholeProcess);
  std::vector<int64_t> ran_ns;
  for (const auto& [tid, time_ns] : after) {
    if (tid == kWholeProcess) continue;
    const auto earlier = before.find(tid);
    ran_ns.push_back(time_ns - (earlier == before.end() ? 0 : earlier->second));
    most_ns = std::max(most_ns, ran_ns.back());
    ended_ns -= ran_ns.back();
  }
  const auto lasting =
      std::count_if(ran_ns.begin(), ran_ns.end(), [&](int64_t ns) { return ns > most_ns / 5; });
  const double ended = static_cast<double>(ended_ns) / static_cast<double>(most_ns);
  return static_cast<int>(lasting + std::lround(ended));
}

class BlasLibraryTest : public ::testing::TestWithParam<BlasDialect> {
 protected:
  // A fresh handle on the library, or null where it is not installed.
  std::unique_ptr<BlasLibrary> Open() {
    auto library = BlasLibrary::Open(GetParam());
    return library.ok() ? std::move(*library) : nullptr;
  }
};

TEST_P(BlasLibraryTest, ReportsWhatWasLoaded) {
  const LazyBlas blas(GetParam());
  if (!blas.Get().ok()) GTEST_SKIP() << blas.Get().error().message();

  const LibraryReport report = blas.Report();

  EXPECT_TRUE(report.available);
  EXPECT_EQ(report.name, GetParam().name);
  EXPECT_THAT(report.version, StartsWith("0."));
  EXPECT_THAT(report.path, HasSubstr(GetParam().name));
  EXPECT_EQ(report.build_id.size(), 40u) << report.build_id;
}

TEST_P(BlasLibraryTest, ThreadCountIsHonoured) {
  const auto library = Open();
  if (library == nullptr) GTEST_SKIP() << GetParam().name << " is not installed.";
  OnesProduct ones(512);
  library->Gemm(DataType::kF32, ones.product(), 2);

  for (const int threads : {1, 2}) {
    // Idle threads of OpenBLAS poll for a while, which is no work.
    ASSERT_TRUE(AwaitQuietThreads(5'000'000'000).ok());
    const auto before = RunTimesNs();
    for (int i = 0; i < 20; ++i) library->Gemm(DataType::kF32, ones.product(), threads);
    const auto after = RunTimesNs();

    EXPECT_EQ(ThreadsThatWorked(before, after), threads) << GetParam().name;
  }
}

TEST_P(BlasLibraryTest, WhatIsTakenForSerialNeedsNoSetting) {
  const auto library = Open();
  if (library == nullptr) GTEST_SKIP() << GetParam().name << " is not installed.";
  const auto largest =
      static_cast<int64_t>(std::cbrt(static_cast<double>(GetParam().serial_multiplications)));
  if (largest == 0) GTEST_SKIP() << GetParam().name << " takes no product for serial.";
  OnesProduct large(512), small(largest);
  library->Gemm(DataType::kF32, large.product(), 2);

  ASSERT_TRUE(AwaitQuietThreads(5'000'000'000).ok());
  const auto before = RunTimesNs();
  for (int i = 0; i < 20'000; ++i) library->Gemm(DataType::kF32, small.product(), 1);
  const auto after = RunTimesNs();

  EXPECT_EQ(ThreadsThatWorked(before, after), 1);
  EXPECT_THAT(small.c, ::testing::Each(static_cast<float>(largest)));
}

TEST_P(BlasLibraryTest, CallsWithDifferentThreadCountsMayMeet) {
  const auto library = Open();
  if (library == nullptr) GTEST_SKIP() << GetParam().name << " is not installed.";
  const auto work = [&](int threads, std::atomic<int>& wrong) {
    OnesProduct ones(96);
    for (int i = 0; i < 50; ++i) {
      library->Gemm(DataType::kF32, ones.product(), threads);
      for (const float value : ones.c) wrong += value != 96.0f;
    }
  };
  std::atomic<int> wrong{0};

  std::thread other(work, 1, std::ref(wrong));
  work(2, wrong);
  other.join();

  EXPECT_EQ(wrong, 0);
}

INSTANTIATE_TEST_SUITE_P(Both, BlasLibraryTest, ::testing::Values(OpenBlasDialect(), BlisDialect()),
                         [](const auto& instance) { return instance.param.name; });

TEST(SideBySideTest, EachLibraryAnswersForItselfThoughTheirSymbolsHaveTheSameNames) {
  const auto openblas = BlasLibrary::Open(OpenBlasDialect());
  const auto blis = BlasLibrary::Open(BlisDialect());
  if (!openblas.ok() || !blis.ok()) GTEST_SKIP() << "One of the two libraries is not installed.";
  const SharedLibrary& first = (*openblas)->object();
  const SharedLibrary& second = (*blis)->object();
  OnesProduct from_openblas(65), from_blis(65);

  (*openblas)->Gemm(DataType::kF32, from_openblas.product(), 2);
  (*blis)->Gemm(DataType::kF32, from_blis.product(), 2);

  EXPECT_NE(first.Find("cblas_sgemm"), second.Find("cblas_sgemm"));
  EXPECT_NE(first.Find("sgemm_"), second.Find("sgemm_"));
  EXPECT_EQ(second.Find("openblas_get_config"), nullptr);
  EXPECT_EQ(first.Find("bli_info_get_version_str"), nullptr);
  EXPECT_NE((*openblas)->version(), (*blis)->version());
  EXPECT_THAT((*openblas)->core(), Not(IsEmpty()));
  EXPECT_THAT(from_openblas.c, ::testing::Each(65.0f));
  EXPECT_THAT(from_blis.c, ::testing::Each(65.0f));
}

TEST(MissingLibraryTest, SaysWhyAndWhichPackageBringsIt) {
  BlasDialect dialect = OpenBlasDialect();
  dialect.file_names = {"/nonexistent/libopenblas.so.0"};
  const LazyBlas blas(dialect);

  const LibraryReport report = blas.Report();

  EXPECT_FALSE(report.available);
  EXPECT_THAT(report.missing, HasSubstr("/nonexistent/libopenblas.so.0"));
  EXPECT_THAT(report.missing, HasSubstr("libopenblas0-pthread"));
  EXPECT_EQ(blas.Get().status().code(), StatusCode::kUnavailable);
}

TEST(MissingLibraryTest, ALibraryThatIsSomethingElseIsRefused) {
  BlasDialect dialect = BlisDialect();
  dialect.file_names = {"libc.so.6"};

  const auto library = BlasLibrary::Open(dialect);

  ASSERT_FALSE(library.ok());
  EXPECT_THAT(library.error().message(), HasSubstr("bli_thread_set_num_threads"));
}

TEST(BlasLibraryTest, ItsThreadsKeepDenormalsWhateverTheThreadThatStartsThem) {
  constexpr unsigned kFlushed = 0x8040;  // Results and operands.
  EXPECT_TRUE(HoldsInChild([] {
    const auto library = BlasLibrary::Open(OpenBlasDialect());
    if (!library.ok()) return true;
    ::_mm_setcsr(::_mm_getcsr() | kFlushed);
    const bool is_ready = (*library)->Prepare(1, 2).ok();
    ::_mm_setcsr(::_mm_getcsr() & ~kFlushed);
    if (!is_ready) return true;
    OnesProduct ones(256);
    std::fill(ones.a.begin(), ones.a.end(), 1e-42f);
    (*library)->Gemm(DataType::kF32, ones.product(), 2);
    return std::none_of(ones.c.begin(), ones.c.end(), [](float c) { return c == 0; });
  }));
}

}  // namespace
}  // namespace attune::host
