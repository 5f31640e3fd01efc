#include "attune/verify/problem_data.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>

#include <gtest/gtest.h>

#include "attune/base/on_one_core.h"
#include "attune/problem/limits.h"
#include "attune/problem/other_op.h"
#include "attune/verify/memory_limit.h"

namespace attune {
namespace {

Problem StridedGemm() { return *ParseProblem("gemm@1{m=13,n=7,k=9,lda=16,ldc=15,beta=other}"); }

bool Same(std::span<const std::byte> a, std::span<const std::byte> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

TEST(ProblemDataTest, EqualSeedsGiveEqualDataAndOtherSeedsOtherData) {
  const ProblemData first = *ProblemData::Create(StridedGemm(), 1);
  const ProblemData again = *ProblemData::Create(StridedGemm(), 1);
  const ProblemData other = *ProblemData::Create(StridedGemm(), 2);

  EXPECT_TRUE(Same(first.input(0), again.input(0)));
  EXPECT_FALSE(Same(first.input(0), other.input(0)));
  EXPECT_FALSE(Same(first.input(0), first.input(1)));
  EXPECT_EQ(first.seed(), 1u);
}

TEST(ProblemDataTest, MappedInAChildItIsTheSame) {
  const ProblemData data = *ProblemData::Create(StridedGemm(), 1);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto mapped = ProblemData::Map(StridedGemm(), data.fd());
    const bool same = mapped.ok() && Same(mapped->input(0), data.input(0)) &&
                      Same(std::as_bytes(mapped->reference()), std::as_bytes(data.reference())) &&
                      mapped->beta() == data.beta();
    ::_exit(same ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);

  EXPECT_EQ(status, 0);
}

TEST(ProblemDataTest, WhoWaitsForAReferenceMayStopItEarly) {
  const Problem problem = *ParseProblem("gemm@1{m=4000,n=4000,k=4000}");
  double stopped_at = 0;
  int asked_since = 0;

  const Status status = ProblemData::Create(problem, 1, {[&](double done) {
                                              asked_since += stopped_at > 0 ? 1 : 0;
                                              if (done > 0 && stopped_at == 0) stopped_at = done;
                                              return stopped_at == 0;
                                            }})
                            .status();

  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded) << status.message();
  EXPECT_GT(stopped_at, 0);
  EXPECT_LT(stopped_at, 0.1);
  EXPECT_EQ(asked_since, 0);
}

TEST(ProblemDataTest, WhoWaitsLearnsWhichShareIsDone) {
  double last = 0;
  bool grows = true;
  const auto go_on = [&](double done) {
    grows = grows && done >= last && done <= 1;
    last = done;
    return true;
  };

  // On one core the waiting thread does the work: on many, the others may finish all of it first.
  const OnOneCore pinned;
  ASSERT_TRUE(ProblemData::Create(*ParseProblem("gemm@1{m=600,n=600,k=300}"), 1, {go_on}).ok());
  EXPECT_TRUE(grows);
  EXPECT_GT(last, 0.2);
}

TEST(ProblemDataTest, NobodyCanWriteToIt) {
  const ProblemData data = *ProblemData::Create(StridedGemm(), 1);

  EXPECT_EQ(::mmap(nullptr, 4096, PROT_WRITE, MAP_SHARED, data.fd(), 0), MAP_FAILED);
  EXPECT_NE(::ftruncate(data.fd(), 0), 0);
  EXPECT_LT(::pwrite(data.fd(), "x", 1, 0), 0);
}

TEST(ProblemDataTest, DataOfAnotherProblemIsRefused) {
  const ProblemData data = *ProblemData::Create(StridedGemm(), 1);
  const Problem other = *ParseProblem("gemm@1{m=13,n=7,k=9,lda=16,ldc=16,beta=other}");

  EXPECT_EQ(ProblemData::Map(other, data.fd()).status().code(), StatusCode::kDataLoss);
}

TEST(ProblemDataTest, DescriptorsThatAreNotSealedDataAreRefused) {
  const UniqueFd plain(::memfd_create("x", MFD_CLOEXEC));
  const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));

  EXPECT_FALSE(ProblemData::Map(StridedGemm(), plain.get()).ok());
  EXPECT_FALSE(ProblemData::Map(StridedGemm(), null.get()).ok());
  EXPECT_FALSE(ProblemData::Map(StridedGemm(), -1).ok());
}

