// A model predicts candidates: the known ones, its origin, its file.
#include "attune/model/candidate_model.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/random.h"
#include "attune/index/fitting.h"
#include "attune/index/model_origin.h"
#include "attune/index/timed_products.h"
#include "attune/model/model_file.h"
#include "attune/ops/conv/conv.h"
#include "attune/ops/gemm/gemm.h"

namespace attune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const ModelOrigin kOrigin = {"host:A:x86-64-v3:2{isa=none}", "openblas 0.3.21"};

std::string TextOf(const std::vector<TimedCandidate>& timed) {
  const auto data = SamplesOf(timed, "gemm");
  EXPECT_TRUE(data.ok());
  const auto model = FitUsual(data->features, data->samples);
  EXPECT_TRUE(model.ok());
  return *ModelText(*model, kOrigin, {});
}

TEST(CandidateModel, KnowsCandidatesThatWereTimedForFiveProblemsAndNoOthers) {
  std::vector<TimedCandidate> timed =
      TimedProducts(24, {{"host.a@1{threads=1}", 1}, {"host.b@1{}", 2}});
  for (size_t i = 0; i < 5; ++i) {
    timed.push_back({timed[2 * i].problem, "host.few@1{}", 0.1});
    if (i < 4) timed.push_back({timed[2 * i].problem, "host.rare@1{}", 0.1});
    timed.push_back({timed[2 * i].problem, "no candidate", 0.1});
  }

  const auto model = CandidateModel::Read(TextOf(timed), kOrigin, "gemm");

  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_THAT(model->known(),
              ElementsAre(*ParseCandidate("host.a@1{threads=1}"), *ParseCandidate("host.b@1{}"),
                          *ParseCandidate("host.few@1{}")));
  EXPECT_TRUE(model->Knows(*ParseCandidate("host.b@1{}")));
  EXPECT_FALSE(model->Knows(*ParseCandidate("host.rare@1{}")));
  EXPECT_EQ(model->samples(), 62u);
}

// Libraries list hundreds of configs, our own kernels have thousands; the default may be the last.
TEST(CandidateModel, KnowsThousandsOfCandidates) {
  constexpr int kCandidates = 2000;
  std::vector<std::pair<std::string, double>> speeds;
  for (int i = 0; i < kCandidates; ++i) speeds.emplace_back(fmt::format("host.a@1{{i={}}}", i), 1);
  speeds.emplace_back("host.z@1{}", 2);

  const auto model = CandidateModel::Read(TextOf(TimedProducts(5, speeds)), kOrigin, "gemm");

  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model->known().size(), kCandidates + 1);
  EXPECT_EQ(model->PositionOf(*ParseCandidate("host.z@1{}")), kCandidates);
}

TEST(CandidateModel, PredictsWhoIsQuickerForAShapeFarFromAll) {
  const auto model = CandidateModel::Read(
      TextOf(TimedProducts(24, {{"host.a@1{threads=1}", 1}, {"host.b@1{}", 2}})), kOrigin, "gemm");
  ASSERT_TRUE(model.ok());
  const Problem far = Normalized(PackedGemm(2000, 2000, 2000));
  const size_t positions[] = {1, 0};

  const std::vector<Prediction> known = model->OfKnown(far, positions);

  EXPECT_NEAR(known[0].median_ms / known[1].median_ms, 2, 0.2);
  EXPECT_EQ(model->Of(far, std::vector{model->known()[1], model->known()[0]}), known);
}

// Two candidates: one is quicker where operands are aligned well, the other elsewhere.
std::vector<TimedCandidate> TimedConvolutions(int count) {
  Random random(1);
  std::vector<TimedCandidate> timed;
  for (int i = 0; i < count; ++i) {
    Conv conv;
    conv.in_channels = 8 + static_cast<int64_t>(random.Below(100));
    conv.out_channels = 8 + static_cast<int64_t>(random.Below(100));
    conv.in = {1, 16 + static_cast<int64_t>(random.Below(100)), 64};
    conv.type = DataType::kF16;
    for (const int alignment_bytes : {2, 64}) {
      conv.alignment_bytes = alignment_bytes;
      const Problem problem = conv;
      const double ms = 1e-3 + Flops(problem) / 1e9;
      timed.push_back({problem, "cuda.wide@1{}", alignment_bytes == 64 ? ms : 3 * ms});
      timed.push_back({problem, "cuda.narrow@1{}", 1.5 * ms});
    }
  }
  return timed;
}

TEST(CandidateModel, WhatItLearntOfEachAlignmentHoldsForShapesNeverSeenOfThatAlignment) {
  const auto data = SamplesOf(TimedConvolutions(40), "conv");
  const auto fitted = FitUsual(data->features, data->samples);
  ASSERT_TRUE(fitted.ok()) << fitted.status().message();
  const auto model = CandidateModel::Read(*ModelText(*fitted, kOrigin, {}), kOrigin, "conv");
  ASSERT_TRUE(model.ok()) << model.status().message();
  Conv conv;
  conv.in_channels = conv.out_channels = 50;
  conv.in = {1, 50, 64};
  conv.type = DataType::kF16;
  const std::vector<Candidate> asked = {*ParseCandidate("cuda.wide@1{}"),
                                        *ParseCandidate("cuda.narrow@1{}")};

  const std::vector<Prediction> aligned = model->Of(Problem(conv), asked);
  conv.alignment_bytes = 2;
  const std::vector<Prediction> unaligned = model->Of(Problem(conv), asked);

  EXPECT_LT(aligned[0].median_ms, aligned[1].median_ms);
  EXPECT_GT(unaligned[0].median_ms, unaligned[1].median_ms);
}

