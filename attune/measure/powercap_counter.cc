#include "attune/measure/powercap_counter.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "attune/base/file.h"
#include "attune/base/path_variable.h"
#include "attune/base/process_variables.h"

namespace attune {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxCounterBytes = 64;

struct Zone {
  fs::path folder;
  std::string name;
  int64_t range_uj = 0;
  int64_t last_uj = 0;
};

Result<std::string> FirstLine(const fs::path& path) {
  ATTUNE_ASSIGN_OR_RETURN(std::string text, ReadFileAtOnce(path, kMaxCounterBytes));
  text.resize(std::min(text.find('\n'), text.size()));
  return text;
}

Result<int64_t> ReadMicrojoules(const fs::path& path) {
  const auto text = FirstLine(path);
  if (!text.ok()) {
    return Unavailable(fmt::format(
        "The energy counter {} cannot be read: {} Linux lets only root read it; 'chmod a+r' of the "
        "file, by root, lasts until the next start.",
        path.string(), text.error().message()));
  }
  int64_t value = 0;
  const char* const end = text->data() + text->size();
  const auto [rest, error] = std::from_chars(text->data(), end, value);
  if (error == std::errc() && rest == end && value >= 0) return value;
  return Unavailable(fmt::format("The energy counter {} holds '{}', which is no number from 0.",
                                 path.string(), *text));
}

class PowercapCounter final : public EnergyCounter {
 public:
  explicit PowercapCounter(std::vector<Zone> zones) : zones_(std::move(zones)) {}

  Result<double> ReadJoules() override {
    for (Zone& zone : zones_) {
      ATTUNE_ASSIGN_OR_RETURN(const int64_t now_uj, ReadMicrojoules(zone.folder / "energy_uj"));
      const int64_t wrapped_uj = now_uj < zone.last_uj ? zone.range_uj : 0;
      // A counter that was reset, or that has a wrong range, never subtracts from the sum.
      sum_uj_ += std::max<int64_t>(now_uj + wrapped_uj - zone.last_uj, 0);
      zone.last_uj = now_uj;
    }
    return static_cast<double>(sum_uj_) * 1e-6;
  }

  std::string name() const override {
    std::string names;
    for (const Zone& zone : zones_) {
      names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", zone.folder.filename().string(),
                           zone.name);
    }
    return names;
  }

 private:
  std::vector<Zone> zones_;
  int64_t sum_uj_ = 0;
};

// Folders of packages, in order of their names.
std::vector<Zone> FindPackages(const fs::path& root) {
  std::vector<fs::path> folders;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(root, ignored)) folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());
  std::vector<Zone> packages;
  for (const fs::path& folder : folders) {
    const std::string file_name = folder.filename().string();
    if (std::count(file_name.begin(), file_name.end(), ':') != 1) continue;
    const auto name = FirstLine(folder / "name");
    if (!name.ok() || !name->starts_with("package")) continue;
    const bool is_known = std::any_of(packages.begin(), packages.end(),
                                      [&](const Zone& zone) { return zone.name == *name; });
    if (!is_known) packages.push_back({folder, *name});
  }
  return packages;
}

}  // namespace

Result<std::unique_ptr<EnergyCounter>> OpenPowercapCounter(const fs::path& root) {
  std::vector<Zone> zones = FindPackages(root);
  if (zones.empty()) {
    return Unsupported(fmt::format(
        "The processor has no energy counter here: there is no package below {} (RAPL of Intel and "
        "AMD, by the kernel's module intel_rapl_msr; virtual machines usually have none).",
        root.string()));
  }
  for (Zone& zone : zones) {
    ATTUNE_ASSIGN_OR_RETURN(zone.range_uj, ReadMicrojoules(zone.folder / "max_energy_range_uj"));
    ATTUNE_ASSIGN_OR_RETURN(zone.last_uj, ReadMicrojoules(zone.folder / "energy_uj"));
  }
  return std::unique_ptr<EnergyCounter>(std::make_unique<PowercapCounter>(std::move(zones)));
}

Result<std::unique_ptr<EnergyCounter>> OpenProcessorCounter() {
  return OpenPowercapCounter(FromStart(VariableOr(kPowercapVariable, kPowercapRoot)));
}

}  // namespace attune
