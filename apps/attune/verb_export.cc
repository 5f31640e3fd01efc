// attune export: the choices in files that other programs read.

#include <algorithm>

#include <fmt/format.h>

#include "apps/attune/choices.h"
#include "apps/attune/json_text.h"
#include "apps/attune/kernel_options.h"
#include "apps/attune/replaced_file.h"
#include "apps/attune/verbs.h"
#include "attune/base/file.h"
#include "attune/formats/export.h"
#include "attune/formats/tuner_results.h"
#include "attune/kernel/own_kernel.h"
#include "attune/tunable/own_results.h"
#include "attune/tuner/own_kernel/tuned_size.h"
#include "attune/tuner/own_kernel/wisdom_text.h"
#include "runtime/tunable_identity.h"

namespace attune {
namespace {

struct ExportOptions {
  ProblemSelection selection;
  std::string format;
  std::string file;
  std::string pytorch;  // Its version; empty: the file is for attune and for people.
  std::string device;   // FindRecordPlace.
  std::string kernel;   // The file of a user's kernel; without problems all that is tuned of it.
  std::string results;  // Another tuner's results, instead.
  bool wisdom = false;
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

// The file that a runtime serves with ATTUNE_TUNABLE_ENABLED=1, with a line for every operator. It
// omits the name and the kernel of this host: the records may come from another host.
TunableOpExport ResultsOfTuning(const std::vector<Choice>& choices, const Place& place) {
  TunableOpExport exported;
  std::vector<TunedProblem> problems;
  for (const Choice& choice : choices) {
    if (choice.measurement.median_ns > 0) {
      problems.push_back({choice.problem, {choice.candidate, choice.measurement.median_ns}});
    } else {
      exported.skipped.push_back(fmt::format("{} was not measured.", Text(choice.problem)));
    }
  }
  TunableIdentity identity = TunableIdentityAt(place);
  std::erase_if(identity.environment, [](const auto& field) { return IsHostField(field.first); });
  exported.content = ResultsFileText(problems, identity);
  return exported;
}

// The text of the file, and a sentence for each problem that is not in it.
Result<TunableOpExport> Format(const std::vector<Choice>& choices, const ExportOptions& options,
                               const Place& place) {
  if (options.format == "json") return TunableOpExport{ExportJson(choices), {}};
  if (options.format == "csv") return TunableOpExport{ExportCsv(choices), {}};
  if (options.pytorch.empty()) return ResultsOfTuning(choices, place);
  ATTUNE_ASSIGN_OR_RETURN(const auto validators,
                          PyTorchValidators(options.pytorch, place.target, place.environment));
  return ExportTunableOp(choices, validators, TunableOpLines::kOfCublasLt);
}

// Tuned choices of the named kernel, and the kernel as the device has it.
struct TunedKernel {
  kernel::KernelFile file;
  Target device;
  std::vector<TunedSize> tuned;
};

// Returns the named sizes, or all. kNotFound if there is none.
Result<TunedKernel> TunedKernelOf(Application& application, const ExportOptions& options) {
  ATTUNE_ASSIGN_OR_RETURN(const RecordPlace where, FindRecordPlace(application, options.device));
  ATTUNE_ASSIGN_OR_RETURN(RecordStore * store, application.StoreToRead());
  TunedKernel found;
  found.device = where.place.target;
  ATTUNE_ASSIGN_OR_RETURN(found.file, kernel::LoadOwnKernel(options.kernel, found.device.backend));
  ATTUNE_ASSIGN_OR_RETURN(const auto tuned,
                          TunedSizesOf(*store, found.file, found.device, where.place.environment));
  const std::vector<std::string>& wanted = options.selection.problems;
  for (const TunedSize& size : tuned) {
    ATTUNE_ASSIGN_OR_RETURN(const Problem problem, kernel::MakeOwnProblem(found.file, size.sizes));
    const bool is_wanted =
        wanted.empty() || std::find(wanted.begin(), wanted.end(), Text(problem)) != wanted.end();
    if (is_wanted) found.tuned.push_back(size);
  }
  if (!found.tuned.empty()) return found;
  return NotFound(fmt::format(
      "No size of kernel {}{} is tuned on {}. 'attune tune --kernel {} --size SIZES' tunes one.",
      found.file.name, wanted.empty() ? "" : " that was asked for", Text(found.device),
      options.kernel));
}

Result<int> ExportWisdom(Application& application, const ExportOptions& options) {
  ATTUNE_ASSIGN_OR_RETURN(const TunedKernel kernel, TunedKernelOf(application, options));
  const Wisdom wisdom{&kernel.file, kernel.device, kernel.tuned};
  const bool is_header = options.file.ends_with(".h") || options.file.ends_with(".hpp");
  ATTUNE_ASSIGN_OR_RETURN(const std::string text,
                          is_header ? WisdomHeader(wisdom) : WisdomJson(wisdom));
  ATTUNE_RETURN_IF_ERROR(WriteResult(application, options.file, text));
  if (options.json) {
    ExportOptions written = options;
    written.format = is_header ? "wisdom header" : "wisdom";
    application.out().Print(Dump(WrittenJson(written, kernel.tuned.size(), {})));
  }
  return kExitDone;
}

bool IsOfTried(const std::string& format) { return format == "t4" || format == "space"; }

// All that was tried: by another tuner, or here of one size of a kernel.
Result<TunerResults> TriedConfigs(Application& application, const ExportOptions& options) {
  if (!options.results.empty()) {
    ATTUNE_ASSIGN_OR_RETURN(const std::string json, ReadFile(options.results));
    auto results = ReadTunerResults(json);
    if (results.ok()) return results;
    return results.error().WithContext(options.results);
  }
  if (options.selection.problems.size() != 1) {
    return InvalidArgument(fmt::format(
        "--format {} is of one size of a kernel: name one with --size.", options.format));
  }
  ATTUNE_ASSIGN_OR_RETURN(const TunedKernel kernel, TunedKernelOf(application, options));
  ATTUNE_ASSIGN_OR_RETURN(RecordStore * store, application.StoreToRead());
  RecordQuery query;
  ATTUNE_ASSIGN_OR_RETURN(query.problem, ParseProblem(options.selection.problems.front()));
  query.backend = kernel.device.backend;
  std::vector<RecordedSet> sets;
  ATTUNE_RETURN_IF_ERROR(store->Visit(query, [&](const RecordedSet& set) {
    if (set.set.target == kernel.device) sets.push_back(set);
    return Status::Ok();
  }));
  return ResultsOf(sets, kernel.file.solver_name());
}

Result<int> ExportTried(Application& application, const ExportOptions& options) {
  ATTUNE_ASSIGN_OR_RETURN(const TunerResults results, TriedConfigs(application, options));
  const std::string missing = WhatIsMissing(results);
  std::string text;
  if (options.format == "t4") {
    text = WriteT4(results);
  } else {
    auto space = WriteRecordedSpace(results);
    if (!space.ok()) {
      return missing.empty()
                 ? space.error()
                 : space.error().WithContext(fmt::format("{}: {}", options.results, missing));
    }
    text = std::move(*space);
  }
  ATTUNE_RETURN_IF_ERROR(WriteResult(application, options.file, text));
  if (options.json) {
    std::vector<std::string> left_out;
    if (results.lost.has_value()) left_out.push_back(missing);
    application.out().Print(Dump(WrittenJson(options, results.tried.size(), left_out)));
  }
  application.out().Flush();
  if (!missing.empty()) {
    application.err().Print(fmt::format("attune export: {}: {}. Configs read: {}.\n",
                                        Printable(options.results), Printable(missing),
                                        results.tried.size()));
  }
  return results.lost.has_value() ? kExitPartly : kExitDone;
}

// Wisdom is of a kernel; other exports need a format. A kernel without sizes means those that are
// tuned.
Status CheckWhatIsMeant(const ExportOptions& options) {
  if (options.wisdom && options.kernel.empty()) {
    return InvalidArgument("--wisdom is about the kernel that --kernel names.");
  }
  const bool is_of_tried = IsOfTried(options.format);
  if (is_of_tried && options.kernel.empty() && options.results.empty()) {
    return InvalidArgument(
        fmt::format("--format {} is of what --kernel or --results names.", options.format));
  }
  const auto& selection = options.selection;
  const bool names_more = options.wisdom || !options.kernel.empty() ||
                          !selection.problems.empty() || !selection.tag.empty() ||
                          !selection.model.empty() || !selection.session.empty();
  if (!options.results.empty() && names_more) {
    return InvalidArgument("--results stands alone: it names all that is written.");
  }
  if (!options.results.empty() && !is_of_tried) {
    return InvalidArgument("--results goes with --format t4 or space.");
  }
  if (options.wisdom || !options.format.empty()) return Status::Ok();
  return InvalidArgument("--format is required, unless --wisdom is given.");
}

Status CheckReplacesNothing(Application& application, const ExportOptions& options) {
  ATTUNE_RETURN_IF_ERROR(CheckNoInputOfKernel(options.file, options.kernel));
  return CheckNoInput(options.file,
                      std::vector<std::string>{options.results, application.named_database()});
}

Status CheckPyTorch(const ExportOptions& options) {
  if (options.pytorch.empty() || options.format == "tunableop") return Status::Ok();
  return InvalidArgument("--pytorch goes with --format tunableop alone.");
}

Result<int> RunExport(Application& application, const ExportOptions& options) {
  ATTUNE_RETURN_IF_ERROR(CheckJsonHasRoom(options.json, options.file));
  ATTUNE_RETURN_IF_ERROR(CheckPyTorch(options));
  ATTUNE_RETURN_IF_ERROR(CheckWhatIsMeant(options));
  ATTUNE_RETURN_IF_ERROR(CheckReplacesNothing(application, options));
  if (options.wisdom) return ExportWisdom(application, options);
  if (IsOfTried(options.format)) return ExportTried(application, options);
  ProblemSelection selection = options.selection;
  if (!options.kernel.empty() && selection.problems.empty()) {
    ATTUNE_ASSIGN_OR_RETURN(const TunedKernel kernel, TunedKernelOf(application, options));
    for (const TunedSize& size : kernel.tuned) {
      ATTUNE_ASSIGN_OR_RETURN(const Problem problem,
                              kernel::MakeOwnProblem(kernel.file, size.sizes));
      selection.problems.push_back(Text(problem));
    }
  }
  ATTUNE_ASSIGN_OR_RETURN(const ChosenList list,
                          ChooseSelected(application, options.device, {selection, {}}));
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
  CLI::App* verb = AddVerb(
      program, "export", "Write the choices of a tag to a file",
      "  attune export --tag resnet50 --format json -o choices.json\n"
      "  attune export --tag resnet50 --format csv -o - | column -s, -t\n"
      "  attune export --tag llm --format tunableop -o tunableop_results0.csv\n"
      "  attune export --tag llm --device cuda:0 --format tunableop --pytorch 2.14.0 -o "
      "tunableop_results0.csv\n"
      "  attune export --results tests/data/tuner_results/cache.json --format t4 -o t4.json");
  auto* group = AddSelectionOptions(*verb, options->selection, invocation);
  auto* format =
      verb->add_option("--format", options->format,
                       "json, csv, or a results file of TunableOp; with --kernel or --results also "
                       "t4, the results of tuners, or space, which 'attune replay' reads");
  format->check(CLI::IsMember({"json", "csv", "tunableop", "t4", "space"}));
  group
      ->add_option("--results", options->results,
                   "A cache of Kernel Tuner or results in T4, to be written in another format")
      ->type_name("FILE");
  verb->add_flag("--wisdom", options->wisdom,
                 "With --kernel: for a program that has no attune, as JSON or, where FILE ends in "
                 ".h or .hpp, a header of C and C++")
      ->excludes(format);
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
  AddKernelOptions(*verb, *group, options->selection.problems, options->device, options->kernel);
  AddJsonFlag(*verb, options->json, "Print what was written as JSON, once it is in the file");
  verb->callback([options, &invocation] {
    invocation.run = [options](Application& application) {
      return RunExport(application, *options);
    };
  });
}

}  // namespace attune
