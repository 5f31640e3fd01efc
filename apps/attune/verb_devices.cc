// attune devices: what can run candidates here, and which libraries were found or missed.

#include <fmt/format.h>

#include "apps/attune/json_text.h"
#include "apps/attune/table.h"
#include "apps/attune/verbs.h"

namespace attune {
namespace {

Json DevicesJson(const LoadedBackends& loaded) {
  Json backends = Json::array();
  for (const auto& backend : loaded.list) {
    Json entry = {{"name", backend->name()}};
    entry["devices"] = Json::array();
    for (const DeviceReport& device : backend->Devices()) {
      entry["devices"].push_back({{"spec", device.spec},
                                  {"target", Text(device.target)},
                                  {"device", device.target.device},
                                  {"arch", device.target.arch},
                                  {"compute_units", device.target.compute_units},
                                  {"usable", device.reason.empty()},
                                  {"reason", device.reason}});
    }
    entry["libraries"] = Json::array();
    for (const LibraryReport& library : backend->Libraries()) {
      entry["libraries"].push_back({{"name", library.name},
                                    {"available", library.available},
                                    {"version", library.version},
                                    {"build_id", library.build_id},
                                    {"path", library.path},
                                    {"missing", library.missing}});
    }
    entry["environment"] = ToJson(backend->DescribeEnvironment());
    backends.push_back(std::move(entry));
  }
  Json refused = Json::array();
  for (const auto& refusal : loaded.refused) {
    refused.push_back({{"plugin", refusal.plugin}, {"reason", refusal.reason}});
  }
  return {{"backends", std::move(backends)}, {"refused_plugins", std::move(refused)}};
}

void PrintDevices(const LoadedBackends& loaded, Output& out) {
  Table table({{"device"},
               {"backend"},
               {"name", Column::Align::kLeft, true},
               {"architecture"},
               {"units", Column::Align::kRight},
               {"state", Column::Align::kLeft, true}});
  for (const auto& backend : loaded.list) {
    for (const DeviceReport& device : backend->Devices()) {
      const bool usable = device.reason.empty();
      table.AddRow({device.spec, std::string(backend->name()), Printable(device.target.device),
                    device.target.arch, fmt::format("{}", device.target.compute_units),
                    usable ? "ready" : Printable(device.reason)},
                   usable ? Colour::kPlain : Colour::kYellow);
    }
  }
  out.Print(table.Render(out.screen(), out.width()));
}

void PrintLibraries(const LoadedBackends& loaded, Output& out) {
  Table table({{"library"},
               {"backend"},
               {"version"},
               {"where it is, or what brings it", Column::Align::kLeft, true}});
  for (const auto& backend : loaded.list) {
    for (const LibraryReport& library : backend->Libraries()) {
      table.AddRow({library.name, std::string(backend->name()),
                    library.available ? library.version : "missing",
                    Printable(library.available ? library.path : library.missing)},
                   library.available ? Colour::kPlain : Colour::kYellow);
    }
  }
  if (!table.empty()) out.Print("\n" + table.Render(out.screen(), out.width()));
  for (const auto& refusal : loaded.refused) {
    out.Print(Paint(out.screen(), Colour::kYellow,
                    fmt::format("\nThe plug-in '{}' is not used: {}", refusal.plugin,
                                Printable(refusal.reason))) +
              "\n");
  }
}

}  // namespace

void AddDevicesVerb(CLI::App& program, Invocation& invocation) {
  auto json = std::make_shared<bool>(false);
  CLI::App* verb = AddVerb(program, "devices",
                           "List devices and libraries: found, or missing and which package "
                           "brings them",
                           "  attune devices\n"
                           "  attune devices --json");
  AddJsonFlag(*verb, *json);
  verb->callback([json, &invocation] {
    invocation.run = [json](Application& application) -> Result<int> {
      const LoadedBackends& loaded = application.backends();
      if (*json) {
        application.out().Print(Dump(DevicesJson(loaded)));
      } else {
        PrintDevices(loaded, application.out());
        PrintLibraries(loaded, application.out());
      }
      return kExitDone;
    };
  });
}

}  // namespace attune
