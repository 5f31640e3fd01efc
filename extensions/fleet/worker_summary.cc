#include "extensions/fleet/worker_summary.h"

#include <fmt/format.h>

#include "apps/attune/application.h"
#include "apps/attune/counted.h"
#include "apps/attune/crew_summary.h"

namespace attune {
namespace {

void Add(const Json& json, WorkerSummary& sum) {
  const auto number = [&json](const char* name) { return json.value(name, int64_t{0}); };
  sum.done += number("done");
  sum.failed += number("failed");
  sum.given_back += number("given_back");
  sum.lost += number("lost");
  sum.dropped += number("dropped");
  for (const auto& [kind, count] : json["failures"].items()) {
    sum.failures[kind] += count.is_number_integer() ? count.get<int64_t>() : 0;
  }
  for (const Json& trouble : json["troubles"]) {
    if (trouble.is_string()) sum.troubles.push_back(trouble.get<std::string>());
  }
  for (const Json& refusal : json.value("refusals", Json::array())) {
    if (refusal.is_string()) sum.refusals.push_back(refusal.get<std::string>());
  }
}

}  // namespace

Json ToJson(const WorkerSummary& summary, const Status& ended) {
  return {{"done", summary.done},
          {"failed", summary.failed},
          {"given_back", summary.given_back},
          {"lost", summary.lost},
          {"dropped", summary.dropped},
          {"failures", summary.failures},
          {"troubles", summary.troubles},
          {"refusals", summary.refusals},
          {"stopped_because", ended.ok() ? summary.stopped_because : std::string(ended.message())}};
}

std::string Text(const WorkerSummary& summary) {
  std::string text =
      fmt::format("{} done, {} failed", Counted(summary.done, "job"), summary.failed);
  if (summary.given_back > 0) text += fmt::format(", {} given back", summary.given_back);
  if (summary.lost > 0) text += fmt::format(", {} taken from here meanwhile", summary.lost);
  text += ".\n";
  for (const auto& [kind, count] : summary.failures) {
    text += fmt::format("{} failed: {}\n", count, Printable(kind));
  }
  for (const std::string& trouble : summary.troubles) {
    text += fmt::format("failed: {}\n", Printable(trouble));
  }
  for (const std::string& refusal : summary.refusals) {
    text += fmt::format("given back: {}\n", Printable(refusal));
  }
  const auto shown = static_cast<int64_t>(summary.troubles.size());
  if (summary.failed > shown) {
    text += fmt::format(
        "... and {} more: 'attune jobs list --session NAME --state failed' shows them.\n",
        summary.failed - shown);
  }
  if (!summary.stopped_because.empty()) text += Printable(summary.stopped_because) + "\n";
  return text;
}

int ExitStatusOf(const WorkerSummary& summary, const Status& ended) {
  if (!ended.ok() || !summary.stopped_because.empty()) return kExitFailed;
  return summary.failed > 0 || !summary.refusals.empty() ? kExitPartly : kExitDone;
}

WorkerSummary SummarizeWorkers(std::span<const CrewMember> members) {
  WorkerSummary sum;
  for (const CrewMember& member : members) {
    const Json json = Json::parse(member.output, nullptr, false);
    const bool is_whole = json.is_object() && json.contains("failures") &&
                          json["failures"].is_object() && json.contains("troubles") &&
                          json["troubles"].is_array();
    std::string why = is_whole ? json.value("stopped_because", "") : WhyItSaidNothing(member);
    if (is_whole) Add(json, sum);
    if (why.empty()) continue;
    if (!sum.stopped_because.empty()) sum.stopped_because += " ";
    sum.stopped_because += fmt::format("{}: {}", member.device, why);
  }
  return sum;
}

}  // namespace attune
