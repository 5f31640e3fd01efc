// attune best: the winners.

#include <fmt/format.h>

#include "apps/attune/choices.h"
#include "apps/attune/duration.h"
#include "apps/attune/imported_best.h"
#include "apps/attune/json_text.h"
#include "apps/attune/kernel_options.h"
#include "apps/attune/labels.h"
#include "apps/attune/objective_run.h"
#include "apps/attune/session/record_place.h"
#include "apps/attune/verbs.h"
#include "apps/attune/winner_table.h"

namespace attune {
namespace {

struct BestOptions {
  ChoiceQuery choices;
  std::string cache;
  std::string device;           // FindRecordPlace.
  std::string target;           // From imported databases, instead of a device.
  ObjectiveRun objective = {};  // Without a name: the served choice.
  bool json = false;
};

Json BestJson(const std::vector<ChosenProblem>& problems) {
  Json list = Json::array();
  for (const ChosenProblem& problem : problems) {
    Json entry;
    if (problem.choice) {
      entry = ToJson(*problem.choice);
    } else {
      // The same fields, so that a reader needs no second form.
      entry = ToJson(Choice());
      for (auto& field : entry) field = nullptr;
      entry["problem"] = Text(problem.tagged.problem);
      entry["provenance"] = NobodyTells(problem) ? Name(Provenance::kUntuned) : "unsupported";
    }
    if (!problem.supported.ok()) entry["reason"] = problem.supported.message();
    entry["weight"] = problem.tagged.weight;
    entry["baseline_note"] = problem.baseline_note;
    entry["roofline_note"] = problem.roofline_note;
    entry["throttled"] = HeldBackBy(problem.conditions);
    entry["notes"] = problem.notes;
    list.push_back(std::move(entry));
  }
  return list;
}

void PrintBest(const ChosenList& list, Application& application) {
  const std::vector<ChosenProblem>& problems = list.problems;
  Output& out = application.out();
  out.Print(WinnerTable(problems).Render(out.screen(), out.width()));
  out.Print(TotalLines(TotalsOf(problems, list.networks)));
  out.Flush();
  size_t untuned = 0;
  size_t unknown = 0;
  for (const ChosenProblem& problem : problems) {
    const bool can_be_tuned = problem.choice && problem.supported.ok();
    untuned += can_be_tuned && problem.choice->provenance == Provenance::kUntuned ? 1 : 0;
    PrintNotes(problem, application.err());
    unknown += NobodyTells(problem) ? 1 : 0;
    if (!problem.choice && !NobodyTells(problem)) {
      application.err().Print(fmt::format("{}: {}\n", Label(problem.tagged.problem),
                                          Printable(problem.supported.message())));
    }
    for (const std::string& note : problem.notes) {
      application.err().Print(fmt::format("{}: {}\n", Label(problem.tagged.problem), note));
    }
  }
  PrintIfThrottled(problems, application.err());
  if (untuned > 0) {
    application.err().Print(
        fmt::format("{} of {} problems are not tuned here: their default is shown, unmeasured. "
                    "'attune tune' measures them.\n",
                    untuned, problems.size()));
  }
  if (unknown > 0) {
    application.err().Print(
        fmt::format("{} of {} problems are not tuned in the session, and their defaults are known "
                    "where its device is. 'attune tune' measures them there.\n",
                    unknown, problems.size()));
  }
}

Result<int> RunBestByObjective(Application& application, BestOptions options) {
  options.objective.json = options.json;
  ATTUNE_RETURN_IF_ERROR(CheckObjective(application, options.objective, options.device));
  ATTUNE_ASSIGN_OR_RETURN(const RecordPlace where, FindRecordPlace(application, options.device));
  ATTUNE_RETURN_IF_ERROR(application.StoreToRead().status());
  ATTUNE_ASSIGN_OR_RETURN(const auto problems, Resolve(application, options.choices.selection));
  return PrintFronts(application, options.objective, where.place.target, problems);
}

Result<int> RunBest(Application& application, BestOptions options) {
  if (!options.objective.objective.empty()) return RunBestByObjective(application, options);
  if (!options.target.empty()) {
    ATTUNE_RETURN_IF_ERROR(miopen::CheckImportsCanTell(application, options.cache));
    ATTUNE_RETURN_IF_ERROR(application.StoreToRead().status());
    ATTUNE_ASSIGN_OR_RETURN(const auto problems, Resolve(application, options.choices.selection));
    return miopen::PrintImportedBest(application, {options.target, false, options.json}, problems);
  }
  options.choices.cache = ParseCacheState(options.cache);
  ATTUNE_ASSIGN_OR_RETURN(const ChosenList list,
                          ChooseSelected(application, options.device, options.choices));
  if (options.json) {
    application.out().Print(Dump(BestJson(list.problems)));
  } else {
    PrintBest(list, application);
  }
  return kExitDone;
}

}  // namespace

void AddBestVerb(CLI::App& program, Invocation& invocation) {
  auto options = std::make_shared<BestOptions>();
  CLI::App* verb =
      AddVerb(program, "best", "Show the best candidate of each problem, and on which evidence",
              "  attune best --tag resnet50\n"
              "  attune best --problem 'gemm@1{m=512,n=512,k=512}' --json");
  auto* group = AddSelectionOptions(*verb, options->choices.selection, invocation);
  auto* device = verb->add_option("--device", options->device, "Where it would run")
                     ->default_str("cpu, or that of the session");
  AddKernelFileOptions(*verb, *group, options->choices.selection.problems, options->device,
                       options->objective.kernel_file);
  verb->add_option("--objective", options->objective.objective,
                   "With --kernel: what 'attune tune --objective' found for these names, as "
                   "time,energy")
      ->type_name("NAMES");
  verb->add_option("--target", options->target,
                   "A GPU that need not be here: what databases imported for it say")
      ->excludes(device)
      ->type_name("TARGET");
  verb->add_option("--cache", options->cache,
                   "Only measurements with warm or cold caches or rotating operands (default: the "
                   "newest)")
      ->check(CLI::IsMember({"warm", "cold", "rotating"}));
  AddJsonFlag(*verb, options->json);
  verb->callback([options, &invocation] {
    invocation.run = [options](Application& application) { return RunBest(application, *options); };
  });
}

}  // namespace attune
