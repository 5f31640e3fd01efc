// attune devices: lists devices that can run candidates here, and found or missing libraries.

#include <algorithm>

#include <fmt/format.h>

#include "apps/attune/json_text.h"
#include "apps/attune/table.h"
#include "apps/attune/verbs.h"
#include "runtime/compile_place.h"

namespace attune {
namespace {

Json LibrariesJson(const Backend& backend) {
  Json libraries = Json::array();
  for (const LibraryReport& library : backend.Libraries()) {
    libraries.push_back({{"name", library.name},
                         {"available", library.available},
                         {"version", library.version},
                         {"build_id", library.build_id},
                         {"path", library.path},
                         {"missing", library.missing},
                         {"chosen_by", library.chosen_by}});
  }
  return libraries;
}

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
                                  {"reason", device.reason},
                                  {"no_counters", device.no_counters}});
    }
    entry["libraries"] = LibrariesJson(*backend);
    entry["environment"] = ToJson(backend->DescribeEnvironment());
    backends.push_back(std::move(entry));
  }
  for (const auto& backend : CompileOnlyBackends()) {
    backends.push_back({{"name", backend->name()},
                        {"compiles_only", true},
                        {"devices", Json::array()},
                        {"libraries", LibrariesJson(*backend)},
                        {"environment", ToJson(backend->DescribeEnvironment())}});
  }
  Json refused = Json::array();
  for (const auto& refusal : loaded.refused) {
    refused.push_back(
        {{"plugin", refusal.plugin}, {"reason", refusal.reason}, {"chosen_by", refusal.chosen_by}});
  }
  return {{"backends", std::move(backends)}, {"refused_plugins", std::move(refused)}};
}

void PrintDevices(const LoadedBackends& loaded, Output& out) {
  Table table({{"device"},
               {"backend"},
               {"name", Column::Align::kLeft, Column::Fit::kCut},
               {"architecture"},
               {"units", Column::Align::kRight},
               {"state", Column::Align::kLeft, Column::Fit::kCut}});
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

void PrintMissingCounters(const LoadedBackends& loaded, Output& out) {
  for (const auto& backend : loaded.list) {
    for (const DeviceReport& device : backend->Devices()) {
      if (device.no_counters.empty()) continue;
      out.Print(fmt::format("\nNo hardware counters on {}: {}\n", device.spec,
                            Printable(device.no_counters)));
    }
  }
}

// Names the variable that made the choice, because the user must correct it there.
std::string ChosenBy(const std::string& variable) {
  return variable.empty() ? "" : fmt::format("{}: ", variable);
}

// True for usable kernel files. Damaged ones are always listed.
bool IsKernel(const LibraryReport& library) {
  return library.available && library.name.starts_with("kernel ");
}

// "28 kernels (10 opencl, 18 cuda): --kernels lists them"; empty without kernels.
std::string KernelsLine(const LoadedBackends& loaded) {
  int64_t all = 0;
  std::string each;
  const auto add = [&](const Backend& backend) {
    const auto libraries = backend.Libraries();
    const int64_t count = std::count_if(libraries.begin(), libraries.end(), IsKernel);
    if (count == 0) return;
    all += count;
    each += fmt::format("{}{} {}", each.empty() ? "" : ", ", count, backend.name());
  };
  for (const auto& backend : loaded.list) add(*backend);
  for (const auto& backend : CompileOnlyBackends()) add(*backend);
  return all == 0 ? "" : fmt::format("\n{} kernels ({}): --kernels lists them\n", all, each);
}

void PrintLibraries(const LoadedBackends& loaded, bool lists_kernels, Output& out) {
  Table table({{"library"},
               {"backend"},
               {"version"},
               {"where it is, or what brings it", Column::Align::kLeft, Column::Fit::kCut}});
  const auto add = [&](const Backend& backend) {
    for (const LibraryReport& library : backend.Libraries()) {
      if (IsKernel(library) && !lists_kernels) continue;
      table.AddRow({library.name, std::string(backend.name()),
                    library.available ? library.version : "missing",
                    ChosenBy(library.chosen_by) +
                        Printable(library.available ? library.path : library.missing)},
                   library.available ? Colour::kPlain : Colour::kYellow);
    }
  };
  for (const auto& backend : loaded.list) add(*backend);
  for (const auto& backend : CompileOnlyBackends()) add(*backend);
  if (!table.empty()) out.Print("\n" + table.Render(out.screen(), out.width()));
  if (!lists_kernels) out.Print(KernelsLine(loaded));
  for (const auto& refusal : loaded.refused) {
    const std::string who = refusal.plugin.empty() ? "No plug-in is used"
                                                   : fmt::format("The plug-in '{}' is not used",
                                                                 Printable(refusal.plugin));
    const std::string line =
        fmt::format("\n{}{}: {}", ChosenBy(refusal.chosen_by), who, Printable(refusal.reason));
    out.Print(Paint(out.screen(), Colour::kYellow, line) + "\n");
  }
}

}  // namespace

void AddDevicesVerb(CLI::App& program, Invocation& invocation) {
  auto json = std::make_shared<bool>(false);
  auto kernels = std::make_shared<bool>(false);
  CLI::App* verb = AddVerb(program, "devices",
                           "List devices and libraries: found, or missing and which package "
                           "brings them",
                           "  attune devices\n"
                           "  attune devices --kernels\n"
                           "  attune devices --json");
  verb->add_flag("--kernels", *kernels, "List kernel files, too; --json always lists them");
  AddJsonFlag(*verb, *json);
  verb->callback([json, kernels, &invocation] {
    invocation.run = [json, kernels](Application& application) -> Result<int> {
      const LoadedBackends& loaded = application.backends();
      if (*json) {
        application.out().Print(Dump(DevicesJson(loaded)));
      } else {
        PrintDevices(loaded, application.out());
        PrintLibraries(loaded, *kernels, application.out());
        PrintMissingCounters(loaded, application.out());
      }
      return kExitDone;
    };
  });
}

}  // namespace attune
