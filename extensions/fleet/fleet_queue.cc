#include "extensions/fleet/fleet_queue.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "apps/attune/session/lease_owner.h"
#include "apps/attune/terminal.h"
#include "extensions/fleet/nats/nats_queue.h"
#include "extensions/fleet/workers/database_queue.h"
#include "extensions/fleet/workers/publisher.h"

namespace attune {
namespace {

constexpr std::string_view kLocal = "local:";

Status Publish(Application& application, const Session& session, const std::string& url) {
  FleetStore& fleet = *application.fleet();
  ATTUNE_ASSIGN_OR_RETURN(const auto queue, OpenFleetQueue(url, fleet));
  ATTUNE_ASSIGN_OR_RETURN(const auto sessions, fleet.OpenSessions());
  Publisher publisher(fleet, *queue, LeaseOwner());
  for (const ChannelSessions& channel : ChannelsOf(sessions)) {
    const auto& ids = channel.session_ids;
    if (std::find(ids.begin(), ids.end(), session.id) == ids.end()) continue;
    const std::vector<JobStep> steps = {channel.channel.step};
    ATTUNE_ASSIGN_OR_RETURN(const bool has_jobs, fleet.HasOpenJobs(session.id, steps));
    if (has_jobs) ATTUNE_RETURN_IF_ERROR(publisher.Refill(channel).status());
  }
  return Status::Ok();
}

}  // namespace

CLI::Option* AddQueueOption(CLI::App& verb, std::string& queue) {
  return verb
      .add_option("--queue", queue,
                  "Queue of the fleet, nats://[USER@]HOST[:PORT] or tls://...; 'local:' is the "
                  "database itself (default: $ATTUNE_QUEUE, else local:)")
      ->envname("ATTUNE_QUEUE")
      ->type_name("URL");
}

bool IsQueueServer(const std::string& queue) { return !queue.empty() && queue != kLocal; }

Result<std::unique_ptr<JobQueue>> OpenFleetQueue(const std::string& queue, FleetStore& fleet,
                                                 std::shared_ptr<OutageLog> outages) {
  if (!IsQueueServer(queue)) {
    return std::unique_ptr<JobQueue>(std::make_unique<DatabaseQueue>(fleet));
  }
  if (!queue.starts_with("nats://") && !queue.starts_with("tls://")) {
    return InvalidArgument(
        "--queue (or ATTUNE_QUEUE) takes nats://[USER@]HOST[:PORT][,...], tls://... or local:. A "
        "password belongs into a file that ATTUNE_QUEUE_PASSWORD_FILE names.");
  }
  NatsQueueOptions options;
  options.outages = std::move(outages);
  return OpenNatsQueue(queue, options);
}

void PublishNow(Application& application, const Session& session, const std::string& queue) {
  if (!IsQueueServer(queue)) return;
  const Status published = Publish(application, session, queue);
  if (published.ok()) return;
  application.err().Print(
      fmt::format("The jobs are in the database, and nothing was published for them; a worker does "
                  "so when it can. {}\n",
                  Printable(published.message())));
}

}  // namespace attune