TEST(ProblemDataTest, GapsAreNanInInputsAndReference) {
  const ProblemData data = *ProblemData::Create(StridedGemm(), 1);

  float element = 0;
  std::memcpy(&element, data.input(0).data() + 13 * sizeof(float), sizeof(element));
  EXPECT_TRUE(std::isnan(element));
  EXPECT_TRUE(std::isnan(data.reference()[13]));
  EXPECT_TRUE(std::isnan(data.reference()[14]));
  EXPECT_FALSE(std::isnan(data.reference()[15]));
  EXPECT_EQ(std::count_if(data.reference().begin(), data.reference().end(),
                          [](double value) { return !std::isnan(value); }),
            13 * 7);
}

TEST(ProblemDataTest, OutputThatIsNotReadHasNoInitialContent) {
  const ProblemData data = *ProblemData::Create(*ParseProblem("gemm@1{m=3,n=4,k=5}"), 1);

  EXPECT_TRUE(data.input(2).empty());
  EXPECT_EQ(data.beta(), 0);
  EXPECT_EQ(data.alpha(), 1);
}

TEST(ProblemDataTest, WhatCannotBeCheckedIsUnsupported) {
  EXPECT_EQ(ProblemData::Create(OtherOp{"pool", {}}, 1).status().code(), StatusCode::kUnsupported);
  EXPECT_EQ(
      ProblemData::Create(*ParseProblem("conv@1{dir=fwd,n=1,c=4,h=4,w=4,k=4,fh=1,fw=1,type=i8}"), 1)
          .status()
          .code(),
      StatusCode::kUnsupported);
}

TEST(ProblemDataTest, WhatCanBeCheckedIsKnownWithoutComputing) {
  const auto code = [](const char* text) { return CheckVerifiable(*ParseProblem(text)).code(); };

  EXPECT_EQ(code("gemm@1{m=8,n=8,k=8,type=bf16,ctype=f32}"), StatusCode::kOk);
  EXPECT_EQ(code("gemm@1{m=8,n=8,k=8,type=f8e4m3,ctype=bf16,bias=row}"), StatusCode::kOk);
  EXPECT_EQ(code("gemm@1{m=8,n=8,k=8,type=f8e5m2,ctype=f32,beta=one}"), StatusCode::kOk);
  EXPECT_EQ(code("gemm@1{m=8,n=8,k=8,type=f8e4m3}"), StatusCode::kUnsupported);
  EXPECT_EQ(code("conv@1{dir=fwd,n=1,c=4,h=4,w=4,k=4,fh=1,fw=1,type=f8e4m3}"),
            StatusCode::kUnsupported);
  EXPECT_EQ(code("gemm@1{m=8,n=8,k=8,type=i8,ctype=i32}"), StatusCode::kOk);
  EXPECT_EQ(code("gemm@1{m=8,n=8,k=8,type=i8,ctype=i32,beta=other,bias=row,act=relu}"),
            StatusCode::kOk);
  for (const char* text : {"gemm@1{m=8,n=8,k=8,type=i8}", "gemm@1{m=8,n=8,k=8,type=i8,ctype=f32}",
                           "gemm@1{m=8,n=8,k=8,type=f32,ctype=i32}", "gemm@1{m=8,n=8,k=8,type=i32}",
                           "gemm@1{m=8,n=8,k=8,type=i8,ctype=i32,act=tanh}",
                           "gemm@1{m=1,n=1,k=300000000,type=i8,ctype=i32}",
                           "conv@1{dir=fwd,n=1,c=4,h=4,w=4,k=4,fh=1,fw=1,type=i32}"}) {
    EXPECT_EQ(code(text), StatusCode::kUnsupported) << text;
  }
  EXPECT_EQ(code("gemm@1{m=100000,n=100000,k=100000}"), StatusCode::kUnsupported);
  EXPECT_EQ(code("pool@1{mode=max}"), StatusCode::kUnsupported);
}

