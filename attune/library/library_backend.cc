#include "attune/library/library_backend.h"

#include <utility>

#include <fmt/format.h>

namespace attune {

LibraryBackend::LibraryBackend(std::unique_ptr<const Library> library, Environment environment)
    : library_(std::move(library)), environment_(std::move(environment)) {}

std::string LibraryBackend::SpecOf(const LibraryDevice& device) const {
  const std::string spec = fmt::format("{}:{}", name(), library_->name());
  return device.name.empty() ? spec : fmt::format("{}:{}", spec, device.name);
}

std::vector<DeviceReport> LibraryBackend::Devices() const {
  std::vector<DeviceReport> reports;
  const LibraryReport program = library_->Report();
  for (const LibraryDevice& device : library_->Devices()) {
    DeviceReport& report = reports.emplace_back();
    report.spec = SpecOf(device);
    report.target = library_->target();
    report.reason = program.available ? device.reason : program.missing;
  }
  return reports;
}

Environment LibraryBackend::DescribeEnvironment() const {
  Environment environment = environment_;
  const LibraryReport program = library_->Report();
  const std::string field = "library." + program.name;
  environment[field] = program.version;
  environment[field + ".build_id"] = program.build_id;
  return environment;
}

Result<std::unique_ptr<Device>> LibraryBackend::Open(std::string_view spec) const {
  for (const LibraryDevice& device : library_->Devices()) {
    if (SpecOf(device) != spec) continue;
    return Unsupported(fmt::format(
        "'{}' is a program that computes by itself: no buffers and no kernels of attune run there.",
        spec));
  }
  return NotFound(fmt::format("There is no device '{}'.", spec));
}

Result<Peaks> LibraryBackend::MeasurePeaks(Device&) const { return Peaks(); }

std::string LibraryBackend::DeviceOf(std::string_view spec) const {
  for (const LibraryDevice& device : library_->Devices()) {
    if (SpecOf(device) == spec) return device.name;
  }
  return "";
}

const LibraryBackend* AsLibrary(const Backend& backend) {
  return dynamic_cast<const LibraryBackend*>(&backend);
}

}  // namespace attune
