#include "apps/attune/session/job_crew.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "apps/attune/crew_summary.h"
#include "apps/attune/session/solver_survey.h"
#include "apps/attune/session/stale_queue.h"
#include "apps/attune/table.h"

namespace attune {
namespace {

// The summary in its output, or null if there is none.
Json ParseSummary(const CrewMember& member) {
  Json summary = Json::parse(member.output, nullptr, false);
  const bool is_whole = summary.is_object() && summary.contains("done") &&
                        summary.contains("failures") && summary["failures"].is_object() &&
                        summary.contains("troubles") && summary["troubles"].is_array();
  return is_whole ? summary : Json();
}

JobCrewSummary::Device& DeviceNamed(const std::string& name,
                                    std::vector<JobCrewSummary::Device>& devices) {
  for (JobCrewSummary::Device& device : devices) {
    if (device.name == name) return device;
  }
  JobCrewSummary::Device& added = devices.emplace_back();
  added.name = name;
  return added;
}

void Add(const Json& summary, JobRunSummary& all) {
  const auto number = [&summary](const char* name) { return summary.value(name, int64_t{0}); };
  all.done += number("done");
  all.failed += number("failed");
  all.given_back += number("given_back");
  all.lost += number("lost");
  all.problems_without_jobs = std::max(all.problems_without_jobs, number("problems_without_jobs"));
  for (const auto& [kind, count] : summary["failures"].items()) {
    all.failures[kind] += count.is_number_integer() ? count.get<int64_t>() : 0;
  }
  for (const Json& trouble : summary["troubles"]) {
    if (trouble.is_string()) all.troubles.push_back(trouble.get<std::string>());
  }
}

}  // namespace

JobCrewSummary SummarizeJobs(std::span<const CrewMember> members) {
  JobCrewSummary crew;
  for (const CrewMember& member : members) {
    const Json summary = ParseSummary(member);
    JobCrewSummary::Device& device = DeviceNamed(member.device, crew.devices);
    if (summary.is_null()) {
      device.trouble = WhyItSaidNothing(member);
      continue;
    }
    crew.is_in_vain = false;
    device.done += summary.value("done", int64_t{0});
    device.failed += summary.value("failed", int64_t{0});
    device.compile_threads = summary.value("compile_threads", 0);
    crew.all.compile_threads = std::max(crew.all.compile_threads, device.compile_threads);
    device.trouble = summary.value("stopped_because", "");
    Add(summary, crew.all);
  }
  return crew;
}

Json ToJson(const JobCrewSummary& summary) {
  Json json = ToJson(summary.all);
  json["devices"] = Json::array();
  for (const JobCrewSummary::Device& device : summary.devices) {
    json["devices"].push_back({{"device", device.name},
                               {"done", device.done},
                               {"failed", device.failed},
                               {"compile_threads", device.compile_threads},
                               {"trouble", device.trouble}});
  }
  return json;
}

std::string Text(const JobCrewSummary& summary, const Screen& screen, int width) {
  Table table({{"device"},
               {"done", Column::Align::kRight},
               {"failed", Column::Align::kRight},
               {"trouble", Column::Align::kLeft, Column::Fit::kCut}});
  for (const bool in_trouble : {false, true}) {
    for (const JobCrewSummary::Device& device : summary.devices) {
      if (device.trouble.empty() == in_trouble) continue;
      table.AddRow({device.name, std::to_string(device.done), std::to_string(device.failed),
                    Printable(device.trouble)},
                   in_trouble ? Colour::kYellow : Colour::kPlain);
    }
  }
  return fmt::format("{}\n{}", Text(summary.all), table.Render(screen, width));
}

std::vector<std::string> DevicesToGoOnWith(const JobCrewSummary& summary) {
  std::vector<std::string> sound;
  for (const JobCrewSummary::Device& device : summary.devices) {
    if (device.trouble.empty()) sound.push_back(device.name);
  }
  return sound.size() < summary.devices.size() ? sound : std::vector<std::string>();
}

int ExitStatusOf(const JobCrewSummary& summary) {
  const bool has_failed = summary.is_in_vain && !summary.all.was_interrupted;
  return has_failed ? kExitFailed : ExitStatusOf(summary.all);
}

Result<StaleQueue> QueueStaleForCrew(Application& application, const std::vector<JobStep>& steps) {
  const Session& session = *application.session();
  ATTUNE_ASSIGN_OR_RETURN(const SessionPlace place, FindSessionPlace(application, session));
  ATTUNE_ASSIGN_OR_RETURN(const auto problems, application.sessions()->Problems(session.id));
  ATTUNE_ASSIGN_OR_RETURN(const SolverSurvey survey,
                          SurveySolvers(application, session, place, problems));
  ATTUNE_ASSIGN_OR_RETURN(const auto jobs, application.jobs()->List(session.id, {}));
  return QueueStale(application, survey, jobs, steps.empty() ? AllJobSteps() : steps);
}

}  // namespace attune
