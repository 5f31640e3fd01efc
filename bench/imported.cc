// Figures of a runtime's answers from an imported database of MIOpen's: the time to make its index,
// and the time of one answer from the mapped index, through the C interface.
//
//   imported --db DATABASE --target GPU [--problems N] [--repeats N] [--json]
//
// DATABASE has imports of GPU (`attune miopen import`); its index for GPU is made anew.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "attune/attune.h"
#include "attune/base/random.h"
#include "attune/formats/miopen/conv_keys.h"
#include "attune/formats/miopen/import_lines.h"
#include "attune/index/choice_index.h"
#include "attune/index/import_index.h"
#include "attune/ops/conv/conv.h"
#include "attune/record/record_store.h"
#include "bench/figures.h"
#include "storage/sql/sql_store.h"

namespace attune {
namespace {

struct Options {
  std::string database;
  std::string target;
  size_t problems = 1000;
  int repeats = 101;
  bool json = false;
};

void RequireCall(attune_code code) {
  if (code != ATTUNE_OK) Require(Internal(attune_last_message()));
}

// For this process. Not getrusage: its peak includes the program before exec.
double PeakMib() {
  constexpr std::string_view kField = "VmHWM:";
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(kField)) return std::stod(line.substr(kField.size())) / 1024;
  }
  return 0;
}

// In the order of attune_type.
constexpr DataType kTypes[] = {DataType::kF32, DataType::kF64, DataType::kF16, DataType::kBf16};

// Nothing for a type that the C interface does not have.
std::optional<attune_conv> CallOf(const Conv& conv) {
  const auto* const type = std::find(std::begin(kTypes), std::end(kTypes), conv.type);
  if (type == std::end(kTypes)) return std::nullopt;
  attune_conv call{};
  call.batch = conv.batch;
  call.in_channels = conv.in_channels;
  call.out_channels = conv.out_channels;
  call.groups = conv.groups;
  for (size_t axis = 0; axis < 3; ++axis) {
    call.in[axis] = conv.in[axis];
    call.filter[axis] = conv.filter[axis];
    call.pad[axis] = conv.pad[axis];
    call.stride[axis] = conv.stride[axis];
    call.dilation[axis] = conv.dilation[axis];
  }
  call.direction = static_cast<int32_t>(conv.direction);
  call.spatial_rank = conv.spatial_rank;
  call.in_layout = static_cast<int32_t>(conv.in_layout);
  call.weights_layout = static_cast<int32_t>(conv.weights_layout);
  call.out_layout = static_cast<int32_t>(conv.out_layout);
  call.type = static_cast<int32_t>(type - std::begin(kTypes));
  call.alignment_bytes = conv.alignment_bytes;
  return call;
}

struct Question {
  Problem problem;
  attune_conv call = {};
};

// Problems that the imports of the target have, from all over the files.
std::vector<Question> QuestionsIn(ImportStore& imports, const Options& options) {
  std::vector<Question> all;
  const auto files = imports.Files();
  Require(files.status());
  for (const ImportedFile& file : *files) {
    if (file.kind != miopen::kFindDbKind || file.target != options.target) continue;
    Require(imports.Visit(file.id, [&](const ImportedLine& line) -> Status {
      ATTUNE_ASSIGN_OR_RETURN(const auto record, miopen::FindRecordOf(file, line));
      const auto key = miopen::ReadFindKey(record.key);
      if (!key || miopen::AnswerOf(file, record, {}).ranking.empty()) return Status::Ok();
      const auto conv = miopen::ProblemOf(*key);
      const auto call = conv.ok() ? CallOf(*conv) : std::nullopt;
      if (call.has_value()) all.push_back({*conv, *call});
      return Status::Ok();
    }));
  }
  if (all.empty()) Require(NotFound(fmt::format("No find-db of '{}' is there.", options.target)));
  Random random(1);
  for (size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[random.Below(i)]);
  all.resize(std::min(all.size(), options.problems));
  return all;
}

struct RuntimeDeleter {
  void operator()(attune_runtime* runtime) const { attune_runtime_destroy(runtime); }
};

class Asker {
 public:
  explicit Asker(const Options& options) : target_(options.target) {
    attune_options made = ATTUNE_OPTIONS_INIT;
    made.database = options.database.c_str();
    made.policy = ATTUNE_NEVER;
    attune_runtime* runtime = nullptr;
    RequireCall(attune_runtime_create(&made, &runtime));
    runtime_.reset(runtime);
  }

