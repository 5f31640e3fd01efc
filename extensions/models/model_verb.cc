// attune model: models of time, fitted to measurements.

#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "apps/attune/counted.h"
#include "apps/attune/replaced_file.h"
#include "apps/attune/table.h"
#include "attune/base/file.h"
#include "attune/base/text.h"
#include "attune/index/fitting.h"
#include "attune/index/model_origin.h"
#include "attune/model/launch_features.h"
#include "attune/model/shape_features.h"
#include "extensions/models/model_verbs.h"
#include "storage/sql/sql_store.h"

namespace attune {
namespace model {
namespace {

struct FitOptions {
  Sources sources;
  std::string output;
  double held_out = 0.1;
  bool json = false;
};

struct EvaluateOptions {
  std::string model;
  Sources sources;
  bool json = false;
};

struct ShowOptions {
  std::string model;
  bool json = false;
};

// The path where the run time and the tuner look for models fitted to records.
Result<std::string> UsualPlace(Application& application, const TimeSamples& data,
                               const Sources& sources) {
  if (!sources.find_dbs.empty() || !sources.tables.empty()) {
    return InvalidArgument("A model of --miopen or --csv goes to the file that --output names.");
  }
  // Fitting it again would not need the device.
  if (sources.dry_run) {
    return InvalidArgument("A model of --dry-run goes to the file that --output names.");
  }
  ATTUNE_ASSIGN_OR_RETURN(const std::string database, application.DatabasePath());
  if (IsOnServer(database)) {
    return InvalidArgument("The database is on a server, so name the file with --output.");
  }
  ATTUNE_ASSIGN_OR_RETURN(const std::string_view name, OperatorOfFeatures(data.features.name));
  const std::filesystem::path path = ModelPathOf(database, data.origin, name);
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  if (error) {
    return Unavailable(fmt::format("Cannot make the folder '{}': {}.", path.parent_path().string(),
                                   error.message()));
  }
  return path.string();
}

Result<int> RunFit(Application& application, FitOptions options) {
  ATTUNE_RETURN_IF_ERROR(CheckNoInput(options.output, options.sources.tables));
  ATTUNE_RETURN_IF_ERROR(CheckNoInput(options.output, options.sources.find_dbs));
  ATTUNE_RETURN_IF_ERROR(
      CheckNoInput(options.output, std::vector<std::string>{application.named_database()}));
  ATTUNE_ASSIGN_OR_RETURN(const TimeSamples data, ReadData(application, options.sources));
  const bool is_usual = options.output.empty();
  if (is_usual) {
    ATTUNE_ASSIGN_OR_RETURN(options.output, UsualPlace(application, data, options.sources));
  }
  ATTUNE_ASSIGN_OR_RETURN(const std::optional<ModelScore> score,
                          HeldOutScore(data, options.held_out));
  ATTUNE_ASSIGN_OR_RETURN(const TimeModel model, FitUsual(data.features, data.samples));
  ATTUNE_ASSIGN_OR_RETURN(const std::string text,
                          ModelText(model, data.origin, FingerprintOf(data.samples)));
  ATTUNE_RETURN_IF_ERROR(WriteResult(application, options.output, text));
  Output& out = application.out();
  if (options.json) {
    Json json = {{"device", data.origin.device},
                 {"library", data.origin.library},
                 {"features", data.features.name},
                 {"samples", data.samples.size()},
                 {"configurations", data.configurations},
                 {"left_out", data.left_out},
                 {"bytes", text.size()},
                 {"held_out", score ? ScoreJson(*score) : Json()}};
    if (is_usual) json["file"] = options.output;
    out.Print(Dump(json));
  } else if (options.output != "-") {
    out.Print(fmt::format("Fitted to {} of {}, {} bytes.\n", Counted(data.samples.size(), "sample"),
                          Counted(data.configurations, "configuration"), text.size()));
    if (is_usual) out.Print(fmt::format("It is '{}'.\n", Printable(options.output)));
    if (data.left_out > 0) {
      out.Print(fmt::format("{} left out: of other operators, or none of ours.\n",
                            Counted(data.left_out, "row")));
    }
    if (score) out.Print("Held out while fitting another one:\n" + ScoreText(*score));
  }
  return data.left_out == 0 ? kExitDone : kExitPartly;
}

Result<int> RunEvaluate(Application& application, const EvaluateOptions& options) {
  ATTUNE_ASSIGN_OR_RETURN(const std::string text, ReadFile(options.model));
  ATTUNE_ASSIGN_OR_RETURN(TimeSamples data, ReadData(application, options.sources));
  const auto named = [&](const Status& status) {
    return status.WithContext(fmt::format("'{}'", options.model));
  };
  const auto header = ReadModelHeader(text);
  if (!header.ok()) return named(header.error());
  ATTUNE_ASSIGN_OR_RETURN(const std::string_view name, OperatorOfFeatures(data.features.name));
  ATTUNE_ASSIGN_OR_RETURN(const FeatureSet features, FeaturesCalled(header->features, name));
  // A model of shapes alone knows no kernels.
  if (features.kernel.empty()) {
    for (Sample& sample : data.samples) sample.row.kernels.clear();
  }
  const auto model = ReadModel(text, data.origin, features);
  if (!model.ok()) return named(model.error());
  const ModelScore score = ScoreOf(*model, data.samples);
  application.out().Print(options.json ? Dump(ScoreJson(score)) : ScoreText(score));
  return kExitDone;
}

Result<int> RunShow(Application& application, const ShowOptions& options) {
  ATTUNE_ASSIGN_OR_RETURN(const std::string text, ReadFile(options.model));
  const auto named = [&](const Status& status) {
    return status.WithContext(fmt::format("'{}'", options.model));
  };
  const auto header = ReadModelHeader(text);
  if (!header.ok()) return named(header.error());
  ATTUNE_ASSIGN_OR_RETURN(const FeatureSet features, FeaturesNamed(header->features));
  const auto model = ReadModel(text, header->origin, features);
  if (!model.ok()) return named(model.error());
  Output& out = application.out();
  const std::string_view chooses_by = model->chooser() != nullptr ? "neighbours" : "times";
  if (options.json) {
    Json algorithms = Json::array();
    for (const std::string& name : model->algorithms()) {
      algorithms.push_back({{"algorithm", name}, {"model", model->ChosenFor(name)}});
    }
    out.Print(Dump({{"device", header->origin.device},
                    {"library", header->origin.library},
                    {"features", header->features},
                    {"fitted_to", header->samples.ToHex()},
                    {"samples", model->samples()},
                    {"bytes", text.size()},
                    {"over_all", model->ChosenFor("")},
                    {"chooses_by", chooses_by},
                    {"algorithms", algorithms}}));
    return kExitDone;
  }
  out.Print(
      fmt::format("Device    {}\nLibrary   {}\nFeatures  {}\nSamples   {}\nBytes     {}\n"
                  "Chooses   by {}\n",
                  Printable(header->origin.device), Printable(header->origin.library),
                  header->features, model->samples(), text.size(), chooses_by));
  Table table({{"algorithm", Column::Align::kLeft, Column::Fit::kCut}, {"model"}});
  table.AddRow({"(all)", model->ChosenFor("")});
  for (const std::string& name : model->algorithms()) {
    table.AddRow({Printable(name), model->ChosenFor(name)});
  }
  out.Print(table.Render(out.screen(), out.width()));
  return kExitDone;
}

}  // namespace

void AddFitVerb(CLI::App& verb, Invocation& invocation) {
  auto options = std::make_shared<FitOptions>();
  CLI::App* fit = AddVerb(
      verb, "fit", "Fit a model to measured times of one device, and say how good it is",
      "  attune model fit --device cpu --operator gemm\n"
      "  attune model fit --miopen tests/data/miopen/gfx906_60.HIP.fdb.txt -o /tmp/conv.model\n\n"
      "Exit status: 3 if rows were left out.");
  AddSourceOptions(*fit, options->sources);
  fit->add_option("-o,--output", options->output,
                  "Where the model goes; - is standard output. Without it a model of records goes "
                  "beside the database, where the run time and 'attune tune' find it")
      ->type_name("FILE");
  fit->add_option("--hold-out", options->held_out,
                  "The share of configurations by which a model of the others is scored first")
      ->check(CLI::Range(0.0, 0.9))
      ->capture_default_str();
  AddJsonFlag(*fit, options->json);
  fit->callback([options, &invocation] {
    invocation.run = [options](Application& application) -> Result<int> {
      ATTUNE_RETURN_IF_ERROR(CheckJsonHasRoom(options->json, options->output));
      return RunFit(application, *options);
    };
  });
}

void AddEvaluateVerb(CLI::App& verb, Invocation& invocation) {
  auto options = std::make_shared<EvaluateOptions>();
  CLI::App* evaluate = AddVerb(
      verb, "evaluate", "Compare a model with measured times of its device",
      "  attune model evaluate /tmp/conv.model --miopen "
      "tests/data/miopen/gfx906_60.HIP.fdb.txt\n\n"
      "A model of another device, library or set of features is refused. What a model was fitted "
      "to\n"
      "is predicted better than what it was not: 'attune model fit' says how well that is.");
  evaluate->add_option("model", options->model, "What 'attune model fit' wrote")
      ->required()
      ->type_name("MODEL");
  AddSourceOptions(*evaluate, options->sources);
  AddJsonFlag(*evaluate, options->json);
  evaluate->callback([options, &invocation] {
    invocation.run = [options](Application& application) {
      return RunEvaluate(application, *options);
    };
  });
}

void AddShowVerb(CLI::App& verb, Invocation& invocation) {
  auto options = std::make_shared<ShowOptions>();
  CLI::App* show = AddVerb(verb, "show", "Say what a model is of, and what predicts each algorithm",
                           "  attune model show /tmp/conv.model --json");
  show->add_option("model", options->model, "What 'attune model fit' wrote")
      ->required()
      ->type_name("MODEL");
  AddJsonFlag(*show, options->json);
  show->callback([options, &invocation] {
    invocation.run = [options](Application& application) { return RunShow(application, *options); };
  });
}

}  // namespace model

void AddModelVerb(CLI::App& program, Invocation& invocation) {
  CLI::App* verb = AddVerb(program, "model", "Fit, evaluate and show models of time",
                           "  attune model fit --miopen tests/data/miopen/gfx906_60.HIP.fdb.txt -o "
                           "/tmp/conv.model\n"
                           "  attune model show /tmp/conv.model");
  verb->require_subcommand(1);
  model::AddFitVerb(*verb, invocation);
  model::AddEvaluateVerb(*verb, invocation);
  model::AddShowVerb(*verb, invocation);
}

}  // namespace attune
