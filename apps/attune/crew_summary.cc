#include "apps/attune/crew_summary.h"

#include <signal.h>
#include <string.h>

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "apps/attune/duration.h"
#include "apps/attune/table.h"
#include "attune/tuner/tune_run.h"

namespace attune {
namespace {

using Kind = ProblemOutcome::Kind;

// The furthest first.
constexpr auto& kOutcomes = OutcomeCounts::kKinds;

size_t RankOf(const Json& problem) {
  const std::string outcome = problem.value("outcome", "");
  for (size_t i = 0; i < kOutcomes.size(); ++i) {
    if (Name(kOutcomes[i]) == outcome) return i;
  }
  return kOutcomes.size();
}

// The summary in its output, or null if there is none.
Json ParseSummary(const CrewMember& member) {
  Json summary = Json::parse(member.output, nullptr, false);
  const bool is_whole =
      summary.is_object() && summary.contains("problems") && summary["problems"].is_array();
  return is_whole ? summary : Json();
}

std::string TroubleOf(const CrewMember& member, const Json& summary) {
  if (summary.is_null()) return WhyItSaidNothing(member);
  // It stopped before the end of the list, because of its last failure.
  if (summary.value("not_reached", int64_t{0}) == 0) return "";
  std::string reason;
  for (const Json& problem : summary["problems"]) {
    if (problem.value("outcome", "") == Name(Kind::kFailed)) reason = problem.value("message", "");
  }
  return reason;
}

void Merge(const Json& from, const std::string& device, std::vector<Json>& into) {
  for (size_t i = 0; i < from.size(); ++i) {
    if (i >= into.size()) into.emplace_back(Json{{"outcome", ""}});
    if (RankOf(from[i]) >= RankOf(into[i])) continue;
    into[i] = from[i];
    into[i]["device"] = device;
  }
}

}  // namespace

std::string WhyItSaidNothing(const CrewMember& member) {
  if (!member.last_words.empty()) return member.last_words;
  const int signal_number = member.exit_status - CrewMember::kSignalled;
  if (signal_number == SIGINT) return "It was interrupted before it had begun.";
  if (signal_number > 0) {
    return fmt::format("Its process was ended by signal {} ({}) and said nothing.", signal_number,
                       ::strsignal(signal_number));
  }
  return fmt::format("Its process ended with status {} and said nothing.", member.exit_status);
}

OutcomeCounts CountOutcomes(const CrewSummary& summary) {
  OutcomeCounts counts;
  for (const Json& problem : summary.problems) {
    if (const size_t rank = RankOf(problem); rank < kOutcomes.size()) ++counts.of_kind[rank];
  }
  return counts;
}

CrewSummary Summarize(std::span<const CrewMember> members) {
  CrewSummary all;
  for (const CrewMember& member : members) {
    const Json summary = ParseSummary(member);
    CrewSummary::Device device;
    device.name = member.device;
    device.trouble = TroubleOf(member, summary);
    if (!summary.is_null()) {
      device.tuned = summary.value("tuned", int64_t{0});
      device.wall_ns = summary.value("wall_ns", int64_t{0});
      device.busy_ns = summary.value("busy_ns", int64_t{0});
      device.device_busy_ns = summary.value("device_busy_ns", int64_t{0});
      Merge(summary["problems"], member.device, all.problems);
    }
    all.wall_ns = std::max(all.wall_ns, device.wall_ns);
    all.devices.push_back(std::move(device));
  }
  return all;
}

Json ToJson(const CrewSummary& summary) {
  const OutcomeCounts counts = CountOutcomes(summary);
  Json json;
  for (const Kind kind : kOutcomes) json[std::string(Name(kind))] = counts.Of(kind);
  json["wall_ns"] = summary.wall_ns;
  json["devices"] = Json::array();
  for (const CrewSummary::Device& device : summary.devices) {
    json["devices"].push_back({{"device", device.name},
                               {"tuned", device.tuned},
                               {"wall_ns", device.wall_ns},
                               {"busy_ns", device.busy_ns},
                               {"device_busy_ns", device.device_busy_ns},
                               {"trouble", device.trouble}});
  }
  json["problems"] = summary.problems;
  return json;
}

std::string SummaryText(const CrewSummary& summary, const Screen& screen, int width) {
  std::string text = fmt::format("\n{} in {} on {} devices.\n\n", Text(CountOutcomes(summary)),
                                 FormatWait(summary.wall_ns), summary.devices.size());
  Table table({{"device"},
               {"tuned", Column::Align::kRight},
               {"time", Column::Align::kRight},
               {"busy", Column::Align::kRight},
               {"in launches", Column::Align::kRight},
               {"trouble", Column::Align::kLeft, Column::Fit::kCut}});
  for (const bool in_trouble : {false, true}) {
    for (const CrewSummary::Device& device : summary.devices) {
      if (device.trouble.empty() == in_trouble) continue;
      const auto share = [&](int64_t busy_ns) {
        return fmt::format("{:.0f}%", 100 * BusyShare(busy_ns, device.wall_ns));
      };
      table.AddRow({device.name, std::to_string(device.tuned), FormatWait(device.wall_ns),
                    share(device.busy_ns), share(device.device_busy_ns), Printable(device.trouble)},
                   in_trouble ? Colour::kYellow : Colour::kPlain);
    }
  }
  return text + table.Render(screen, width);
}

}  // namespace attune
