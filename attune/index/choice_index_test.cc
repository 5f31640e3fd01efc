#include "attune/index/choice_index.h"

#include <cstring>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/index/index_builder.h"
#include "attune/index/index_format.h"
#include "attune/index/memory_choices.h"
#include "attune/index/sample_choices.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/problem/other_op.h"

namespace attune {
namespace {

using ::testing::HasSubstr;

const IndexIdentity kIdentity{"00112233445566778899aabbccddeeff", 1234};

// The same choices in an index and in memory.
struct Twins {
  IndexBuilder builder;
  MemoryChoices memory;
  std::vector<Problem> problems;

  void Add(const Problem& problem, const IndexedChoice& choice) {
    ASSERT_EQ(builder.Add(problem, choice), Status::Ok());
    memory.Add(problem, choice);
    problems.push_back(problem);
  }
  std::unique_ptr<ChoiceIndex> Index() const {
    return std::move(*ChoiceIndex::Over(builder.Bytes(kIdentity).value()));
  }
};

void AddRandom(Twins& twins, int count, uint64_t seed) {
  Random random(seed);
  for (int i = 0; i < count; ++i) {
    const Problem problem = RandomProblem(random);
    const uint64_t choices = 1 + random.Below(4);
    for (uint64_t k = 0; k < choices; ++k) {
      twins.Add(problem, RandomChoice(static_cast<int64_t>(random.Below(1 << 30)), random));
    }
  }
}

// `bytes` with a header that was changed and fits its checksum again.
std::string WithHeader(std::string bytes, void (*change)(IndexHeader&)) {
  IndexHeader header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  change(header);
  header.check = CheckOfHeader(header);
  std::memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
}

Status OpenStatus(std::string bytes) { return ChoiceIndex::Over(std::move(bytes)).status(); }

TEST(ChoiceIndexTest, WhatWasAddedIsFound) {
  Twins twins;
  AddRandom(twins, 300, 1);
  twins.Add(OtherOp{"pool", {{"note", "a b%=,{}"}}}, [] {
    Random random(9);
    return RandomChoice(3, random);
  }());

  const auto index = twins.Index();

  EXPECT_EQ(index->identity(), kIdentity);
  EXPECT_EQ(index->problem_count(), twins.memory.problem_count());
  EXPECT_EQ(index->file().CheckAll(), Status::Ok());
  for (const Problem& problem : twins.problems) {
    const auto found = index->Find(problem);
    ASSERT_EQ(found.status(), Status::Ok());
    ASSERT_FALSE(found->empty());
    ExpectSameChoices(*found, twins.memory.Find(problem).value());
  }
}

TEST(ChoiceIndexTest, WhatFailsACaptureIsToldOfThatCandidateAloneInACopyToo) {
  Random random(4);
  const Problem problem = RandomProblem(random);
  IndexedChoice choice = RandomChoice(3, random);
  choice.ranking.resize(1);
  choice.ranking.push_back({CandidateNumber(999), 7, 0, 0, 0, true});
  choice.default_position = 0;
  Twins twins;
  twins.Add(problem, choice);
  IndexBuilder copy;
  ASSERT_EQ(copy.AddAll(twins.Index()->file()), Status::Ok());

  const auto index = std::move(*ChoiceIndex::Over(copy.Bytes(kIdentity).value()));

  const std::vector<IndexedChoice> found = index->Find(problem).value();
  EXPECT_FALSE(found.front().ranking[0].fails_capture);
  EXPECT_TRUE(found.front().ranking[1].fails_capture);
}

TEST(ChoiceIndexTest, ProblemsThatWereNotAddedAreNotFound) {
  Twins twins;
  AddRandom(twins, 100, 2);
  const auto index = twins.Index();
  Random random(3);

  for (int i = 0; i < 1000; ++i) {
    const Problem problem = PackedGemm(100'000 + i, 1 + RandomSize(random, 8), 7);
    EXPECT_TRUE(index->Find(problem).value().empty());
  }
}

TEST(ChoiceIndexTest, AnEmptyIndexKnowsNothing) {
  const auto index = Twins().Index();

  EXPECT_EQ(index->problem_count(), 0);
  EXPECT_TRUE(index->Find(PackedGemm(1, 2, 3)).value().empty());
  EXPECT_TRUE(index->Nearest(PackedGemm(1, 2, 3), 5, 100).value().empty());
}

TEST(ChoiceIndexTest, NearestAgreesWithComparingAll) {
  Twins twins;
  AddRandom(twins, 2000, 4);
  const auto index = twins.Index();
  Random random(5);

  size_t found = 0;
  for (int i = 0; i < 500; ++i) {
    const Problem problem =
        i % 5 == 0 ? twins.problems[random.Below(twins.problems.size())] : RandomProblem(random);
    const size_t limit = random.Below(12);
    const double max_distance = i % 3 == 0 ? 100 : 3 * random.Uniform();
    const auto nearest = index->Nearest(problem, limit, max_distance);
    ASSERT_EQ(nearest.status(), Status::Ok());
    ExpectSameNeighbours(*nearest, twins.memory.Nearest(problem, limit, max_distance).value());
    found += nearest->size();
  }
  EXPECT_GT(found, 1000u);
}

TEST(ChoiceIndexTest, EquallyNearProblemsComeInOneOrder) {
  Twins twins;
  Random random(6);
  for (const int64_t m : {32, 128}) {
    for (const int64_t n : {32, 128}) {
      for (const int64_t k : {32, 128}) {
        twins.Add(PackedGemm(m, n, k), RandomChoice(1, random));
      }
    }
  }
  const auto index = twins.Index();

  for (size_t limit = 1; limit <= 8; ++limit) {
    ExpectSameNeighbours(index->Nearest(PackedGemm(64, 64, 64), limit, 10).value(),
                         twins.memory.Nearest(PackedGemm(64, 64, 64), limit, 10).value());
  }
}

TEST(ChoiceIndexTest, TheOrderOfAddingDoesNotChangeABit) {
  Random random(7);
  std::vector<std::pair<Problem, IndexedChoice>> added;
  for (int i = 0; i < 300; ++i) {
    added.emplace_back(PackedGemm(1 + static_cast<int64_t>(random.Below(100)), 8, 8),
                       RandomChoice(i, random));
  }
  IndexBuilder forwards;
  for (const auto& [problem, choice] : added) ASSERT_TRUE(forwards.Add(problem, choice).ok());
  random.Shuffle(std::span(added));
  IndexBuilder shuffled;
  for (const auto& [problem, choice] : added) ASSERT_TRUE(shuffled.Add(problem, choice).ok());

  EXPECT_EQ(forwards.Bytes(kIdentity).value(), shuffled.Bytes(kIdentity).value());
}

TEST(ChoiceIndexTest, AnIndexMadeOfAnIndexIsTheSame) {
  Twins twins;
  AddRandom(twins, 200, 8);
  const auto index = twins.Index();
  IndexBuilder copy;

  ASSERT_EQ(copy.AddAll(index->file()), Status::Ok());

  EXPECT_EQ(copy.Bytes(kIdentity).value(), twins.builder.Bytes(kIdentity).value());
}

TEST(ChoiceIndexTest, ThreadsShareOneCopyOfEachEnvironment) {
  Twins twins;
  AddRandom(twins, 50, 9);
  const auto index = twins.Index();
  constexpr int kThreads = 8;
  std::vector<std::vector<IndexedChoice>> found(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (const Problem& problem : twins.problems) found[i] = index->Find(problem).value();
    });
  }

