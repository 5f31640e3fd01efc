// attune workers: the workers of a fleet.

#include <memory>

#include <fmt/format.h>

#include "extensions/fleet/fleet_state.h"
#include "extensions/fleet/fleet_verbs.h"

namespace attune {
namespace {

// Workers that ended longer ago appear with --all.
constexpr int64_t kShownForNs = int64_t{24} * 3600 * 1'000'000'000;

struct WorkersOptions {
  bool all = false;
  bool json = false;
};

Result<int> RunWorkersVerb(Application& application, const WorkersOptions& options) {
  ATTUNE_RETURN_IF_ERROR(application.StoreToRead().status());
  std::vector<WorkerState> workers;
  int64_t now = 0;  // By the clock of the heartbeats.
  if (application.fleet() != nullptr) {
    ATTUNE_ASSIGN_OR_RETURN(workers, application.fleet()->Workers());
    ATTUNE_ASSIGN_OR_RETURN(now, application.jobs()->NowUnixNs());
  }
  if (!options.all) {
    std::erase_if(workers, [&](const WorkerState& worker) {
      return now - worker.beat_unix_ns > kShownForNs;
    });
  }
  Output& out = application.out();
  if (options.json) {
    Json list = Json::array();
    for (const WorkerState& worker : workers) list.push_back(ToJson(worker, now));
    out.Print(Dump(list));
  } else if (workers.empty()) {
    out.Print("There are no workers. 'attune worker' starts one.\n");
  } else {
    out.Print(WorkerTable(workers, now).Render(out.screen(), out.width()));
  }
  return kExitDone;
}

}  // namespace

void AddWorkersVerb(CLI::App& program, Invocation& invocation) {
  auto options = std::make_shared<WorkersOptions>();
  CLI::App* verb =
      AddVerb(program, "workers",
              "List who does the jobs of the fleet, on what, since when, and what it does",
              "  attune workers --db postgresql://attune@db/attune\n\n"
              "A worker says every 5 s that it lives; one that has not for a minute is silent: "
              "killed, or without\nthe database.");
  verb->add_flag("--all", options->all, "Also those that were last seen more than a day ago");
  AddJsonFlag(*verb, options->json);
  verb->callback([options, &invocation] {
    invocation.run = [options](Application& application) {
      return RunWorkersVerb(application, *options);
    };
  });
}

}  // namespace attune
