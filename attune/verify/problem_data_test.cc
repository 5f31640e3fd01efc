#include "attune/verify/problem_data.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

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

TEST(ProblemDataTest, WhatDoesNotFitIsRefusedWithTheNumbers) {
  const Status status =
      ProblemData::Create(*ParseProblem("gemm@1{m=1000000,n=500000,k=1}"), 1).status();

  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_NE(status.message().find("bytes"), std::string::npos);
}

}  // namespace
}  // namespace attune
