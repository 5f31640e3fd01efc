#include "backends/fake/fake_backend.h"

#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "backends/fake/fake_device.h"
#include "backends/fake/gemm/fake_gemm.h"
#include "backends/fake/gemm/fake_reference.h"

namespace attune {
namespace {

constexpr std::string_view kSpec = "fake";
constexpr size_t kCacheBytes = size_t{3} << 20;

std::string SpecOf(int number) {
  return number == 0 ? std::string(kSpec) : fmt::format("{}:{}", kSpec, number);
}

class FakeBackend final : public Backend {
 public:
  explicit FakeBackend(const FakeScript& script)
      : script_(script),
        solvers_(MakeFakeSolvers(script)),
        reference_solver_(MakeFakeReference(script)) {}

  std::string_view name() const override { return "fake"; }
  const SolverList& solvers() const override { return solvers_; }
  std::vector<DeviceReport> Devices() const override {
    std::vector<DeviceReport> reports;
    for (int number = 0; number < script_.count(); ++number) {
      reports.push_back({.spec = SpecOf(number),
                         .target = FakeTarget(),
                         .reason = "",
                         .identity = script_.identity(),
                         .cache_bytes = kCacheBytes});
    }
    return reports;
  }
  std::vector<LibraryReport> Libraries() const override {
    return {{"fakelib", true, script_.library_version(), "fake-build", "", ""},
            {"absentlib", false, "", "", "", "It does not exist; nothing brings it."}};
  }
  Environment DescribeEnvironment() const override {
    Environment environment = {{"library.fakelib", script_.library_version()},
                               {"policy.fake_wait", "passive"}};
    if (!script_.tiled_version().empty()) {
      environment["library.tiled"] = script_.tiled_version();
    }
    return environment;
  }
  bool OpensAfterFork() const override { return true; }
  Result<std::unique_ptr<Device>> Open(std::string_view spec) const override {
    for (int number = 0; number < script_.count(); ++number) {
      if (spec != SpecOf(number)) continue;
      std::error_code ignored;
      const bool is_gone =
          !script_.gone_if().empty() && std::filesystem::exists(script_.gone_if(), ignored);
      if (number == script_.broken() || is_gone) {
        return Unavailable(fmt::format("The fake device '{}' does not answer.", spec));
      }
      return std::make_unique<FakeDevice>(script_);
    }
    return NotFound(fmt::format("There is no fake device '{}'; there is '{}'.", spec, kSpec));
  }
  bool IsCostlyToOpen() const override { return script_.costly() != 0; }
  const Solver* reference_solver() const override { return reference_solver_.get(); }
  Result<Peaks> MeasurePeaks(Device&) const override { return Peaks{100e9, 50e9, 10e9}; }

 private:
  FakeScript script_;
  SolverList solvers_;
  std::unique_ptr<const Solver> reference_solver_;
};

}  // namespace

std::unique_ptr<const Backend> MakeFakeBackend(const FakeScript& script) {
  return std::make_unique<const FakeBackend>(script);
}

}  // namespace attune
