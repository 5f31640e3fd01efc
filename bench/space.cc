// How long published search spaces take to build, and what one config of them costs: text in, count
// and index out. Times are of the processor, so that a busy machine disturbs them less.
//
//   space [--data DIR] [--repeats N] [--json]
//
// DIR has spaces/definitions with the spaces that others have measured, ATTUNE_DATA_DIR unless it
// is given. Without it only the spaces of PRL are built, which are computed here.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "attune/base/random.h"
#include "attune/space/config_space.h"
#include "bench/figures.h"

namespace attune {
namespace {

struct Options {
  std::string data;
  int repeats = 20;
  bool json = false;
};

// A space as its author wrote it.
struct Definition {
  std::string name;
  std::vector<Parameter> parameters;
  std::vector<std::string> constraints;  // Python.
  uint64_t valid = 0;                    // As published.
};

Result<ConfigSpace> Build(const Definition& definition) {
  std::vector<Constraint> constraints;
  for (const std::string& text : definition.constraints) {
    ATTUNE_ASSIGN_OR_RETURN(Expression expression,
                            Expression::Parse(text, ExpressionDialect::kPython));
    constraints.push_back(ConstraintFrom(std::move(expression)));
  }
  return ConfigSpace::Create(definition.parameters, std::move(constraints));
}

struct Times {
  std::vector<double> build_ms;
  std::vector<double> listed_ms;  // With the value positions of every config.
};

double Quickest(const std::vector<double>& times_ms) {
  return *std::min_element(times_ms.begin(), times_ms.end());
}

// A space with other configs than were published ends the program.
Times TimesOf(const Definition& definition, int repeats) {
  Times times;
  for (int i = 0; i < repeats; ++i) {
    const double start_ms = ProcessorMs();
    const auto space = Build(definition);
    times.build_ms.push_back(ProcessorMs() - start_ms);
    if (definition.valid > 0) Require(space.status());
    const uint64_t valid = space.ok() ? space->size() : 0;
    if (valid != definition.valid) {
      Require(Internal(fmt::format("Space '{}' has {} configs, not {}.", definition.name, valid,
                                   definition.valid)));
    }
    if (!space.ok()) {
      times.listed_ms.push_back(times.build_ms.back());
      continue;
    }
    const std::vector<uint32_t> positions = space->Positions(0, valid);
    times.listed_ms.push_back(ProcessorMs() - start_ms);
    if (positions.size() != valid * definition.parameters.size()) {
      Require(Internal(fmt::format("Space '{}' lists too few configs.", definition.name)));
    }
  }
  return times;
}

ParameterValue ValueFrom(const nlohmann::json& json) {
  if (json.is_number_integer()) return json.get<int64_t>();
  if (json.is_number()) return json.get<double>();
  return json.get<std::string>();
}

Definition RealSpace(const std::filesystem::path& path) {
  const auto json = nlohmann::json::parse(std::ifstream(path));
  Definition definition;
  definition.name = json["name"];
  definition.valid = json["valid_configs"];
  for (const auto& entry : json["parameters"]) {
    Parameter parameter{entry["name"], {}};
    for (const auto& value : entry["values"]) parameter.values.push_back(ValueFrom(value));
    definition.parameters.push_back(std::move(parameter));
  }
  definition.constraints = json["constraints_python"];
  for (const auto& text : json["implicit_constraint_added_by_kernel_tuner"]) {
    definition.constraints.push_back(text);
  }
  return definition;
}

// Values of a synthetic space: a list, or so many from one number to another as NumPy divides them.
std::vector<ParameterValue> SyntheticValues(const nlohmann::json& json) {
  std::vector<ParameterValue> values;
  if (json.is_array()) {
    for (const auto& value : json) values.emplace_back(value.get<double>());
    return values;
  }
  const auto from = json["linspace"][0].get<double>();
  const auto to = json["linspace"][1].get<double>();
  const auto count = json["linspace"][2].get<int>();
  for (int i = 0; i < count; ++i) {
    values.emplace_back(i + 1 == count ? to : from + i * ((to - from) / (count - 1)));
  }
  return values;
}

std::vector<Definition> SyntheticSpaces(const std::filesystem::path& path) {
  const auto json = nlohmann::json::parse(std::ifstream(path));
  std::vector<Definition> definitions;
  for (const auto& entry : json["spaces"]) {
    Definition definition;
    definition.name = fmt::format("synthetic {}", entry["id"].get<int>());
    definition.valid = entry["valid_configs"];
    for (const auto& [name, values] : entry["parameters"].items()) {
      definition.parameters.push_back({name, SyntheticValues(values)});
    }
    definition.constraints = entry["constraints_python"];
    definitions.push_back(std::move(definition));
  }
  return definitions;
}

Parameter Counted(std::string name, int64_t count) {
  Parameter parameter{std::move(name), {}};
  for (int64_t i = 1; i <= count; ++i) parameter.values.emplace_back(i);
  return parameter;
}

// The parameters and rules of one dimension of PRL, `d`.
void AddPrlDimension(const std::string& d, int64_t size, Definition& definition) {
  const auto named = [&d](std::string_view prefix) { return fmt::format("{}_{}_1", prefix, d); };
  std::vector<Parameter>& parameters = definition.parameters;
  parameters.push_back({named("INPUT_SIZE"), {size}});
  parameters.push_back(Counted(named("L_CB_SIZE"), size));
  parameters.push_back(Counted(named("P_CB_SIZE"), size));
  parameters.push_back({named("OCL_DIM"), {int64_t{0}, int64_t{1}}});
  parameters.push_back(Counted(named("NUM_WG"), size));
  parameters.push_back(Counted(named("NUM_WI"), size));
  for (const char* rule :
       {"INPUT_SIZE_{0}_1 % L_CB_SIZE_{0}_1 == 0", "L_CB_SIZE_{0}_1 % P_CB_SIZE_{0}_1 == 0",
        "(INPUT_SIZE_{0}_1 / L_CB_SIZE_{0}_1) % NUM_WG_{0}_1 == 0",
        "(L_CB_SIZE_{0}_1 / P_CB_SIZE_{0}_1) % NUM_WI_{0}_1 == 0",
        "NUM_WI_{0}_1 <= (INPUT_SIZE_{0}_1 + NUM_WG_{0}_1 - 1 / NUM_WG_{0}_1)"}) {
    definition.constraints.push_back(fmt::format(fmt::runtime(rule), d));
  }
}

// The space of ATF's probabilistic record linkage for `size` times `size`. There are files for 2, 4
// and 8.
Definition PrlSpace(int64_t size, uint64_t valid) {
  Definition definition;
  definition.name = fmt::format("prl{}", size);
  definition.valid = valid;
  const std::vector<ParameterValue> flag = {int64_t{0}, int64_t{1}};
  const std::vector<ParameterValue> levels = {int64_t{2}, int64_t{1}, int64_t{0}};
  definition.parameters = {{"CACHE_L_CB", flag},
                           {"CACHE_P_CB", flag},
                           {"G_CB_RES_DEST_LEVEL", {int64_t{2}}},
                           {"L_CB_RES_DEST_LEVEL", levels},
                           {"P_CB_RES_DEST_LEVEL", levels}};
  definition.constraints = {"L_CB_RES_DEST_LEVEL <= G_CB_RES_DEST_LEVEL",
                            "P_CB_RES_DEST_LEVEL <= L_CB_RES_DEST_LEVEL"};
  AddPrlDimension("L", size, definition);
  AddPrlDimension("R", size, definition);
  definition.constraints.emplace_back("OCL_DIM_R_1 != OCL_DIM_L_1");
  definition.constraints.emplace_back("NUM_WG_R_1 == 1 or (NUM_WG_R_1 % L_CB_SIZE_R_1 == 0)");
  for (const char* name : {"L_REDUCTION", "P_WRITE_BACK", "L_WRITE_BACK"}) {
    definition.parameters.push_back({name, {int64_t{std::string_view(name) != "P_WRITE_BACK"}}});
  }
  return definition;
}

// Published times to build a space on a server of two cores, in milliseconds of the processor.
// Except for Kernel Tuner, they do not include listing the configs.
struct Published {
  std::string_view name;
  double kernel_tuner_ms;
  double pyatf_ms;
  double ktt_ms;
  double cppatf_ms;
};
constexpr Published kPublished[] = {
    {"dedispersion", 11.2, 0.64, 0.23, 0.07}, {"expdist", 450.7, 0.38, 0.13, 0.02},
    {"hotspot", 1027.8, 1680.8, 123.2, 68.2}, {"gemm", 170.1, 65.4, 4.3, 37.4},
    {"microhh", 291.8, 501.5, 41.0, 24.6},    {"prl2", 2.6, 25.3, 0.15, 0.04},
    {"prl4", 18.8, 0.8, 0.17, 0.02},          {"prl8", 91.3, 0.8, 0.13, 0.02}};

class SpaceBench {
 public:
  explicit SpaceBench(const Options& options) : options_(options) {}

