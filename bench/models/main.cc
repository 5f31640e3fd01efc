// Models of time on recorded data: errors and choices on configurations that were held out, beside
// the figures that others reached, simple baselines, and models of shuffled times.
//
//   models [--data DIR] [--only NAME] [--splits N] [--seed N] [--collected FILE] [--tuned FILE]
//          [--json]
//
// NAME is the beginning of a part's: h200_fp32, h200_fp32_50, h200_tf32, cost, neusight_p4,
// neusight_p100, neusight_v100, neusight_unplaced_p4 and so on (models learn at a row's place in
// its recording, and predict without it), neusight_placed_p4 and so on (models predict with it,
// too), sgemm, fresh_sgemm, miopen_gfx1030, seer, serving. DIR is the folder of recordings
// ($ATTUNE_DATA_DIR, ../shared/data by default). Seeds are fixed: 1 on unless --seed names the
// first one, so that choices made on some splits can be checked on others. Nothing is measured but
// the time to fit and to predict, and for fresh_sgemm the products themselves: OpenBLAS on this
// machine, for half a minute. FILE of --collected is written by `cuda_conv_times`, and a part of
// its own, "collected"; that of --tuned has the times of tunings (first_answers.h), and is the part
// "first_answer". docs/models.md has the tables.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "bench/models/choices.h"
#include "bench/models/first_answers.h"
#include "bench/models/fresh_sgemm.h"
#include "bench/models/miopen_choices.h"
#include "bench/models/seer_recovery.h"
#include "bench/models/serving_cost.h"

