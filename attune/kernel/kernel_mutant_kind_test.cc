// Tests the classification of corrupted kernel files.
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "attune/base/file.h"
#include "attune/kernel/kernel_mutant.h"
#include "attune/kernel/kernel_plan.h"
#include "attune/kernel/problem_fields.h"
#include "attune/kernel/shipped_files_test.h"

namespace attune::kernel {
namespace {

using Json = nlohmann::json;

KernelMutation Changed(const std::function<void(Json&)>& change) {
  KernelMutation mutation;
  mutation.file_name = "gemm_tiled.json";
  mutation.original = Json::parse(*ReadFile(ShippedFile(mutation.file_name)));
  mutation.changed = mutation.original;
  change(mutation.changed);
  return mutation;
}

struct KindCase {
  const char* what;
  std::function<void(Json&)> change;
  MutantKind kind;
};

const KindCase kCases[] = {
    {"unknown key", [](Json& f) { f["x"] = 1; }, MutantKind::kReported},
    {"no such source", [](Json& f) { f["sources"][0] = "none.cl"; }, MutantKind::kReported},
    {"nothing", [](Json&) {}, MutantKind::kUnchanged},
    {"order of run-time sizes",
     [](Json& f) { std::swap(f["sizes"]["run_time"][0], f["sizes"]["run_time"][1]); },
     MutantKind::kUnchanged},
    {"name", [](Json& f) { f["name"] = "other"; }, MutantKind::kRelabelled},
    {"version", [](Json& f) { f["version"] = 9; }, MutantKind::kRelabelled},
    {"description", [](Json& f) { f["description"] = "x"; }, MutantKind::kRelabelled},
    {"another default",
     [](Json& f) {
       std::swap(f["parameters"][0]["values"]["opencl"][0],
                 f["parameters"][0]["values"]["opencl"][1]);
     },
     MutantKind::kOffersLess},
    {"a value less", [](Json& f) { f["parameters"][0]["values"]["opencl"].erase(0); },
     MutantKind::kOffersLess},
    {"one rule more", [](Json& f) { f["applies"].push_back("m > n"); }, MutantKind::kOffersLess},
    {"a stricter rule", [](Json& f) { f["constraints"][1] = "WG_U * WG_V <= 4"; },
     MutantKind::kOffersNoMore},
    {"a stricter limit of a size", [](Json& f) { f["applies"][6] = "batch_count < 9"; },
     MutantKind::kOffersNoMore},
    {"another order", [](Json& f) { f["cost"] = "WG_U"; }, MutantKind::kOffersLess},
    {"blanks", [](Json& f) { f["launches"][0]["groups"][1] = "ceil_div(n,WG_V*REG_V)"; },
     MutantKind::kSameEffect},
    {"order of definitions", [](Json& f) { std::swap(f["definitions"][0], f["definitions"][1]); },
     MutantKind::kSameEffect},
    {"a workspace that there cannot be", [](Json& f) { f["workspace_bytes"] = "m - 1000000"; },
     MutantKind::kNoPlan},
    {"larger problems", [](Json& f) { f["applies"][3] = "m > 0"; }, MutantKind::kBeyondTests},
    {"one element more",
     [](Json& f) { f["applies"][3] = "lda * (trans_a == 1 ? m : k) <= 2147483648"; },
     MutantKind::kBeyondTests},
    {"smaller devices", [](Json& f) { f["constraints"][8] = "TILE_K > 0"; }, MutantKind::kAnother},
    {"more matrices", [](Json& f) { f["applies"][6] = "m > 0"; }, MutantKind::kAnother},
    {"a new value", [](Json& f) { f["parameters"][5]["values"]["opencl"].push_back(16); },
     MutantKind::kAnother},
    {"a weaker rule", [](Json& f) { f["constraints"][2] = "VEC * REG_U * REG_V <= 512"; },
     MutantKind::kAnother},
    {"another type", [](Json& f) { f["applies"][1] = "m > 0"; }, MutantKind::kAnother},
    {"another argument", [](Json& f) { f["launches"][0]["arguments"][8]["int"] = "n"; },
     MutantKind::kAnother},
    {"another class of problems only",
     [](Json& f) {
       std::string value = f["definitions"][5]["value"];
       f["definitions"][5]["value"] = value.replace(value.find("'sigmoid'"), 9, "'tanh'");
     },
     MutantKind::kAnother},
    {"another program", [](Json& f) { std::swap(f["sources"][0], f["sources"][1]); },
     MutantKind::kAnother},
    {"another grid", [](Json& f) { f["launches"][0]["groups"][0] = "ceil_div(m, WG_U)"; },
     MutantKind::kAnother},
};

TEST(KernelMutantKindTest, EveryKindIsToldFromTheOthers) {
  MutantClassifier classifier;
  std::set<MutantKind> seen;
  for (const KindCase& each : kCases) {
    const KernelMutant mutant = classifier.Classify(Changed(each.change));
    EXPECT_EQ(Name(mutant.kind), Name(each.kind)) << each.what << ": " << mutant.report;
    EXPECT_EQ(mutant.use.has_value(), each.kind == MutantKind::kAnother) << each.what;
    seen.insert(mutant.kind);
  }
  EXPECT_EQ(seen.size(), 9u);
}

TEST(KernelMutantKindTest, ProgramAndPlanAreMadeFromNeitherLabelsNorOffers) {
  const auto path = ShippedFile("gemm_tiled.json");
  const auto intact = LoadKernelFile(path, KernelLanguage::kOpenCl);
  ASSERT_TRUE(intact.ok());
  KernelFile changed = *intact;
  changed.name = changed.description = "other";
  changed.version = 9;
  changed.applies.clear();
  changed.constraints.clear();
  Config config;
  for (Parameter& parameter : changed.parameters) {
    config[parameter.name] = parameter.values.back();
    parameter.values = {int64_t{1000}};
  }

  for (const Problem& problem : CoveringProblems("gemm")) {
    const auto plan = MakePlan(*intact, problem, config);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    EXPECT_EQ(*MakePlan(changed, problem, config), *plan);
    EXPECT_EQ(*MakeSource(changed, problem, config), *MakeSource(*intact, problem, config));
  }
}

TEST(KernelMutantKindTest, CoveringProblemsHaveEveryValueOfEveryClass) {
  const std::map<std::string, std::map<std::string, size_t>> values = {{"gemm",
                                                                        {{"trans_a", 2},
                                                                         {"trans_b", 2},
                                                                         {"type", 8},
                                                                         {"c_type", 8},
                                                                         {"math", 3},
                                                                         {"alpha_class", 3},
                                                                         {"beta_class", 3},
                                                                         {"bias", 3},
                                                                         {"activation", 5},
                                                                         {"alignment_bytes", 2},
                                                                         {"deterministic", 2}}},
                                                                       {"conv",
                                                                        {{"direction", 3},
                                                                         {"mode", 2},
                                                                         {"spatial_rank", 2},
                                                                         {"in_layout", 2},
                                                                         {"weights_layout", 2},
                                                                         {"out_layout", 2},
                                                                         {"type", 8},
                                                                         {"math", 3},
                                                                         {"bias", 2},
                                                                         {"alignment_bytes", 2},
                                                                         {"deterministic", 2}}},
                                                                       {"softmax",
                                                                        {{"direction", 2},
                                                                         {"logarithm", 2},
                                                                         {"mask", 3},
                                                                         {"scaled", 2},
                                                                         {"type", 3},
                                                                         {"alignment_bytes", 2},
                                                                         {"deterministic", 2}}},
                                                                       {"batch_norm",
                                                                        {{"direction", 3},
                                                                         {"mode", 2},
                                                                         {"layout", 2},
                                                                         {"affine", 2},
                                                                         {"running", 2},
                                                                         {"saved", 2},
                                                                         {"fusion", 4},
                                                                         {"type", 3},
                                                                         {"alignment_bytes", 2},
                                                                         {"deterministic", 2}}}};
  for (const auto& [operator_name, expected] : values) {
    std::map<std::string, std::set<std::string>> seen;
    for (const Problem& problem : CoveringProblems(operator_name)) {
      EXPECT_TRUE(Validate(problem).ok()) << Text(problem) << Validate(problem).message();
      for (const auto& [name, value] : FieldsOf(problem)) seen[name].insert(attune::Text(value));
    }
    for (const std::string& name : FieldNamesOf(operator_name)->classes) {
      ASSERT_TRUE(expected.contains(name)) << name;
      EXPECT_EQ(seen[name].size(), expected.at(name)) << operator_name << " " << name;
    }
    for (const auto& beyond : {LimitProblems(operator_name), LargeProblems(operator_name)}) {
      for (const Problem& problem : beyond) {
        EXPECT_TRUE(Validate(problem).ok()) << Text(problem) << Validate(problem).message();
      }
    }
  }
}

}  // namespace
}  // namespace attune::kernel