  int Run() {
    PrintHeader();
    const auto folder = std::filesystem::path(options_.data) / "spaces/definitions";
    const bool has_data = std::filesystem::exists(folder);
    if (has_data) {
      AddRealSpaces(folder);
      AddSyntheticSpaces(folder / "synthetic_112.json");
    }
    AddPrlSpaces();
    AddCostOfConfigs(has_data ? RealSpace(folder / "hotspot.json") : PrlSpace(8, 48'720));
    AddCostOfConfigs(PrlSpace(64, 1'340'640));
    PrintFigures(figures_, {{"repeats", options_.repeats}, {"has_data", has_data}}, options_.json);
    return 0;
  }

 private:
  void PrintHeader() const {
    if (options_.json) return;
    fmt::print("Milliseconds of the processor, the quickest of {} and the median.\n\n",
               options_.repeats);
    fmt::print("{:<14} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}\n", "space", "valid",
               "built", "median", "listed", "median", "KTuner", "pyATF", "KTT", "cppATF");
  }

  void PrintTimes(const Definition& definition, const Times& times, const Published& published) {
    if (options_.json) return;
    fmt::print("{:<14} {:>9} {:>9.3f} {:>9.3f} {:>9.2f} {:>9.2f}", definition.name,
               definition.valid, Quickest(times.build_ms), MedianOf(times.build_ms),
               Quickest(times.listed_ms), MedianOf(times.listed_ms));
    for (const double ms :
         {published.kernel_tuner_ms, published.pyatf_ms, published.ktt_ms, published.cppatf_ms}) {
      fmt::print(" {:>9}", ms > 0 ? fmt::format("{:.2f}", ms) : "-");
    }
    fmt::print("\n");
  }

  void AddRealSpaces(const std::filesystem::path& folder) {
    double build_ms = 0;
    double build_median_ms = 0;
    double listed_ms = 0;
    double listed_median_ms = 0;
    for (const Published& published : kPublished) {
      const Definition definition = RealSpace(folder / fmt::format("{}.json", published.name));
      const Times times = TimesOf(definition, options_.repeats);
      PrintTimes(definition, times, published);
      build_ms += Quickest(times.build_ms);
      build_median_ms += MedianOf(times.build_ms);
      listed_ms += Quickest(times.listed_ms);
      listed_median_ms += MedianOf(times.listed_ms);
    }
    figures_.push_back({"spaces8_ms", build_ms, "<= 20"});
    figures_.push_back({"spaces8_median_ms", build_median_ms, ""});
    figures_.push_back({"spaces8_listed_ms", listed_ms, "<= 40"});
    figures_.push_back({"spaces8_listed_median_ms", listed_median_ms, ""});
  }

  void AddSyntheticSpaces(const std::filesystem::path& path) {
    double build_ms = 0;
    double build_median_ms = 0;
    for (const Definition& definition : SyntheticSpaces(path)) {
      const Times times = TimesOf(definition, options_.repeats);
      build_ms += Quickest(times.build_ms);
      build_median_ms += MedianOf(times.build_ms);
    }
    figures_.push_back({"synthetic112_ms", build_ms, "<= 100"});
    figures_.push_back({"synthetic112_median_ms", build_median_ms, ""});
  }

  void AddPrlSpaces() {
    const std::pair<int64_t, uint64_t> sizes[] = {{16, 181'440}, {32, 514'080}, {64, 1'340'640}};
    const Published published[] = {{"", 410, 2, 0, 0}, {"", 1880, 4, 0, 0}, {"", 5560, 8, 0, 0}};
    for (size_t i = 0; i < std::size(sizes); ++i) {
      const Definition definition = PrlSpace(sizes[i].first, sizes[i].second);
      const Times times = TimesOf(definition, options_.repeats);
      PrintTimes(definition, times, published[i]);
      if (sizes[i].first != 64) continue;
      figures_.push_back({"prl64_ms", Quickest(times.build_ms), "<= 1"});
      figures_.push_back({"prl64_median_ms", MedianOf(times.build_ms), ""});
    }
  }

  // The cost of a space's queries during a search, in nanoseconds for one config.
  void AddCostOfConfigs(const Definition& definition) {
    const auto space = Build(definition);
    Require(space.status());
    constexpr int kConfigs = 20'000;
    Random random(7);
    std::vector<uint64_t> indices(kConfigs);
    for (uint64_t& index : indices) index = space->Sample(random);
    std::vector<Config> configs;
    double start_ms = ProcessorMs();
    for (const uint64_t index : indices) configs.push_back(space->At(index));
    AddCost(definition, "at_ns", ProcessorMs() - start_ms, kConfigs);
    uint64_t found = 0;
    start_ms = ProcessorMs();
    for (int i = 0; i < kConfigs; ++i) {
      found += space->IndexOf(configs[static_cast<size_t>(i)]) == indices[static_cast<size_t>(i)];
    }
    AddCost(definition, "index_of_ns", ProcessorMs() - start_ms, kConfigs);
    if (found != kConfigs) Require(Internal("A config has another index than its own."));
    uint64_t neighbours = 0;
    start_ms = ProcessorMs();
    for (const uint64_t index : indices) neighbours += space->Neighbours(index, true).size();
    AddCost(definition, "adjacent_ns", ProcessorMs() - start_ms, kConfigs);
    figures_.push_back(
        {definition.name + "_adjacent", static_cast<double>(neighbours) / kConfigs, ""});
  }

  void AddCost(const Definition& definition, std::string_view name, double ms, int configs) {
    figures_.push_back({fmt::format("{}_{}", definition.name, name), ms * 1e6 / configs, ""});
  }

  const Options& options_;
  std::vector<Figure> figures_;
};

}  // namespace
}  // namespace attune

int main(int argc, char** argv) {
  attune::Options options;
  const char* const data = std::getenv("ATTUNE_DATA_DIR");
  options.data = data == nullptr ? "../shared/data" : data;
  CLI::App app("Builds published search spaces.");
  app.add_option("--data", options.data, "Folder with spaces/definitions.");
  app.add_option("--repeats", options.repeats, "Times that each space is built.")
      ->check(CLI::Range(1, 10'000));
  app.add_flag("--json", options.json, "Print JSON.");
  CLI11_PARSE(app, argc, argv);
  return attune::SpaceBench(options).Run();
}
