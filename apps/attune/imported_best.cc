#include "apps/attune/imported_best.h"

#include <optional>

#include <fmt/format.h>

#include "apps/attune/duration.h"
#include "apps/attune/json_text.h"
#include "apps/attune/labels.h"
#include "apps/attune/table.h"
#include "attune/formats/miopen/batch_norm_key.h"
#include "attune/formats/miopen/conv_keys.h"
#include "attune/formats/miopen/imported_choice.h"
#include "attune/ops/batch_norm/batch_norm.h"
#include "attune/ops/conv/conv.h"

namespace attune::miopen {
namespace {

struct Answered {
  TaggedProblem tagged;
  std::optional<ImportedAnswer> answer;

  bool has_candidate() const { return answer.has_value() && !answer->ranking.empty(); }
};

// Why no database of MIOpen's can have the problem, a sentence; empty if one can.
std::string WhyNeverKnown(const Problem& problem) {
  if (const auto* const norm = problem.As<BatchNorm>(); norm != nullptr) {
    const auto key = BatchNormKeyOf(*norm);
    return key.ok() ? "" : key.error().message();
  }
  const auto* const conv = problem.As<Conv>();
  if (conv == nullptr) return "MIOpen's databases have convolutions and batch norms alone.";
  const auto key = FindKeyOf(*conv);
  return key.ok() ? "" : key.error().message();
}

std::string Place(const ImportedAnswer& answer) {
  return fmt::format("{}:{}", Printable(answer.file), answer.line);
}

Json ToJson(const Answered& answered, const std::string& target) {
  Json json = {{"problem", Text(answered.tagged.problem)},
               {"weight", answered.tagged.weight},
               {"target", target},
               {"provenance", answered.has_candidate() ? "imported" : "unknown"},
               {"candidate", nullptr},
               {"median_ns", nullptr},
               {"workspace_bytes", nullptr},
               {"file", nullptr},
               {"line", nullptr},
               {"parameters_file", nullptr},
               {"ranking", Json::array()},
               {"notes", Json::array()}};
  json["reason"] = answered.answer.has_value() ? "" : WhyNeverKnown(answered.tagged.problem);
  if (!answered.answer.has_value()) return json;
  const ImportedAnswer& answer = *answered.answer;
  json["file"] = answer.file;
  json["line"] = answer.line;
  if (!answer.parameters_file.empty()) json["parameters_file"] = answer.parameters_file;
  json["notes"] = answer.notes;
  for (const ImportedCandidate& each : answer.ranking) {
    json["ranking"].push_back({{"candidate", Text(CandidateOf(each.choice))},
                               {"solver", each.choice.solver},
                               {"params", each.choice.params},
                               {"median_ns", each.time_ns},
                               {"workspace_bytes", each.workspace_bytes}});
  }
  if (!answered.has_candidate()) return json;
  for (const char* field : {"candidate", "median_ns", "workspace_bytes"}) {
    json[field] = json["ranking"][0][field];
  }
  return json;
}

void Print(const std::vector<Answered>& list, bool all, Output& out) {
  using Align = Column::Align;
  Table table({{"problem", Align::kLeft, Column::Fit::kCut},
               {all ? "candidate" : "best candidate", Align::kLeft, Column::Fit::kBelow},
               {"time", Align::kRight},
               {"workspace", Align::kRight},
               {"from", Align::kLeft}});
  for (const Answered& answered : list) {
    const std::string label = Label(answered.tagged.problem);
    if (!answered.has_candidate()) {
      table.AddRow({label, "(none)", "", "", answered.answer ? Place(*answered.answer) : "unknown"},
                   Colour::kYellow);
      continue;
    }
    for (const ImportedCandidate& each : answered.answer->ranking) {
      table.AddRow({label, Text(CandidateOf(each.choice)), FormatTime(each.time_ns),
                    fmt::format("{}", each.workspace_bytes), Place(*answered.answer)});
      if (!all) break;
    }
  }
  out.Print(table.Render(out.screen(), out.width()));
}

}  // namespace

Status CheckImportsCanTell(const Application& application, const std::string& cache) {
  if (application.names_session()) {
    return InvalidArgument(
        "Imported databases, which --target asks, are of no session: leave --target out for what "
        "the session measured, or --session for what was imported.");
  }
  if (cache.empty()) return Status::Ok();
  return InvalidArgument(
      "Imported databases, which --target asks, do not tell of caches: leave --cache out, or "
      "--target for what was measured here.");
}

Result<int> PrintImportedBest(Application& application, const ImportedQuestion& question,
                              const std::vector<TaggedProblem>& problems) {
  ATTUNE_ASSIGN_OR_RETURN(ImportStore * imports, application.ImportsToRead());
  if (imports == nullptr) {
    return NotFound("Nothing was imported yet. 'attune miopen import FILE' does it.");
  }
  std::vector<Answered> list;
  size_t unknown = 0;
  for (const TaggedProblem& tagged : problems) {
    Answered& answered = list.emplace_back();
    answered.tagged = tagged;
    ATTUNE_ASSIGN_OR_RETURN(answered.answer, AskImports(*imports, question.target, tagged.problem));
    unknown += answered.has_candidate() ? 0 : 1;
  }
  if (question.json) {
    Json array = Json::array();
    for (const Answered& answered : list) array.push_back(ToJson(answered, question.target));
    application.out().Print(Dump(array));
  } else {
    Print(list, question.all, application.out());
    application.out().Flush();
    for (const Answered& answered : list) {
      if (!answered.answer.has_value()) {
        const std::string reason = WhyNeverKnown(answered.tagged.problem);
        if (reason.empty()) continue;
        application.err().Print(
            fmt::format("{}: {}\n", Label(answered.tagged.problem), Printable(reason)));
        continue;
      }
      for (const std::string& note : answered.answer->notes) {
        application.err().Print(
            fmt::format("{}: {}\n", Label(answered.tagged.problem), Printable(note)));
      }
    }
  }
  return unknown == 0 ? kExitDone : kExitPartly;
}

}  // namespace attune::miopen
