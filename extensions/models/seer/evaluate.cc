// attune seer evaluate: errors of a trained model on test sets I and II and on operators.

#include <fmt/format.h>

#include "apps/attune/counted.h"
#include "apps/attune/json_text.h"
#include "apps/attune/table.h"
#include "extensions/models/seer/seer_verbs.h"

namespace attune::seer {
namespace {

struct EvaluateOptions {
  std::string model;
  std::vector<std::string> kernel_files;
  std::vector<std::string> time_files;
  std::vector<std::string> operator_files;
  AlgorithmOrder order = AlgorithmOrder::kCudnn;
  bool json = false;
};

// Scores over the layers of networks with a known best time and pick.
struct LayerScores {
  Errors errors;
  PickErrors picks;
};

struct Evaluation {
  std::map<std::string, Errors> kernels;
  SortedRecords sorted;
  std::map<std::string, Errors> operators;
  std::optional<LayerScores> layers;
};

Result<Evaluation> Evaluate(const EvaluateOptions& options) {
  ATTUNE_ASSIGN_OR_RETURN(const SeerFile file, ReadModelFile(options.model));
  ATTUNE_ASSIGN_OR_RETURN(const auto records, ReadKernelFiles(options.kernel_files, options.order));
  ATTUNE_ASSIGN_OR_RETURN(const auto operators, ReadOperatorFiles(options.operator_files));
  ATTUNE_ASSIGN_OR_RETURN(const auto times, ReadTimesFiles(options.time_files, options.order));
  Evaluation evaluation;
  evaluation.sorted = SortRecords(records, file.multiprocessors, file.model.rules());
  evaluation.kernels = EvaluateRecords(file.model, evaluation.sorted);
  evaluation.operators = EvaluateOperators(file.operators, operators);
  if (!options.time_files.empty()) {
    evaluation.layers = {EvaluateLayers(file.model, times), EvaluatePicks(file.model, times)};
  }
  const bool has_scores = !evaluation.kernels.empty() || !evaluation.operators.empty() ||
                          (evaluation.layers && evaluation.layers->picks.layers > 0);
  if (has_scores) return evaluation;
  return FailedPrecondition(
      "The tables have nothing of what the model was trained for: nothing can be compared.");
}

double Percent(size_t part, size_t whole) {
  return 100 * static_cast<double>(part) / static_cast<double>(whole);
}

Json ErrorsJson(const std::map<std::string, Errors>& all) {
  Json json = Json::object();
  for (const auto& [name, errors] : all) {
    json[name] = {{"count", errors.count},
                  {"rmspe_pct", errors.RmspePercent()},
                  {"rmse_ms", errors.RmseMs()}};
  }
  return json;
}

Json EvaluationJson(const Evaluation& evaluation) {
  Json json = {{"kernels", ErrorsJson(evaluation.kernels)},
               {"unknown", evaluation.sorted.unknown},
               {"ambiguous", evaluation.sorted.ambiguous},
               {"operators", ErrorsJson(evaluation.operators)}};
  if (!evaluation.layers) return json;
  const auto& [errors, picks] = *evaluation.layers;
  Json layers = {{"layers", picks.layers}, {"wrong_picks", picks.wrong}};
  if (errors.count > 0) {
    layers["rmspe_pct"] = errors.RmspePercent();
    layers["rmse_ms"] = errors.RmseMs();
  }
  layers["vendor_layers"] = picks.vendor_layers;
  layers["vendor_wrong_picks"] = picks.vendor_wrong;
  json["layers"] = layers;
  return json;
}

std::string ErrorsTable(const std::map<std::string, Errors>& all, std::string_view title,
                        const Output& out) {
  constexpr auto kRight = Column::Align::kRight;
  Table table({{std::string(title)}, {"count", kRight}, {"RMSPE", kRight}, {"RMSE", kRight}});
  const auto add = [&table](const std::string& name, const Errors& errors) {
    table.AddRow({name, fmt::format("{}", errors.count),
                  fmt::format("{:.2f} %", errors.RmspePercent()),
                  fmt::format("{:.4f} ms", errors.RmseMs())});
  };
  for (const auto& [name, errors] : all) {
    if (name != "total") add(name, errors);
  }
  if (const auto total = all.find("total"); total != all.end()) add("total", total->second);
  return table.Render(out.screen(), out.width());
}

void PrintLayers(const LayerScores& scores, Output& out) {
  if (scores.errors.count > 0) {
    out.Print(
        fmt::format("Test set II: {} of {}, RMSPE {:.2f} %, RMSE {:.4f} ms of the best time.\n",
                    Counted(scores.errors.count, "layer"), scores.picks.layers,
                    scores.errors.RmspePercent(), scores.errors.RmseMs()));
  }
  const PickErrors& picks = scores.picks;
  if (picks.layers == 0) return;
  out.Print(fmt::format("Picks more than a tenth slower than the best: {} of {} ({:.2f} %)",
                        picks.wrong, picks.layers, Percent(picks.wrong, picks.layers)));
  if (picks.vendor_layers > 0) {
    out.Print(fmt::format(", cuDNN's own {} of {} ({:.2f} %)", picks.vendor_wrong,
                          picks.vendor_layers, Percent(picks.vendor_wrong, picks.vendor_layers)));
  }
  out.Print(".\n");
}

Result<int> RunEvaluate(Application& application, const EvaluateOptions& options) {
  ATTUNE_ASSIGN_OR_RETURN(const Evaluation evaluation, Evaluate(options));
  Output& out = application.out();
  if (options.json) {
    out.Print(Dump(EvaluationJson(evaluation)));
  } else {
    if (!evaluation.kernels.empty()) out.Print(ErrorsTable(evaluation.kernels, "test set I", out));
    out.Print(LeftOutNote(evaluation.sorted));
    if (evaluation.layers) PrintLayers(*evaluation.layers, out);
    if (!evaluation.operators.empty()) {
      out.Print(ErrorsTable(evaluation.operators, "operator", out));
    }
  }
  return evaluation.sorted.unknown + evaluation.sorted.ambiguous == 0 ? kExitDone : kExitPartly;
}

}  // namespace

void AddEvaluateVerb(CLI::App& seer, Invocation& invocation) {
  auto options = std::make_shared<EvaluateOptions>();
  CLI::App* verb = AddVerb(
      seer, "evaluate", "Compare a model's predictions and picks with tables of measurements",
      "  attune seer evaluate /tmp/model.seer --kernels /tmp/held_out.csv\n"
      "  attune seer evaluate /tmp/model.seer --times tests/data/seer/times.csv --json\n\n"
      "Test set I is of kernels whose variant and blocks are known, test set II of layers: the "
      "least\npredicted time against the least measured one. Exit status: 3 if records were left "
      "out.");
  verb->add_option("model", options->model, "What 'attune seer train' wrote")
      ->required()
      ->type_name("MODEL");
  auto* tables = verb->add_option_group("tables", "What to compare with, at least one of");
  const auto add = [tables](const char* name, std::vector<std::string>& files, const char* what) {
    tables->add_option(name, files, what)->allow_extra_args(false)->type_name("FILE");
  };
  add("--kernels", options->kernel_files, "Test set I: tables of 18 columns; may be repeated");
  add("--times", options->time_files,
      "Test set II: tables of layers with the time of every algorithm, and cuDNN's pick or without "
      "it; may be repeated");
  add("--operators", options->operator_files, "Tables of operators; may be repeated");
  tables->require_option(1, 3);
  AddOrderOption(*verb, options->order);
  AddJsonFlag(*verb, options->json);
  verb->callback([options, &invocation] {
    invocation.run = [options](Application& application) {
      return RunEvaluate(application, *options);
    };
  });
}

}  // namespace attune::seer
