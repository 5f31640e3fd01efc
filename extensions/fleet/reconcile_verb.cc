// attune reconcile: makes the queue of a fleet match the database.

#include <memory>

#include <fmt/format.h>

#include "apps/attune/counted.h"
#include "apps/attune/json_text.h"
#include "apps/attune/session/lease_owner.h"
#include "extensions/fleet/fleet_queue.h"
#include "extensions/fleet/fleet_verbs.h"
#include "extensions/fleet/workers/reconcile.h"

namespace attune {
namespace {

struct ReconcileOptions {
  std::string queue;
  bool json = false;
};

std::string TextOf(const Reconciled& reconciled, bool has_server) {
  std::string text = fmt::format("{} looked at: {} given back, {} failed by dead letters",
                                 Counted(reconciled.sessions, "open session"),
                                 Counted(reconciled.given_back, "job"), reconciled.buried);
  text += has_server ? fmt::format(", {} published.\n", Counted(reconciled.published, "message"))
                     : std::string(". There is no queue but the database.\n");
  if (reconciled.unreadable > 0) {
    text += fmt::format("{} about no job that this attune can read:\n",
                        Counted(reconciled.unreadable, "dead letter"));
    for (const std::string& reason : reconciled.unreadable_reasons) {
      text += fmt::format("  {}\n", Printable(reason));
    }
  }
  return text;
}

Result<int> RunReconcile(Application& application, const ReconcileOptions& options) {
  ATTUNE_RETURN_IF_ERROR(application.ExistingStore().status());
  FleetStore& fleet = *application.fleet();
  ATTUNE_ASSIGN_OR_RETURN(const auto queue, OpenFleetQueue(options.queue, fleet));
  const bool has_server = IsQueueServer(options.queue);
  ATTUNE_ASSIGN_OR_RETURN(const int64_t now_unix_ns, application.jobs()->NowUnixNs());
  ATTUNE_ASSIGN_OR_RETURN(const Reconciled reconciled,
                          Reconcile({fleet, *application.jobs(), *queue, has_server},
                                    {LeaseOwner(), now_unix_ns, IsGone}));
  application.out().Print(options.json
                              ? Dump({{"open_sessions", reconciled.sessions},
                                      {"given_back", reconciled.given_back},
                                      {"failed", reconciled.buried},
                                      {"published", reconciled.published},
                                      {"unreadable", reconciled.unreadable},
                                      {"unreadable_reasons", reconciled.unreadable_reasons}})
                              : TextOf(reconciled, has_server));
  return kExitDone;
}

}  // namespace

void AddReconcileVerb(CLI::App& program, Invocation& invocation) {
  auto options = std::make_shared<ReconcileOptions>();
  CLI::App* verb = AddVerb(
      program, "reconcile",
      "Bring the queue of a fleet back to what the database says; every worker does so when it "
      "begins",
      "  attune reconcile --db postgresql://attune@db/attune --queue nats://queue\n\n"
      "Leases that nobody holds any more are given back, jobs of dead letters fail, and what can "
      "be "
      "leased\nand has no message is published. It may run at any time.");
  AddQueueOption(*verb, options->queue);
  AddJsonFlag(*verb, options->json);
  verb->callback([options, &invocation] {
    invocation.run = [options](Application& application) {
      return RunReconcile(application, *options);
    };
  });
}

}  // namespace attune
