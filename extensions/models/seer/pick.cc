// attune seer pick: the algorithm of each layer, and the classes of a network's picks.

#include <algorithm>

#include <fmt/format.h>

#include "apps/attune/json_text.h"
#include "apps/attune/table.h"
#include "extensions/models/seer/seer_verbs.h"

namespace attune::seer {
namespace {

struct PickOptions {
  std::string model;
  std::vector<std::string> config_files;
  std::vector<std::string> layers;
  bool all = false;
  bool json = false;
};

// "N,C,W,K,f,s,p" as a configuration.
Result<Layer> ParseLayer(const std::string& given) {
  std::string text = given;
  for (char& c : text) c = c == ',' ? ' ' : c;
  const size_t words = static_cast<size_t>(std::count(text.begin(), text.end(), ' ')) + 1;
  // P, the fifth number of a configuration, is computed and its value ignored.
  size_t fifth = 0;
  for (int i = 0; i < 4 && fifth != text.npos; ++i) fifth = text.find(' ', fifth + 1);
  if (words == 7 && fifth != text.npos) {
    text.insert(fifth, " 1");
    const auto layers = ReadConfigurations("1\n" + text + "\n");
    if (layers.ok()) return (*layers)[0];
  }
  return InvalidArgument(fmt::format(
      "'{}' is no layer. After --layer go N,C,W,K,f,s,p: images, input channels, width, output "
      "channels, filter, stride and pad.",
      Printable(given)));
}

Result<std::vector<Layer>> LayersOf(const PickOptions& options) {
  ATTUNE_ASSIGN_OR_RETURN(std::vector<Layer> layers, ReadConfigurationFiles(options.config_files));
  for (const std::string& text : options.layers) {
    ATTUNE_ASSIGN_OR_RETURN(const Layer layer, ParseLayer(text));
    layers.push_back(layer);
  }
  return layers;
}

Json PredictionJson(const AlgorithmPrediction& x, int algorithm) {
  Json json = {{"algorithm", algorithm}, {"name", AlgorithmName(algorithm)}};
  json["time_ms"] = x.is_supported ? Json(x.time_ms) : Json();
  json["variant"] = x.variant.empty() ? Json() : Json(x.variant);
  json["class"] = x.kernel_class ? Json(NameOf(*x.kernel_class)) : Json();
  return json;
}

Json PicksJson(const SeerModel& model, const std::vector<Layer>& layers) {
  Json list = Json::array();
  for (const Layer& x : layers) {
    const int pick = model.Pick(x);
    Json algorithms = Json::array();
    for (int i = 0; i < kAlgorithms; ++i) {
      algorithms.push_back(PredictionJson(model.Predict(x, i), i));
    }
    list.push_back({{"N", x.n},
                    {"C", x.c},
                    {"W", x.w},
                    {"K", x.k},
                    {"P", x.p},
                    {"f", x.f},
                    {"s", x.s},
                    {"p", x.pad},
                    {"pick", pick < 0 ? Json() : Json(pick)},
                    {"algorithms", algorithms}});
  }
  const auto classes = ClassesOfNetwork(model, layers);
  return {
      {"layers", list},
      {"classes", {{"compute", classes[0]}, {"dram", classes[1]}, {"under_utilised", classes[2]}}}};
}

std::string LayerText(const Layer& x) {
  return fmt::format("{} {} {} {} {} {} {} {}", x.n, x.c, x.w, x.k, x.p, x.f, x.s, x.pad);
}

void AddPick(const Layer& layer, const AlgorithmPrediction& x, int algorithm, Table& table) {
  table.AddRow({LayerText(layer), fmt::format("{}", algorithm),
                std::string(AlgorithmName(algorithm)), std::string(x.variant),
                x.is_supported ? fmt::format("{:.4f} ms", x.time_ms) : "not supported",
                x.kernel_class ? std::string(NameOf(*x.kernel_class)) : ""});
}

std::string PicksTable(const SeerModel& model, const std::vector<Layer>& layers, bool all,
                       const Output& out) {
  Table table({{"N C W K P f s p"},
               {"algorithm", Column::Align::kRight},
               {"name"},
               {"variant"},
               {"time", Column::Align::kRight},
               {"class"}});
  for (const Layer& layer : layers) {
    const int pick = model.Pick(layer);
    if (pick < 0) table.AddRow({LayerText(layer), "", "none is supported", "", "", ""});
    if (pick >= 0 && !all) AddPick(layer, model.Predict(layer, pick), pick, table);
    for (int i = 0; all && i < kAlgorithms; ++i) AddPick(layer, model.Predict(layer, i), i, table);
  }
  return table.Render(out.screen(), out.width());
}

Result<int> RunPick(Application& application, const PickOptions& options) {
  ATTUNE_ASSIGN_OR_RETURN(const SeerFile file, ReadModelFile(options.model));
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<Layer> layers, LayersOf(options));
  size_t picked = 0;
  for (const Layer& layer : layers) picked += file.model.Pick(layer) < 0 ? 0 : 1;
  Output& out = application.out();
  if (options.json) {
    out.Print(Dump(PicksJson(file.model, layers)));
  } else {
    const auto classes = ClassesOfNetwork(file.model, layers);
    out.Print(PicksTable(file.model, layers, options.all, out));
    out.Print(fmt::format("Picks of each class: {} {}, {} {}, {} {}.\n", classes[0],
                          NameOf(KernelClass::kCompute), classes[1], NameOf(KernelClass::kDram),
                          classes[2], NameOf(KernelClass::kUnderUtilised)));
  }
  return picked == layers.size() ? kExitDone : kExitPartly;
}

}  // namespace

void AddPickVerb(CLI::App& seer, Invocation& invocation) {
  auto options = std::make_shared<PickOptions>();
  CLI::App* verb = AddVerb(
      seer, "pick", "Say which algorithm a model picks for layers, and the classes of the picks",
      "  attune seer pick /tmp/model.seer --configs tests/data/seer/configs.txt\n"
      "  attune seer pick /tmp/model.seer --layer 128,64,56,64,3,1,1 --all\n\n"
      "Exit status: 3 if a layer has no pick, because nothing that was trained supports it.");
  verb->add_option("model", options->model, "What 'attune seer train' wrote")
      ->required()
      ->type_name("MODEL");
  auto* layers = verb->add_option_group("layers", "Which layers, at least one of");
  layers
      ->add_option("--configs", options->config_files,
                   "Configurations as published: a comment, a count, and N C W K P f s p a line; "
                   "may be repeated")
      ->allow_extra_args(false)
      ->type_name("FILE");
  layers->add_option("--layer", options->layers, "One layer; may be repeated")
      ->allow_extra_args(false)
      ->type_name("N,C,W,K,f,s,p");
  layers->require_option(1, 2);
  verb->add_flag("--all", options->all, "Show every algorithm, not the picked one alone");
  AddJsonFlag(*verb, options->json);
  verb->callback([options, &invocation] {
    invocation.run = [options](Application& application) { return RunPick(application, *options); };
  });
}

}  // namespace attune::seer