  for (std::thread& thread : threads) thread.join();

  for (int i = 1; i < kThreads; ++i) {
    EXPECT_EQ(found[i].at(0).environment, found[0].at(0).environment);
    EXPECT_EQ(found[i].at(0).target, found[0].at(0).target);
  }
}

TEST(ChoiceIndexTest, AnotherVersionIsRefusedByNumber) {
  const Status status = OpenStatus(WithHeader(Twins().builder.Bytes(kIdentity).value(),
                                              [](IndexHeader& header) { header.version = 7; }));

  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("version 7"));
}

TEST(ChoiceIndexTest, AnotherByteOrderIsRefused) {
  const Status status =
      OpenStatus(WithHeader(Twins().builder.Bytes(kIdentity).value(),
                            [](IndexHeader& header) { header.byte_order = 0x04030201; }));

  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("byte order"));
}

TEST(ChoiceIndexTest, WhatIsNoIndexIsRefused) {
  EXPECT_EQ(OpenStatus("").code(), StatusCode::kDataLoss);
  EXPECT_EQ(OpenStatus("ATTUNIDX").code(), StatusCode::kDataLoss);
  EXPECT_EQ(OpenStatus(std::string(4096, 'x')).code(), StatusCode::kDataLoss);
  EXPECT_EQ(ChoiceIndex::Open("/nonexistent/index").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(ChoiceIndex::Open("/").status().code(), StatusCode::kDataLoss);
}

TEST(ChoiceIndexTest, CountsThatDoNotFitIntoTheFileAreRefused) {
  Twins twins;
  AddRandom(twins, 20, 10);
  const std::string bytes = twins.builder.Bytes(kIdentity).value();

  const auto grow = [](IndexHeader& header) { header.sections[1].count += 1; };
  const auto overflow = [](IndexHeader& header) { header.sections[2].count = ~uint64_t{0} / 80; };
  const auto move = [](IndexHeader& header) { header.sections[3].offset = ~uint64_t{0} - 7; };
  const auto slots = [](IndexHeader& header) { header.sections[0] = {216, 0}; };
  const auto longer = [](IndexHeader& header) { header.file_bytes += 8; };

  EXPECT_EQ(OpenStatus(WithHeader(bytes, grow)).code(), StatusCode::kDataLoss);
  EXPECT_EQ(OpenStatus(WithHeader(bytes, overflow)).code(), StatusCode::kDataLoss);
  EXPECT_EQ(OpenStatus(WithHeader(bytes, move)).code(), StatusCode::kDataLoss);
  EXPECT_EQ(OpenStatus(WithHeader(bytes, slots)).code(), StatusCode::kDataLoss);
  EXPECT_EQ(OpenStatus(WithHeader(bytes, longer)).code(), StatusCode::kDataLoss);
  EXPECT_EQ(OpenStatus(bytes + std::string(8, '\0')).code(), StatusCode::kDataLoss);
}

TEST(ChoiceIndexTest, AnIdentityWithoutAValidIdIsRefused) {
  EXPECT_EQ(IndexBuilder().Bytes({"nonsense", 1}).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace attune