  void Ask(const attune_conv& conv) const {
    attune_solution best;
    best.struct_size = sizeof best;
    RequireCall(attune_conv_best_for(runtime_.get(), target_.c_str(), &conv, &best));
  }

 private:
  const std::string target_;
  std::unique_ptr<attune_runtime, RuntimeDeleter> runtime_;
};

void AddIndexFigures(const Options& options, std::vector<Figure>& figures) {
  const auto database = OpenSqlDatabase(options.database);
  Require(database.status());
  const auto imports = ImportsIn(*database);
  const auto state = RecordsIn(*database)->State();
  Require(state.status());
  const std::filesystem::path index = ImportIndexPathOf(options.database, options.target);
  std::filesystem::remove(index);
  const double before_mib = PeakMib();
  WallClock::time_point start = WallClock::now();
  const auto made = RefreshImportIndex(*imports, {state->database_id, options.target}, index);
  figures.push_back({"index_made_s", SecondsSince(start), ""});
  Require(made.status());
  figures.push_back({"index_made_peak_mib", PeakMib() - before_mib, ""});
  start = WallClock::now();
  Require(RefreshImportIndex(*imports, {state->database_id, options.target}, index).status());
  figures.push_back({"index_unchanged_ms", SecondsSince(start) * 1e3, ""});
  figures.push_back({"index_problems", static_cast<double>(made->problems), ""});
  figures.push_back(
      {"index_mib", static_cast<double>(std::filesystem::file_size(index)) / (1 << 20), ""});
}

// Nanoseconds for each of `questions`, asked one after the other.
template <class Ask>
double PassNs(const std::vector<Question>& questions, const Ask& ask) {
  const WallClock::time_point start = WallClock::now();
  for (const Question& question : questions) ask(question);
  return SecondsSince(start) * 1e9 / static_cast<double>(questions.size());
}

// `name`_median_ns and _p90_ns of as many passes as are wanted.
template <class Ask>
void AddPasses(const std::string& name, const std::vector<Question>& questions,
               const Options& options, const Ask& ask, std::vector<Figure>& figures) {
  std::vector<double> pass_ns;
  for (int i = 0; i < options.repeats; ++i) pass_ns.push_back(PassNs(questions, ask));
  std::sort(pass_ns.begin(), pass_ns.end());
  figures.push_back({name + "_median_ns", pass_ns[pass_ns.size() / 2], "< 1000"});
  figures.push_back({name + "_p90_ns", pass_ns[pass_ns.size() * 9 / 10], ""});
}

void AddAnswerFigures(const Options& options, std::vector<Figure>& figures) {
  const auto database = OpenSqlDatabase(options.database);
  Require(database.status());
  const std::vector<Question> questions = QuestionsIn(*ImportsIn(*database), options);
  const auto index = ChoiceIndex::Open(ImportIndexPathOf(options.database, options.target));
  Require(index.status());
  const Asker asker(options);
  const auto ask = [&](const Question& question) { asker.Ask(question.call); };
  const auto look_up = [&](const Question& question) {
    Require((*index)->FindBest(question.problem).status());
  };
  const WallClock::time_point start = WallClock::now();
  ask(questions.front());
  figures.push_back({"first_answer_ms", SecondsSince(start) * 1e3, ""});
  figures.push_back({"first_of_each_problem_ns", PassNs(questions, ask), ""});
  AddPasses("again", questions, options, ask, figures);
  AddPasses("again_one_problem", std::vector<Question>(questions.size(), questions.front()),
            options, ask, figures);
  AddPasses("look_up_in_index", questions, options, look_up, figures);
}

int Run(const Options& options) {
  std::vector<Figure> figures;
  AddIndexFigures(options, figures);
  AddAnswerFigures(options, figures);
  PrintFigures(figures, {{"target", options.target}, {"repeats", options.repeats}}, options.json);
  return 0;
}

}  // namespace
}  // namespace attune

int main(int argc, char** argv) {
  attune::Options options;
  CLI::App app("Figures of answers from imported databases");
  app.add_option("--db", options.database, "A database with imports")->required();
  app.add_option("--target", options.target, "Of which GPU")->required();
  app.add_option("--problems", options.problems, "Different problems that are asked in turn")
      ->check(CLI::Range(size_t{1}, size_t{1'000'000}))
      ->capture_default_str();
  app.add_option("--repeats", options.repeats, "Passes over all of them")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  app.add_flag("--json", options.json, "Print one JSON object");
  CLI11_PARSE(app, argc, argv);
  return attune::Run(options);
}
