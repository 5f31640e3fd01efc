// attune seer train: fits a model to tables of measurements.

#include <fmt/format.h>

#include "apps/attune/counted.h"
#include "apps/attune/json_text.h"
#include "apps/attune/replaced_file.h"
#include "apps/attune/table.h"
#include "extensions/models/seer/seer_verbs.h"

namespace attune::seer {
namespace {

struct TrainOptions {
  std::vector<std::string> files;
  std::vector<std::string> operator_files;
  std::string output;
  std::string held_out;
  std::string device;
  int64_t multiprocessors = kTitanXpProcessors;
  uint64_t seed = 1;
  AlgorithmOrder order = AlgorithmOrder::kCudnn;
  bool as_published = false;
  bool json = false;

  Rules rules() const { return as_published ? Rules::kAsPublished : Rules::kFixed; }
};

// The result of training on the tables.
struct Training {
  SortedRecords learnt;
  std::vector<KernelRecord> held_out;
  SeerFile file;
};

Result<Training> Train(const TrainOptions& options) {
  Training training;
  ATTUNE_ASSIGN_OR_RETURN(const auto records, ReadKernelFiles(options.files, options.order));
  ATTUNE_ASSIGN_OR_RETURN(const auto operators, ReadOperatorFiles(options.operator_files));
  if (records.empty() && operators.empty()) {
    return FailedPrecondition("The tables have no records: there is nothing to train with.");
  }
  training.learnt = SortRecords(records, options.multiprocessors, options.rules());
  if (!options.held_out.empty()) {
    SortedSplit split = HoldOut(training.learnt, options.rules());
    training.learnt = std::move(split.learnt);
    training.held_out = std::move(split.held_out);
  }
  training.file.device = options.device;
  training.file.multiprocessors = options.multiprocessors;
  const TrainingData data = TrainingDataOf(training.learnt, operators, options.rules());
  ATTUNE_ASSIGN_OR_RETURN(training.file.model,
                          SeerModel::Train(data, options.seed, options.rules()));
  ATTUNE_ASSIGN_OR_RETURN(training.file.operators,
                          OperatorModels::Train(operators, options.seed, options.rules()));
  return training;
}

// Records of each class.
std::array<size_t, kClasses> ClassesOf(std::span<const KernelRecord> records) {
  std::array<size_t, kClasses> counts = {};
  for (const KernelRecord& record : records) ++counts[static_cast<size_t>(ClassOf(record))];
  return counts;
}

Json TrainingJson(const Training& training) {
  Json variants = Json::array();
  for (const std::string& name : training.file.model.trained_variants()) {
    const std::vector<KernelRecord>& records = training.learnt.kernels.find(name)->second;
    const auto classes = ClassesOf(records);
    variants.push_back(
        {{"variant", name},
         {"records", records.size()},
         {"compute", classes[0]},
         {"dram", classes[1]},
         {"under_utilised", classes[2]},
         {"class_splits", training.file.model.FindModel(name)->class_tree().splits()}});
  }
  return {{"variants", variants},
          {"fft_records", training.learnt.fft.size()},
          {"fft_tiling_records", training.learnt.fft_tiling.size()},
          {"operators", training.file.operators.names()},
          {"held_out", training.held_out.size()},
          {"unknown", training.learnt.unknown},
          {"ambiguous", training.learnt.ambiguous},
          {"warnings", training.file.model.warnings()}};
}

std::string TrainingTable(const Training& training, const Output& out) {
  constexpr auto kRight = Column::Align::kRight;
  Table table({{"model"},
               {"records", kRight},
               {"compute", kRight},
               {"DRAM", kRight},
               {"under-utilised", kRight},
               {"class splits", kRight}});
  for (const std::string& name : training.file.model.trained_variants()) {
    const std::vector<KernelRecord>& records = training.learnt.kernels.find(name)->second;
    const auto classes = ClassesOf(records);
    table.AddRow({name, fmt::format("{}", records.size()), fmt::format("{}", classes[0]),
                  fmt::format("{}", classes[1]), fmt::format("{}", classes[2]),
                  fmt::format("{}", training.file.model.FindModel(name)->class_tree().splits())});
  }
  for (const auto& [name, records] : {std::pair("algo4", &training.learnt.fft),
                                      std::pair("algo5", &training.learnt.fft_tiling)}) {
    if (records->empty()) continue;
    table.AddRow({name, fmt::format("{}", records->size()), "", "", "", ""});
  }
  return table.Render(out.screen(), out.width());
}

void PrintTraining(const Training& training, Output& out) {
  out.Print(TrainingTable(training, out));
  const std::vector<std::string> operators = training.file.operators.names();
  if (!operators.empty()) out.Print(fmt::format("Operators: {}.\n", fmt::join(operators, ", ")));
  if (!training.held_out.empty()) {
    out.Print(fmt::format("{} held out.\n", Counted(training.held_out.size(), "record")));
  }
  out.Print(LeftOutNote(training.learnt));
  for (const std::string& warning : training.file.model.warnings()) out.Print(warning + "\n");
}

// Refuses to overwrite a table of measurements with an output made from it.
Status CheckOutputs(const TrainOptions& options) {
  for (const std::string& output : {options.output, options.held_out}) {
    ATTUNE_RETURN_IF_ERROR(CheckNoInput(output, options.files));
    ATTUNE_RETURN_IF_ERROR(CheckNoInput(output, options.operator_files));
  }
  return CheckTwoFiles(options.output, options.held_out, "--held-out");
}

Result<int> RunTrain(Application& application, const TrainOptions& options) {
  ATTUNE_RETURN_IF_ERROR(CheckOutputs(options));
  ATTUNE_ASSIGN_OR_RETURN(const Training training, Train(options));
  ATTUNE_ASSIGN_OR_RETURN(const std::string text, SeerText(training.file));
  ATTUNE_RETURN_IF_ERROR(WriteResult(application, options.output, text));
  if (!options.held_out.empty()) {
    ATTUNE_RETURN_IF_ERROR(
        WriteResult(application, options.held_out, Csv(training.held_out), "--held-out"));
  }
  if (options.json) {
    application.out().Print(Dump(TrainingJson(training)));
  } else if (options.output != "-" && options.held_out != "-") {
    PrintTraining(training, application.out());
  }
  return training.learnt.unknown + training.learnt.ambiguous == 0 ? kExitDone : kExitPartly;
}

}  // namespace

void AddTrainVerb(CLI::App& seer, Invocation& invocation) {
  auto options = std::make_shared<TrainOptions>();
  CLI::App* verb = AddVerb(
      seer, "train", "Train a model with tables of measured kernels (docs/formats/seer.md)",
      "  attune seer train tests/data/seer/kernels.csv -o /tmp/model.seer\n"
      "  attune seer train tests/data/seer/kernels.csv --held-out /tmp/held_out.csv "
      "--as-published -o /tmp/published.seer\n\n"
      "Exit status: 0 if every record is of a kernel variant that is known, 3 if some were left "
      "out.");
  verb->add_option("kernels", options->files, "Tables of 18 columns, one launch of a kernel a line")
      ->required()
      ->type_name("FILE");
  verb->add_option("--operators", options->operator_files,
                   "Tables of operators: im2col, Winograd's transforms, pooling, 1x1 convolutions, "
                   "gradients and layouts; may be repeated")
      ->allow_extra_args(false)
      ->type_name("FILE");
  verb->add_option("-o,--output", options->output, "Where the model goes; - is standard output")
      ->required()
      ->type_name("FILE");
  verb->add_option("--held-out", options->held_out,
                   "Learn from seven of ten records and write the others here, for 'attune seer "
                   "evaluate'")
      ->type_name("FILE");
  verb->add_option("--multiprocessors", options->multiprocessors,
                   "Those of the device, by which variants that launch equally many blocks are "
                   "told apart")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  verb->add_option("--device-name", options->device, "What the model says it is of")
      ->check(SeenText());
  verb->add_flag("--as-published", options->as_published,
                 "Do what SEER's program got wrong as it does it (docs/models.md)");
  AddOrderOption(*verb, options->order);
  AddSeedOption(*verb, options->seed, "Of the folds that choose the size of leaves");
  AddJsonFlag(*verb, options->json);
  verb->callback([options, &invocation] {
    invocation.run = [options](Application& application) -> Result<int> {
      ATTUNE_RETURN_IF_ERROR(CheckJsonHasRoom(options->json, options->output));
      ATTUNE_RETURN_IF_ERROR(CheckJsonHasRoom(options->json, options->held_out, "--held-out"));
      return RunTrain(application, *options);
    };
  });
}

}  // namespace attune::seer