TEST(ProblemDataTest, IntegersAreOfTheirWholeRangeAndTheirSumsExact) {
  const Problem problem =
      *ParseProblem("gemm@1{m=30,n=20,k=700,type=i8,ctype=i32,alpha=other,beta=other,ldc=33}");
  const ProblemData data = *ProblemData::Create(problem, 1);

  const auto a = [&](size_t i) {
    return static_cast<int64_t>(static_cast<int8_t>(data.input(0)[i]));
  };
  const auto b = [&](size_t i) {
    return static_cast<int64_t>(static_cast<int8_t>(data.input(1)[i]));
  };
  int64_t least = 0, most = 0;
  for (size_t i = 0; i < 30 * 700; ++i) {
    least = std::min(least, a(i));
    most = std::max(most, a(i));
    ASSERT_NE(a(i), 0);
  }
  EXPECT_EQ(least, -128);
  EXPECT_EQ(most, 127);
  EXPECT_EQ(data.alpha(), 3);
  EXPECT_EQ(data.beta(), -2);
  for (size_t j = 0; j < 20; ++j) {
    for (size_t i = 0; i < 30; ++i) {
      int64_t sum = 0;
      for (size_t l = 0; l < 700; ++l) sum += a(i + l * 30) * b(l + j * 700);
      int32_t initial = 0;
      std::memcpy(&initial, data.input(2).data() + (i + j * 33) * sizeof initial, sizeof initial);
      ASSERT_EQ(data.reference()[i + j * 33], static_cast<double>(3 * sum - 2 * int64_t{initial}));
    }
  }
}

TEST(ProblemDataTest, WhatDoesNotFitIsRefusedWithTheNumbers) {
  const Status status =
      ProblemData::Create(*ParseProblem("gemm@1{m=1000000,n=500000,k=1}"), 1).status();

  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_NE(status.message().find("operands of a candidate 4000006000000)"), std::string::npos)
      << status.message();
}

TEST(ProblemDataTest, DecodedInputsCountAgainstMemory) {
  // Inputs of f16 quadruple when decoded. The file takes three tenths of the memory, and so do the
  // operands of a candidate; only the decoded inputs are too much.
  const double memory_bytes = static_cast<double>(MemoryLimitBytes());
  const auto k = static_cast<int64_t>(0.3 * memory_bytes / (2 * 64 * 2));
  if (k > kMaxExtent) GTEST_SKIP() << "This machine has room for every problem of this form.";
  const Problem problem = *ParseProblem("gemm@1{m=64,n=64,k=" + std::to_string(k) + ",type=f16}");

  const Status status = ProblemData::Create(problem, 1).status();

  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_NE(status.message().find("decoded inputs"), std::string::npos) << status.message();
}

TEST(ProblemDataTest, ReferenceThatWouldTakeDaysIsRefusedWithTheNumbers) {
  const Status gemm =
      ProblemData::Create(*ParseProblem("gemm@1{m=100000,n=100000,k=100000}"), 1).status();
  // Few flops, but a reference that visits every element of the large image for every tap.
  const Status conv = ProblemData::Create(*ParseProblem("conv@1{dir=bwd_data,n=64,c=64,h=2000,"
                                                        "w=2000,k=64,fh=20,fw=20,sh=20,sw=20}"),
                                          1)
                          .status();
  const Status f64 =
      ProblemData::Create(*ParseProblem("gemm@1{m=20000,n=20000,k=20000,type=f64}"), 1).status();

  for (const Status& status : {gemm, conv, f64}) {
    EXPECT_EQ(status.code(), StatusCode::kUnsupported) << status.ToString();
  }
  EXPECT_NE(gemm.message().find("takes 1e+15 multiply-adds; at most 2e+13"), std::string::npos)
      << gemm.message();
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// Sanitizers reserve more address space than any limit leaves.
TEST(ProblemDataTest, MemoryThatRunsOutOnTheWayIsAStatusWithTheNumbers) {
  const Problem problem = *ParseProblem("gemm@1{m=64,n=64,k=200000}");
  // The file takes 102 MB and the decoded inputs 205 MB.
  constexpr rlim_t kRoomBytes = 250'000'000;
  const pid_t child = ::fork();
  if (child == 0) {
    std::ifstream statm("/proc/self/statm");
    rlim_t pages = 0;
    statm >> pages;
    const rlim_t limit_bytes = pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + kRoomBytes;
    const rlimit limit = {limit_bytes, limit_bytes};
    if (::setrlimit(RLIMIT_AS, &limit) != 0) ::_exit(2);
    const Status status = ProblemData::Create(problem, 1).status();
    const bool right = status.code() == StatusCode::kResourceExhausted &&
                       status.message().find("204800000 bytes of decoded") != std::string::npos;
    ::_exit(right ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);

  EXPECT_EQ(status, 0);
}
#endif

}  // namespace
}  // namespace attune
