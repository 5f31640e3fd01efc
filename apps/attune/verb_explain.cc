// attune explain: the candidate that serves here and why, as the runtime decides it; and for the
// candidate that the database chooses every trial, the losers and their margins, the failures and
// their reasons, and the measurements that do not count here.

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "apps/attune/choices.h"
#include "apps/attune/duration.h"
#include "apps/attune/imported_best.h"
#include "apps/attune/json_text.h"
#include "apps/attune/kernel_options.h"
#include "apps/attune/labels.h"
#include "apps/attune/program_runtime.h"
#include "apps/attune/session/record_place.h"
#include "apps/attune/story.h"
#include "apps/attune/timeline_view.h"
#include "apps/attune/verbs.h"
#include "apps/attune/winner_table.h"
#include "attune/base/process_variables.h"
#include "attune/base/unix_time.h"
#include "attune/index/model_origin.h"
#include "attune/model/candidate_model.h"
#include "attune/tuner/quarantine.h"
#include "attune/tuner/session_notes.h"
#include "attune/verify/problem_data.h"
#include "runtime/launches_at.h"

namespace attune {
namespace {

struct ExplainOptions {
  std::string problem;
  std::vector<std::string> own_problems;  // From --kernel.
  std::string device;                     // FindRecordPlace.
  std::string session;
  std::string target;  // From imported databases, instead of a device.
  std::string model;   // A file of `attune model fit`; empty: nothing is predicted.
  bool timeline = false;
  std::string trace;  // Write the timeline there, for a trace viewer.
  bool json = false;
};

// Everything that is known about one problem.
struct Evidence {
  Problem problem;
  Place place;
  std::vector<RecordedSet> sets;  // Oldest first.
  std::optional<Choice> choice;
  std::map<Candidate, Failure> quarantined;  // Left out when it is tuned again.
  Status supported;                          // Without a choice: whether tuning could make one.
  std::vector<std::string> notes;
  std::string baseline_note;
  std::string roofline_note;
  std::string throttle_note;  // That the set of the choice was decided at a clock held back.
  Served served;
  std::map<Candidate, Prediction> predicted;  // For every candidate of the sets, by --time-model.
  std::vector<Timeline> timelines;            // For the shown set.
};

// The set to show in full: the one that decided, else the newest.
const RecordedSet* ShownSet(const Evidence& evidence) {
  for (const RecordedSet& set : evidence.sets) {
    if (evidence.choice && set.set.id == evidence.choice->set_id) return &set;
  }
  return evidence.sets.empty() ? nullptr : &evidence.sets.back();
}

Result<Evidence> Gather(Application& application, const Problem& problem, const Place& place) {
  Evidence evidence;
  evidence.problem = problem;
  evidence.place = place;
  ATTUNE_ASSIGN_OR_RETURN(RecordStore * store, application.StoreToRead());
  RecordQuery query;
  query.problem = evidence.problem;
  query.backend = std::string(evidence.place.backend->name());
  ATTUNE_RETURN_IF_ERROR(store->Visit(query, [&](const RecordedSet& set) {
    evidence.sets.push_back(set);
    return Status::Ok();
  }));
  evidence.choice = SelectBest(evidence.sets, evidence.place.target, evidence.place.environment,
                               SelectionAt(evidence.place), &evidence.notes);
  ATTUNE_ASSIGN_OR_RETURN(evidence.quarantined,
                          FindQuarantined(*store, problem, evidence.place.target,
                                          evidence.place.environment, MatchPolicy::Default()));
  if (evidence.choice) {
    ATTUNE_ASSIGN_OR_RETURN(evidence.baseline_note,
                            BaselineNote(*store, evidence.place, *evidence.choice));
    const Peaks peaks = HighestPeaks(evidence.sets, evidence.place);
    Choice& choice = *evidence.choice;
    choice.roofline_fraction = RooflineFraction(choice, peaks);
    evidence.roofline_note = RooflineNote(problem, choice.roofline_fraction, peaks);
    const RecordedSet& decisive = *ShownSet(evidence);
    if (!HeldBackBy(decisive.conditions).empty()) {
      evidence.throttle_note = HeldBackNote(decisive.conditions);
    }
  } else {
    evidence.supported = CheckTunable(evidence.place, evidence.problem,
                                      DefaultCandidate(evidence.place, evidence.problem));
  }
  return evidence;
}

Status ReadTimelines(Application& application, Evidence& evidence) {
  const RecordedSet* const shown = ShownSet(evidence);
  if (shown == nullptr) return Status::Ok();
  ATTUNE_ASSIGN_OR_RETURN(RecordStore * store, application.StoreToRead());
  ATTUNE_ASSIGN_OR_RETURN(evidence.timelines, store->TimelinesOf(shown->set.id));
  return Status::Ok();
}

// Writes the last timeline of the shown set.
Status WriteTrace(Application& application, const std::string& file, const Evidence& evidence) {
  if (evidence.timelines.empty()) {
    return NotFound(
        fmt::format("Cannot write the trace {}: the database has no timeline of {}. 'attune tune' "
                    "keeps one.",
                    file, Text(evidence.problem)));
  }
  const std::string title = fmt::format("attune tune {}", Text(evidence.problem));
  return WriteResult(application, file, ChromeTrace(evidence.timelines.back(), title), "--trace");
}

void PrintTimelines(const Evidence& evidence, Output& out) {
  if (evidence.timelines.empty()) out.Print("\nThe database has no timeline of this set.\n");
  for (const Timeline& timeline : evidence.timelines) out.Print(TimelineText(timeline, out));
}

// Beside the measurements: a model's predictions for the same candidates.
Status Predict(const std::string& file, Evidence& evidence) {
  ATTUNE_ASSIGN_OR_RETURN(
      CandidateModel times,
      CandidateModel::Open(file, OriginOf(evidence.place.target, evidence.place.environment),
                           evidence.problem.op().name()));
  times.AskForLaunches(LaunchesAt(evidence.place));
  std::vector<Candidate> candidates;
  for (const RecordedSet& set : evidence.sets) {
    for (const Record& record : set.records) candidates.push_back(record.trial.candidate);
  }
  const std::vector<Prediction> predictions = times.Of(evidence.problem, candidates);
  for (size_t i = 0; i < candidates.size(); ++i) {
    evidence.predicted.emplace(candidates[i], predictions[i]);
  }
  return Status::Ok();
}

Json SetJson(const RecordedSet& recorded, bool used) {
  const MeasurementSet& set = recorded.set;
  Json json = {{"id", set.id},
               {"used", used},
               {"finished", recorded.finished},
               {"started_unix_ns", set.started_unix_ns},
               {"measured_by", set.measured_by},
               {"attune_version", set.attune_version},
               {"searcher", set.searcher},
               {"seed", set.seed},
               {"cache", Name(set.cache)},
               {"target", Text(set.target)},
               {"environment", ToJson(set.environment)},
               {"conditions", ToJson(recorded.conditions)},
               {"throttled", HeldBackBy(recorded.conditions)}};
  json["trials"] = Json::array();
  for (const Record& record : recorded.records) {
    Json& trial = json["trials"].emplace_back(ToJson(record.trial));
    const Measurement* const measured = record.trial.measurement();
    if (measured != nullptr) AddRates(set.problem, measured->median_ns, trial["measurement"]);
  }
  return json;
}

// Why there is no choice; empty if there is one.
std::string ReasonForNone(const Evidence& evidence) {
  if (evidence.choice) return "";
  return evidence.supported.ok() ? "nothing valid here was measured; 'attune tune' does it."
                                 : evidence.supported.message();
}

Json EvidenceJson(const Evidence& evidence) {
  Json json = {{"problem", Text(evidence.problem)},
               {"serving", evidence.served.json},
               {"serving_reason", evidence.served.reason},
               {"choice", evidence.choice ? ToJson(*evidence.choice) : Json(nullptr)},
               {"reason", ReasonForNone(evidence)},
               {"baseline_note", evidence.baseline_note},
               {"roofline_note", evidence.roofline_note},
               {"notes", evidence.notes},
               {"quarantined", Json::array()},
               {"sets", Json::array()}};
  for (const auto& [candidate, failure] : evidence.quarantined) {
    json["quarantined"].push_back({{"candidate", Text(candidate)}, {"failure", ToJson(failure)}});
  }
  if (!evidence.predicted.empty()) {
    json["predictions"] = Json::array();
    for (const auto& [candidate, x] : evidence.predicted) {
      json["predictions"].push_back({{"candidate", Text(candidate)},
                                     {"median_ns", x.median_ms * 1e6},
                                     {"low_ns", x.low_ms * 1e6},
                                     {"high_ns", x.high_ms * 1e6}});
    }
  }
  for (const RecordedSet& set : evidence.sets) {
    const bool used = evidence.choice && set.set.id == evidence.choice->set_id;
    json["sets"].push_back(SetJson(set, used));
  }
  return json;
}

void PrintChoice(const Evidence& evidence, Output& out) {
  out.Print(
      fmt::format("Problem  {}\n         {}\nDevice   {}: {}, {}, {} units\n",
                  Text(evidence.problem), Label(evidence.problem),
                  evidence.place.device_spec.empty() ? "not here" : evidence.place.device_spec,
                  Printable(evidence.place.target.device), evidence.place.target.arch,
                  evidence.place.target.compute_units));
  out.Print(ServesText(evidence.served));
  if (!evidence.choice) {
    out.Print(fmt::format("Choice   none: {}\n", Printable(ReasonForNone(evidence))));
    return;
  }
  const Choice& choice = *evidence.choice;
  const std::string rate = FormatRateOf(evidence.problem, choice.measurement.median_ns);
  out.Print(fmt::format(
      "Choice   {}\n         {} {}, {}{} of the roofline\n",
      Paint(out.screen(), Colour::kGreen, Text(choice.candidate)),
      FormatTime(choice.measurement.median_ns), FormatSpread(choice.measurement),
      rate.empty() ? "" : rate + ", ",
      choice.roofline_fraction > 0 ? FormatRoofline(choice.roofline_fraction) : "unknown share"));
  if (choice.provenance == Provenance::kDefault) {
    out.Print("Because  it is the default, and nothing beat it by the margin with confidence.\n");
  } else {
    out.Print(fmt::format(
        "Because  it is {} as fast as the default in the same round ({:.3f} to {:.3f} at {} "
        "confidence):\n"
        "         {}, {} over all rounds\n",
        FormatSpeedup(choice.speedup), choice.speedup_low, choice.speedup_high,
        FormatConfidence(choice.confidence), Text(choice.default_candidate),
        FormatTime(choice.default_measurement.median_ns)));
  }
  for (const std::string& note :
       {evidence.baseline_note, evidence.roofline_note, evidence.throttle_note}) {
    if (!note.empty()) out.Print("But      " + note + "\n");
  }
}

void PrintSet(const RecordedSet& recorded, Output& out) {
  const MeasurementSet& set = recorded.set;
  out.Print(fmt::format(
      "Set      {}, {} by {}, attune {}\n         searcher {}, seed {}, {} caches{}\n", set.id,
      FormatMoment(set.started_unix_ns), Printable(set.measured_by), Printable(set.attune_version),
      Printable(set.searcher), set.seed, Name(set.cache), recorded.finished ? "" : ", unfinished"));
  const auto print = [&](const char* when, const std::optional<DeviceConditions>& moment) {
    if (!moment.has_value()) return;
    out.Print(fmt::format("         {} its final: {}\n", when, FormatConditions(*moment)));
  };
  print("before", recorded.conditions.before);
  print("after", recorded.conditions.after);
}

std::string Against(const Story& story, const Story* winner) {
  if (winner == nullptr) return "";
  if (&story == winner) return "winner";
  const auto ratio = TimeAgainst(story, *winner);
  if (!ratio) return "";
  return *ratio >= 1 ? fmt::format("{:.1f}% slower", 100 * (*ratio - 1))
                     : fmt::format("{:.1f}% faster?", 100 * (1 - *ratio));
}

void PrintTimed(const Problem& problem, const std::vector<Story>& stories, const Story* winner,
                Output& out) {
  using Align = Column::Align;
  Table table({{"candidate", Align::kLeft, Column::Fit::kBelow},
               {"stage"},
               {"time", Align::kRight},
               {"interval", Align::kRight},
               {"rate", Align::kRight, Column::Fit::kLeftOut},
               {"against the winner", Align::kRight},
               {"build", Align::kRight},
               {"load", Align::kRight},
               {"error", Align::kRight}});
  for (const Story& story : stories) {
    if (story.failure || story.only_qualified()) continue;
    const Measurement& measured = story.final ? *story.final : *story.screen;
    table.AddRow(
        {Text(story.candidate) + (story.is_default ? " (default)" : ""),
         story.final ? "final" : "screen", FormatTime(measured.median_ns), FormatSpread(measured),
         FormatRateOf(problem, measured.median_ns), Against(story, winner),
         story.build_ns == 0 ? "-" : FormatTime(static_cast<double>(story.build_ns)),
         FormatTime(static_cast<double>(story.load_ns)), fmt::format("{:.2g}", story.max_error)},
        &story == winner ? Colour::kGreen : Colour::kPlain);
  }
  if (!table.empty()) out.Print("\n" + table.Render(out.screen(), out.width()));
}

std::string FailureText(const Candidate& candidate, const Failure& failure) {
  return fmt::format("  {} in {}: {}\n    {}\n", Name(failure.kind), Name(failure.phase),
                     Text(candidate), Printable(failure.message));
}

// "1.2 us (0.9 us to 1.7 us)".
std::string PredictionText(const Prediction& predicted) {
  return fmt::format("{} ({} to {})", FormatTime(predicted.median_ms * 1e6),
                     FormatTime(predicted.low_ms * 1e6), FormatTime(predicted.high_ms * 1e6));
}

void PrintPredicted(const Evidence& evidence, const std::vector<Story>& stories, Output& out) {
  using Align = Column::Align;
  Table table({{"candidate", Align::kLeft, Column::Fit::kBelow},
               {"predicted", Align::kRight},
               {"measured", Align::kRight},
               {"", Align::kLeft}});
  for (const Story& story : stories) {
    const auto found = evidence.predicted.find(story.candidate);
    if (found == evidence.predicted.end() || (!story.final && !story.screen)) continue;
    const Prediction& predicted = found->second;
    const double measured_ms = (story.final ? *story.final : *story.screen).median_ns / 1e6;
    const bool is_within = predicted.low_ms <= measured_ms && measured_ms <= predicted.high_ms;
    table.AddRow({Text(story.candidate), PredictionText(predicted), FormatTime(measured_ms * 1e6),
                  is_within ? "" : "outside"});
  }
  if (table.empty()) return;
  out.Print("\nPredicted by the model, with the range of nine of ten times:\n" +
            table.Render(out.screen(), out.width()));
}

void PrintUntimed(const std::vector<Story>& stories, Output& out) {
  std::string failed;
  std::string qualified;
  for (const Story& story : stories) {
    if (story.failure) {
      failed += FailureText(story.candidate, *story.failure);
    } else if (story.only_qualified()) {
      qualified += fmt::format("  {}\n", Text(story.candidate));
    }
  }
  if (!failed.empty()) out.Print("\nFailed:\n" + failed);
  if (!qualified.empty()) {
    out.Print(
        "\nRight, but not timed against the others (too slow at first sight, or out of "
        "time):\n" +
        qualified);
  }
}

void PrintUncapturable(const std::vector<Story>& stories, Output& out) {
  std::string text;
  for (const Story& story : stories) {
    if (story.capture_failure.empty() || story.failure) continue;
    text += fmt::format("  {}\n    {}\n", Text(story.candidate), Printable(story.capture_failure));
  }
  if (text.empty()) return;
  out.Print(
      "\nCannot be captured into a graph, so their times hold what the host needs between "
      "launches, "
      "and calls on a\nstream that is captured get others:\n" +
      text);
}

// Candidates that the set has not tried, because an earlier one did.
void PrintQuarantined(const Evidence& evidence, const std::vector<Story>& stories, Output& out) {
  std::string text;
  for (const auto& [candidate, failure] : evidence.quarantined) {
    const Story* story = FindStory(stories, candidate);
    if (story == nullptr || !story->failure) text += FailureText(candidate, failure);
  }
  if (text.empty()) return;
  out.Print(
      "\nLeft out, because an earlier run met this ('attune tune --retry-quarantined' tries them "
      "again):\n" +
      text);
}

void PrintOtherSets(const Evidence& evidence, const RecordedSet& shown, Output& out) {
  if (evidence.sets.size() == 1) return;
  out.Print("\nOther sets, whose trials --json has:\n");
  for (const RecordedSet& recorded : evidence.sets) {
    if (recorded.set.id == shown.set.id) continue;
    const auto failed =
        std::count_if(recorded.records.begin(), recorded.records.end(),
                      [](const Record& record) { return record.trial.failure() != nullptr; });
    out.Print(fmt::format("  {}, {} by {}: {} trials, {} failed{}\n", recorded.set.id,
                          FormatMoment(recorded.set.started_unix_ns),
                          Printable(recorded.set.measured_by), recorded.records.size(), failed,
                          recorded.finished ? "" : ", unfinished"));
  }
}

void PrintNotes(std::string_view title, const std::vector<std::string>& notes, Output& out) {
  if (notes.empty()) return;
  out.Print(fmt::format("\n{}:\n", title));
  for (const std::string& note : notes) out.Print("  " + Printable(note) + "\n");
}

void PrintEvidence(const Evidence& evidence, Output& out) {
  PrintChoice(evidence, out);
  if (const RecordedSet* shown = ShownSet(evidence)) {
    PrintSet(*shown, out);
    const std::vector<Story> stories = StoriesOf(*shown);
    const Story* winner =
        evidence.choice ? FindStory(stories, evidence.choice->candidate) : nullptr;
    PrintTimed(evidence.problem, stories, winner, out);
    PrintPredicted(evidence, stories, out);
    PrintUntimed(stories, out);
    PrintUncapturable(stories, out);
    PrintQuarantined(evidence, stories, out);
    PrintOtherSets(evidence, *shown, out);
  }
  std::vector<std::string> passed_over = evidence.notes;
  std::vector<std::string> notes;
  if (const auto& explanation = evidence.served.explanation) {
    for (const std::string& skipped : explanation->decision.skipped) {
      if (std::find(passed_over.begin(), passed_over.end(), skipped) == passed_over.end()) {
        passed_over.push_back(skipped);
      }
    }
    notes = explanation->notes;
  }
  PrintNotes("Passed over", passed_over, out);
  PrintNotes("Notes", notes, out);
}

Result<int> RunExplain(Application& application, const ExplainOptions& options) {
  std::vector<Problem> problems;
  std::vector<std::string> texts = options.own_problems;
  if (!options.problem.empty()) texts.push_back(options.problem);
  if (texts.empty()) {
    return InvalidArgument("Name a problem, or a kernel file with --kernel and its sizes.");
  }
  for (const std::string& text : texts) {
    ATTUNE_ASSIGN_OR_RETURN(const auto parsed, ParseProblemArgument(text));
    problems.insert(problems.end(), parsed.begin(), parsed.end());
  }
  if (!options.target.empty()) {
    ATTUNE_RETURN_IF_ERROR(miopen::CheckImportsCanTell(application, ""));
    std::vector<TaggedProblem> asked;
    for (const Problem& problem : problems) asked.push_back({problem, 1});
    return miopen::PrintImportedBest(application, {options.target, true, options.json}, asked);
  }
  ATTUNE_ASSIGN_OR_RETURN(const RecordPlace where, FindRecordPlace(application, options.device));
  std::optional<ProgramRuntime> program;
  if (where.has_device()) {
    ATTUNE_ASSIGN_OR_RETURN(
        program, ProgramRuntime::Make(where.place.device_spec, application.named_database()));
  }
  if (problems.size() > 1 && !options.trace.empty()) {
    return InvalidArgument(fmt::format(
        "--trace writes one timeline, and this names {} problems: name one.", problems.size()));
  }
  Json list = Json::array();
  for (const Problem& problem : problems) {
    ATTUNE_ASSIGN_OR_RETURN(Evidence evidence, Gather(application, problem, where.place));
    if (!options.model.empty()) ATTUNE_RETURN_IF_ERROR(Predict(options.model, evidence));
    if (const Status fits = ProblemData::CheckMemory(problem); !program.has_value()) {
      evidence.served.reason = "The device of the session is not here.";
    } else if (fits.ok()) {
      evidence.served = program->Ask(problem);
    } else {
      evidence.served.reason = fits.message();
    }
    if (options.timeline || !options.trace.empty()) {
      ATTUNE_RETURN_IF_ERROR(ReadTimelines(application, evidence));
    }
    if (!options.trace.empty()) {
      ATTUNE_RETURN_IF_ERROR(WriteTrace(application, options.trace, evidence));
    }
    if (options.json) {
      list.push_back(EvidenceJson(evidence));
      if (!options.timeline) continue;
      list.back()["timelines"] = Json::array();
      for (const Timeline& timeline : evidence.timelines) {
        list.back()["timelines"].push_back(ToJson(timeline));
      }
      continue;
    }
    if (&problem != &problems.front()) application.out().Print("\n\n");
    PrintEvidence(evidence, application.out());
    if (options.timeline) PrintTimelines(evidence, application.out());
  }
  if (options.json) application.out().Print(Dump(problems.size() == 1 ? list.front() : list));
  return kExitDone;
}

}  // namespace

void AddExplainVerb(CLI::App& program, Invocation& invocation) {
  auto options = std::make_shared<ExplainOptions>();
  CLI::App* verb = AddVerb(
      program, "explain",
      "Say what serves a problem and why: choices, every trial, what lost, what failed",
      "  attune explain 'gemm@1{m=512,n=512,k=512}'\n"
      "  attune explain 'MIOpenDriver conv -n 4 -c 64 -H 56 -W 56 -k 64 -y 3 -x 3 -p 1 -q 1 -F 1'");
  verb->add_option(
      "problem", options->problem,
      "A canonical problem text or a MIOpenDriver command line; without -F it means every "
      "direction, and --json prints an array");
  auto* device = verb->add_option("--device", options->device, "Where it would run")
                     ->default_str("ATTUNE_DEVICE, else cpu or that of the session");
  auto* target =
      verb->add_option(
              "--target", options->target,
              "A GPU that need not be here: every candidate that databases imported for it have")
          ->excludes(device)
          ->type_name("TARGET");
  verb->add_option("--time-model", options->model,
                   "Show what this model predicts beside what was measured; 'attune model fit' "
                   "makes one")
      ->excludes(target)
      ->type_name("FILE");
  verb->add_flag("--timeline", options->timeline,
                 "Show where the time of the tuning went: stages, and steps of candidates")
      ->excludes(target);
  verb->add_option("--trace", options->trace,
                   "Write that timeline for chrome://tracing or ui.perfetto.dev")
      ->excludes(target)
      ->type_name("FILE");
  AddKernelOptions(*verb, *verb, options->own_problems, options->device);
  AddSessionOption(*verb, options->session, invocation, "Records of this session alone");
  AddJsonFlag(*verb, options->json);
  verb->callback([options, &invocation] {
    // Not by the parser, to which a variable that is set for all runs would be a second --device
    // beside --target.
    if (options->device.empty()) options->device = VariableOr("ATTUNE_DEVICE", "");
    invocation.run = [options](Application& application) {
      return RunExplain(application, *options);
    };
  });
}

}  // namespace attune
