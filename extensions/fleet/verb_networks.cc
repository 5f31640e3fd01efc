// attune networks: the origin of problems.

#include <fmt/format.h>

#include "apps/attune/json_text.h"
#include "apps/attune/table.h"
#include "attune/record/network.h"
#include "extensions/fleet/fleet_verbs.h"

namespace attune {
namespace {

Result<int> RunNetworks(Application& application, bool json) {
  ATTUNE_ASSIGN_OR_RETURN(RecordStore * store, application.StoreToRead());
  ATTUNE_ASSIGN_OR_RETURN(const auto networks, store->Networks());
  Output& out = application.out();
  if (json) {
    Json list = Json::array();
    for (const auto& [network, count] : networks) {
      list.push_back({{"model", network.model},
                      {"model_version", network.model_version},
                      {"framework", network.framework},
                      {"framework_version", network.framework_version},
                      {"problems", count}});
    }
    out.Print(Dump(list));
    return kExitDone;
  }
  if (networks.empty()) {
    out.Print(
        "There are no networks yet. 'attune import FILE --tag TAG --model NAME:VERSION' makes "
        "one.\n");
    return kExitDone;
  }
  Table table({{"model"}, {"framework"}, {"problems", Column::Align::kRight}});
  for (const auto& [network, count] : networks) {
    table.AddRow({Printable(NameAndVersion(network.model, network.model_version)),
                  Printable(NameAndVersion(network.framework, network.framework_version)),
                  fmt::format("{}", count)});
  }
  out.Print(table.Render(out.screen(), out.width()));
  return kExitDone;
}

}  // namespace

void AddNetworksVerb(CLI::App& program, Invocation& invocation) {
  auto json = std::make_shared<bool>(false);
  CLI::App* verb =
      AddVerb(program, "networks", "List the networks that problems were imported from",
              "  attune networks --json");
  AddJsonFlag(*verb, *json);
  verb->callback([json, &invocation] {
    invocation.run = [json](Application& application) { return RunNetworks(application, *json); };
  });
}

}  // namespace attune
