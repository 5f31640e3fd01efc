#include "bench/models/serving_cost.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "attune/base/random.h"
#include "attune/index/fitting.h"
#include "attune/model/candidate_model.h"
#include "attune/model/shape_features.h"
#include "attune/ops/gemm/gemm.h"

namespace attune::bench {
namespace {

constexpr int kCandidates = 32;  // As many as a runtime predicts while a caller waits.
constexpr int kRepeats = 201;
constexpr int kMostSide = 1008;
// As in a GPU library: hundreds of configs, of which a tuning times some fifty.
constexpr int kManyCandidates = 400;
constexpr int kParts = 8;

Problem Product(Random& random) {
  const auto side = [&] { return 8 + static_cast<int64_t>(random.Below(kMostSide - 8)); };
  const int64_t m = side(), n = side(), k = side();
  return Normalized(PackedGemm(m, n, k));
}

// Candidate c has a speed and a size below which it is slow, and every time a tenth of noise. Each
// is timed for one part in `parts` of the depths alone, but the first, which is timed for all.
std::string TextOfModel(int problems, int candidates, int parts, const ModelOrigin& origin) {
  Random random(1);
  std::vector<TimedCandidate> timed;
  for (int i = 0; i < problems; ++i) {
    const Problem problem = Product(random);
    const auto part = problem.Get<Gemm>().k * parts / kMostSide;
    for (int c = 0; c < candidates; ++c) {
      if (c > 0 && c % parts != part) continue;
      const double flops = Flops(problem);
      const double small = 1 + (1 + c) * 1e6 / flops;
      const double noise = std::exp(0.1 * (2 * random.Uniform() - 1));
      timed.push_back({problem, fmt::format("host.c@1{{p={}}}", c),
                       (1e-3 + flops / (1e7 + 1e6 * c)) * small * noise});
    }
  }
  const auto data = SamplesOf(timed, "gemm");
  Require(data.status());
  const auto model = FitUsual(data->features, data->samples);
  Require(model.status());
  const auto text = ModelText(*model, origin, {});
  Require(text.status());
  return *text;
}

double MedianSeconds(int repeats, const auto& work) {
  std::vector<double> seconds;
  for (int i = 0; i < repeats; ++i) {
    const WallClock::time_point begin = WallClock::now();
    work();
    seconds.push_back(SecondsSince(begin));
  }
  return MedianOf(std::move(seconds));
}

// The wait of a caller with a model that chooses by neighbours.
void AddChoosingCostFigures(const ModelOrigin& origin, std::vector<Figure>& figures) {
  for (const int problems : {80, 250}) {
    const std::string text = TextOfModel(problems, kManyCandidates, kParts, origin);
    const auto model = CandidateModel::Read(text, origin, "gemm");
    Require(model.status());
    const Candidate standing = ParseCandidate("host.c@1{p=0}").value();
    Random random(2);
    size_t chosen = 0;
    const double choose_s = MedianSeconds(kRepeats, [&] {
      chosen +=
          model
              ->Choose(
                  Product(random), standing, [](const Candidate&) { return true; }, kCandidates)
              .size();
    });
    if (chosen == 0) Require(Internal("nothing was chosen."));
    figures.push_back({fmt::format("serving_{}_problems_choose_us", problems), 1e6 * choose_s, ""});
  }
}

}  // namespace

void AddServingCostFigures(std::vector<Figure>& figures) {
  const ModelOrigin origin = {"device", "library"};
  for (const int problems : {64, 150, 500}) {
    const std::string text = TextOfModel(problems, kCandidates, 1, origin);
    const auto model = CandidateModel::Read(text, origin, "gemm");
    Require(model.status());
    const std::string prefix = fmt::format("serving_{}_problems_", problems);
    const double read_s =
        MedianSeconds(5, [&] { Require(CandidateModel::Read(text, origin, "gemm").status()); });
    Random random(2);
    std::vector<size_t> positions;
    for (size_t i = 0; i < model->known().size(); ++i) positions.push_back(i);
    // The minimum cost of any model: the numbers that it takes from a problem.
    const double features_s =
        MedianSeconds(kRepeats, [&] { (void)ShapeRow(Product(random), "").values.size(); });
    const double ask_s =
        MedianSeconds(kRepeats, [&] { (void)model->OfKnown(Product(random), positions); });
    figures.push_back({prefix + "model_kb", static_cast<double>(text.size()) / 1e3, ""});
    figures.push_back({prefix + "read_ms", 1e3 * read_s, ""});
    figures.push_back(
        {prefix + "floor_us", 1e6 * features_s / static_cast<double>(positions.size()), ""});
    figures.push_back(
        {prefix + "predict_us", 1e6 * ask_s / static_cast<double>(positions.size()), "<= 1"});
  }
  AddChoosingCostFigures(origin, figures);
}

}  // namespace attune::bench