namespace attune::bench {
namespace {

struct Options {
  std::string data;
  std::string only;
  int splits = 5;
  uint64_t seed = 1;
  std::string collected;
  std::string tuned;
  bool json = false;
};

// fp32 outside of tensor cores and memory of an H200, and the approximate time of a launch.
constexpr DevicePeaks kH200 = {66.9e9, 4.8e9, 0.002};

bool IsWanted(const Options& options, std::string_view part) {
  return part.starts_with(options.only);
}

// The times of the recorder's dry runs, for calls with a loaded algorithm.
void AddDryRuns(const Recording& recording, const std::string& prefix,
                std::vector<Figure>& figures) {
  std::vector<double> times_us = recording.dry_runs_us;
  if (times_us.empty()) return;
  std::ranges::sort(times_us);
  figures.push_back({prefix + "dry_run_us", times_us[times_us.size() / 2], "<= 100"});
  figures.push_back({prefix + "dry_run_p90_us", times_us[times_us.size() * 9 / 10], ""});
}

void AddH200Fp32(const Options& options, std::vector<Figure>& figures) {
  const bool is_wanted = IsWanted(options, "h200_fp32") || IsWanted(options, "cost") ||
                         IsWanted(options, "h200_fp32_50");
  if (!is_wanted) return;
  const auto fp32 = ReadH200(options.data, "fma2");
  Require(fp32.status());
  ChoiceSettings settings{"h200_fp32_", kH200, 0.3, options.splits, options.seed, SIZE_MAX, {}};
  settings.beside = {{"mape_algo0", "<= 6 (reference 8.9)"},
                     {"mape_algo1", "<= 6 (reference 7.7)"},
                     {"mape_algo2", "<= 8 (reference 10.6)"},
                     {"mape_algo7", "<= 9 (reference 11.1)"},
                     {"mape_all", "<= 9 (reference 9.7)"},
                     {"wrong_pick_pct", "<= 1.5 (reference 1.7)"},
                     {"geomean_regret", "<= 1.01 (reference 1.008)"},
                     {"nnls_wrong_pick_pct", "(reference 5.9)"},
                     {"vendor_wrong_pick_pct", "(reference 39.3)"}};
  if (IsWanted(options, "h200_fp32")) AddChoiceFigures(*fp32, settings, figures);
  if (IsWanted(options, "cost")) AddDryRuns(*fp32, "cost_fp32_", figures);
  ChoiceSettings costs = settings;
  costs.prefix = "cost_";
  costs.beside = {{"nnls_predict_us", "<= 1"},
                  {"nnls_fit_10000_s", "<= 1"},
                  {"boosted_residual_predict_us", "<= 1"},
                  {"boosted_residual_fit_10000_s", "<= 1"},
                  {"usual_fit_10000_s", "<= 1"}};
  if (IsWanted(options, "cost")) AddCostFigures(*fp32, costs, figures);
  settings.prefix = "h200_fp32_50_";
  settings.most_learnt = 50;
  settings.beside = {{"wrong_pick_pct", "<= 10 (reference 21)"}};
  if (IsWanted(options, "h200_fp32_50")) AddChoiceFigures(*fp32, settings, figures);
}

void AddH200Tf32(const Options& options, std::vector<Figure>& figures) {
  if (!IsWanted(options, "h200_tf32")) return;
  const auto tf32 = ReadH200(options.data, "tf32b");
  Require(tf32.status());
  ChoiceSettings settings{"h200_tf32_", kH200, 0.3, options.splits, options.seed, SIZE_MAX, {}};
  settings.beside = {{"wrong_pick_pct", "<= 5 (reference 8.9)"},
                     {"top2_wrong_pick_pct", "<= 0.5 (reference 0.0)"},
                     {"vendor_wrong_pick_pct", "(reference 8.1)"}};
  AddChoiceFigures(*tf32, settings, figures);
}

void AddNeuSight(const Options& options, std::vector<Figure>& figures) {
  struct Gpu {
    const char* file;
    const char* name;
    int64_t multiprocessors;
    DevicePeaks peaks;
    const char* beside;
  };
  for (const Gpu& gpu :
       {Gpu{"Tesla_P4", "p4", 20, {5.5e9, 0.192e9, 0.005}, "<= 11.9 (reference 14.0)"},
        Gpu{"Tesla_P100-PCIE-16GB",
            "p100",
            56,
            {9.3e9, 0.732e9, 0.005},
            "<= 15.0 (reference 17.7)"},
        Gpu{"Tesla_V100-PCIE-32GB",
            "v100",
            80,
            {14.0e9, 0.9e9, 0.005},
            "<= 10.2 (reference 12.0)"}}) {
    for (const auto& [place, how] :
         {std::pair(KnownPlace::kUnknown, ""), std::pair(KnownPlace::kLearnt, "unplaced_"),
          std::pair(KnownPlace::kTold, "placed_")}) {
      const std::string part = fmt::format("neusight_{}{}", how, gpu.name);
      if (!IsWanted(options, part)) continue;
      const auto recording = ReadNeuSight(options.data, gpu.file, gpu.multiprocessors, place);
      Require(recording.status());
      ChoiceSettings settings{part + "_", gpu.peaks, 0.3, 1, options.seed, SIZE_MAX, {}};
      // A place is unknown to callers that ask about a layer.
      if (place != KnownPlace::kTold) settings.beside = {{"mape_all", gpu.beside}};
      AddErrorFigures(*recording, settings, figures);
    }
  }
}

void AddSgemm(const Options& options, std::vector<Figure>& figures) {
  auto recording = ReadCpuSgemm(options.data);
  Require(recording.status());
  ChoiceSettings settings{"cpu_sgemm_", {}, 0.3, options.splits, options.seed, SIZE_MAX, {}};
  settings.beside = {{"mape_all", "<= 10 (reference 12.1)"},
                     {"mape_nnls", "(reference 18.3)"},
                     {"mape_roofline", "(reference 35.5)"}};
  if (IsWanted(options, "sgemm")) AddErrorFigures(*recording, settings, figures);
  if (!IsWanted(options, "fresh_sgemm")) return;
  Require(TimeSgemmAnew(*recording));
  settings.prefix = "fresh_sgemm_";
  settings.beside = {{"mape_all", "<= 10"}};
  AddErrorFigures(*recording, settings, figures);
}

void AddCollected(const Options& options, std::vector<Figure>& figures) {
  if (options.collected.empty() || !IsWanted(options, "collected")) return;
  const auto recording = ReadCollected(options.collected);
  Require(recording.status());
  ChoiceSettings settings{"collected_", kH200, 0.3, options.splits, options.seed, SIZE_MAX, {}};
  AddChoiceFigures(*recording, settings, figures);
}

void AddMiopen(const Options& options, std::vector<Figure>& figures) {
  if (!IsWanted(options, "miopen_gfx1030")) return;
  const auto found = ReadFindSamples(options.data, "gfx1030_36");
  Require(found.status());
  AddMiopenFigures(*found, "miopen_gfx1030_", options.seed, figures);
}

int Main(int argc, char** argv) {
  Options options;
  const char* const folder = std::getenv("ATTUNE_DATA_DIR");
  options.data = folder != nullptr ? folder : "../shared/data";
  CLI::App app("Errors and choices of models of time on recorded data");
  app.add_option("--data", options.data, "The folder of recordings");
  app.add_option("--only", options.only, "The beginning of the name of a part");
  app.add_option("--splits", options.splits, "Random splits")->check(CLI::Range(1, 100));
  app.add_option("--seed", options.seed, "Of the first split; the others count on")
      ->check(CLI::Range(1, 1000000));
  app.add_option("--collected", options.collected, "Times that cuda_conv_times wrote");
  app.add_option("--tuned", options.tuned, "Times of tunings, for first answers");
  app.add_flag("--json", options.json, "One JSON object");
  CLI11_PARSE(app, argc, argv);
  std::vector<Figure> figures;
  AddH200Fp32(options, figures);
  AddH200Tf32(options, figures);
  AddNeuSight(options, figures);
  if (IsWanted(options, "sgemm") || IsWanted(options, "fresh_sgemm")) AddSgemm(options, figures);
  AddCollected(options, figures);
  if (!options.tuned.empty() && IsWanted(options, "first_answer")) {
    AddFirstAnswerFigures(options.tuned, options.splits, options.seed, figures);
  }
  AddMiopen(options, figures);
  if (IsWanted(options, "seer")) AddSeerRecoveryFigures(figures);
  if (IsWanted(options, "serving")) AddServingCostFigures(figures);
  PrintFigures(figures,
               {{"data", options.data}, {"splits", options.splits}, {"seed", options.seed}},
               options.json);
  return 0;
}

}  // namespace
}  // namespace attune::bench

int main(int argc, char** argv) { return attune::bench::Main(argc, argv); }
