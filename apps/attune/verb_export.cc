// attune export: the choices in files that other programs read.

#include <algorithm>

#include <fmt/format.h>

#include "apps/attune/choices.h"
#include "apps/attune/json_text.h"
#include "apps/attune/verbs.h"
#include "attune/formats/export.h"

namespace attune {
namespace {

struct ExportOptions {
  ProblemSelection selection;
  std::string format;
  std::string file;
  std::string pytorch;  // Its version; empty: the file is for attune and for people.
  std::string device;   // FindRecordPlace.
  bool json = false;
};

Json WrittenJson(const ExportOptions& options, size_t problems,
                 const std::vector<std::string>& skipped) {
  return {{"file", options.file},
          {"format", options.format},
          {"tag", options.selection.tag},
          {"model", options.selection.model},
          {"framework", options.selection.framework},
          {"session", options.selection.session},
          {"problems", problems},
          {"left_out", skipped}};
}

// The text of the file, and a sentence for each problem that is not in it.
Result<TunableOpExport> Format(const std::vector<Choice>& choices, const ExportOptions& options,
                               const Place& place) {
  if (options.format == "json") return TunableOpExport{ExportJson(choices), {}};
  if (options.format == "csv") return TunableOpExport{ExportCsv(choices), {}};
  if (options.pytorch.empty()) {
    return ExportTunableOp(choices, {{"ATTUNE_VERSION", std::string(ProgramVersion())}});
  }
  ATTUNE_ASSIGN_OR_RETURN(const auto validators,
                          PyTorchValidators(options.pytorch, place.target, place.environment));
  return ExportTunableOp(choices, validators, TunableOpLines::kOfCublasLt);
}

Status CheckPyTorch(const ExportOptions& options) {
  if (options.pytorch.empty() || options.format == "tunableop") return Status::Ok();
  return InvalidArgument("--pytorch goes with --format tunableop alone.");
}

Result<int> RunExport(Application& application, const ExportOptions& options) {
  ATTUNE_RETURN_IF_ERROR(CheckJsonHasRoom(options.json, options.file));
  ATTUNE_RETURN_IF_ERROR(CheckPyTorch(options));
  ATTUNE_ASSIGN_OR_RETURN(const ChosenList list,
                          ChooseSelected(application, options.device, {options.selection, {}}));
  std::vector<Choice> choices;
  std::vector<std::string> skipped;
  for (const ChosenProblem& problem : list.problems) {
    if (problem.choice) {
      choices.push_back(*problem.choice);
    } else {
      skipped.push_back(
          fmt::format("{}: {}", Text(problem.tagged.problem), problem.supported.message()));
    }
  }
  // A problem that no solver computes makes an export no worse, as it makes a tuning no worse.
  const bool is_known = std::none_of(list.problems.begin(), list.problems.end(), NobodyTells);
  ATTUNE_ASSIGN_OR_RETURN(const TunableOpExport exported,
                          Format(choices, options, list.where.place));
  const bool is_complete = is_known && exported.skipped.empty();
  skipped.insert(skipped.end(), exported.skipped.begin(), exported.skipped.end());
  ATTUNE_RETURN_IF_ERROR(WriteResult(application, options.file, exported.content));
  if (options.json) {
    const size_t written = list.problems.size() - std::min(list.problems.size(), skipped.size());
    application.out().Print(Dump(WrittenJson(options, written, skipped)));
  }
  application.out().Flush();
  for (const std::string& sentence : skipped) {
    application.err().Print("Left out: " + Printable(sentence) + "\n");
  }
  return is_complete ? kExitDone : kExitPartly;
}

}  // namespace

void AddExportVerb(CLI::App& program, Invocation& invocation) {
  auto options = std::make_shared<ExportOptions>();
  CLI::App* verb =
      AddVerb(program, "export", "Write the choices of a tag to a file",
              "  attune export --tag resnet50 --format json -o choices.json\n"
              "  attune export --tag resnet50 --format csv -o - | column -s, -t\n"
              "  attune export --tag llm --format tunableop -o tunableop_results0.csv\n"
              "  attune export --tag llm --device cuda:0 --format tunableop --pytorch 2.14.0 -o "
              "tunableop_results0.csv");
  AddListOptions(*verb, options->selection, invocation)->require_option(1, 2);
  verb->add_option("--format", options->format, "json, csv, or a results file of TunableOp")
      ->required()
      ->check(CLI::IsMember({"json", "csv", "tunableop"}));
  verb->add_option("-o,--output", options->file, "The file, or - for standard output")
      ->required()
      ->type_name("FILE");
  verb->add_option(
          "--pytorch", options->pytorch,
          "With tunableop: the version of the PyTorch that is to read the file, which gets "
          "its validators and the algorithms of cuBLASLt alone")
      ->type_name("VERSION");
  verb->add_option("--device", options->device, "Where they would run")
      ->default_str("cpu, or that of the session");
  AddJsonFlag(*verb, options->json, "Print what was written as JSON, once it is in the file");
  verb->callback([options, &invocation] {
    invocation.run = [options](Application& application) {
      return RunExport(application, *options);
    };
  });
}

}  // namespace attune