// "host.usual" is timed for all 60 products. Three others are timed for a third of the depths each,
// and are quicker there. The quickest by far is that of the lowest depths.
std::vector<TimedCandidate> TriedInPlaces() {
  std::vector<TimedCandidate> timed;
  for (const TimedCandidate& each : TimedProducts(60, {{"host.usual@1{}", 1}})) {
    timed.push_back(each);
    const auto third = (each.problem.Get<Gemm>().k - 8) / 40;
    timed.push_back({each.problem, fmt::format("host.of-depth@1{{third={}}}", third),
                     each.time_ms * (0.5 + 0.1 * static_cast<double>(third))});
  }
  timed.push_back({timed[0].problem, "no candidate", 1e-6});
  return timed;
}

TEST(CandidateModel, ChoosesOfWhatWasTriedNearAndKeepsAPlaceForWhatStands) {
  const auto model = CandidateModel::Read(TextOf(TriedInPlaces()), kOrigin, "gemm");
  ASSERT_TRUE(model.ok()) << model.status().message();
  const Problem problem = Normalized(PackedGemm(60, 60, 110));
  const Candidate usual = *ParseCandidate("host.usual@1{}");
  const Candidate deep = *ParseCandidate("host.of-depth@1{third=2}");
  const auto choose = [&](const Candidate& standing, bool is_wanted, size_t limit) {
    return model->Choose(
        problem, standing, [&](const Candidate&) { return is_wanted; }, limit);
  };

  const std::vector<ExpectedCandidate> all = choose(usual, true, 100);
  ASSERT_GE(all.size(), 2u);
  EXPECT_EQ(all.front().candidate, deep);
  for (size_t i = 1; i < all.size(); ++i) EXPECT_GE(all[i].time_ms, all[i - 1].time_ms);

  EXPECT_EQ(choose(usual, false, 100).size(), 1u);
  EXPECT_EQ(choose(usual, true, 1).front().candidate, usual);
  EXPECT_EQ(choose(usual, true, 2).front().candidate, deep);
  EXPECT_EQ(choose(usual, true, 2).back().candidate, usual);
  EXPECT_TRUE(choose(*ParseCandidate("host.unknown@1{}"), true, 100).empty());
}

TEST(CandidateModel, ChoosesByTimesOfThoseThatItKnowsWhereAllWereTried) {
  const auto model = CandidateModel::Read(
      TextOf(TimedProducts(260, {{"host.a@1{}", 1}, {"host.b@1{}", 2}, {"host.c@1{}", 3}})),
      kOrigin, "gemm");
  ASSERT_TRUE(model.ok()) << model.status().message();
  const Candidate slow = *ParseCandidate("host.c@1{}");

  const std::vector<ExpectedCandidate> chosen = model->Choose(
      Normalized(PackedGemm(60, 60, 60)), slow,
      [](const Candidate& candidate) { return Text(candidate) != "host.a@1{}"; }, 10);

  ASSERT_EQ(chosen.size(), 2u);
  EXPECT_EQ(Text(chosen[0].candidate), "host.b@1{}");
  EXPECT_EQ(chosen[1].candidate, slow);
}

TEST(CandidateModel, OneOfAnotherDeviceLibraryOrOperatorIsRefusedWithTheReason) {
  const std::string text = TextOf(TimedProducts(24, {{"host.a@1{threads=1}", 1}}));

  EXPECT_THAT(CandidateModel::Read(text, {"host:B:x", kOrigin.library}, "gemm").status().message(),
              HasSubstr("'host:B:x' is needed"));
  EXPECT_THAT(CandidateModel::Read(text, {kOrigin.device, "openblas 1"}, "gemm").status().message(),
              HasSubstr("'openblas 1' is needed"));
  EXPECT_THAT(CandidateModel::Read(text, kOrigin, "conv").status().message(),
              HasSubstr("'conv_shape_3' is needed"));
  EXPECT_EQ(CandidateModel::Read(text, kOrigin, "kernel").status().code(),
            StatusCode::kUnsupported);
  EXPECT_EQ(CandidateModel::Open("/nowhere/a.model", kOrigin, "gemm").status().code(),
            StatusCode::kNotFound);
}

TEST(ModelPathOf, IsBesideTheDatabaseAndOfOneOperatorDeviceAndSetOfLibraries) {
  const std::filesystem::path path = ModelPathOf("sqlite:/a/b.db", kOrigin, "gemm");

  EXPECT_EQ(path.parent_path(), "/a/b.db.models");
  EXPECT_THAT(path.filename().string(), ::testing::MatchesRegex("gemm-[0-9a-f]+[.]model"));
  EXPECT_EQ(path, ModelPathOf("/a/b.db", kOrigin, "gemm"));
  EXPECT_NE(path, ModelPathOf("/a/b.db", kOrigin, "conv"));
  EXPECT_NE(path, ModelPathOf("/a/b.db", {kOrigin.device, "openblas 1"}, "gemm"));
}

}  // namespace
}  // namespace attune
