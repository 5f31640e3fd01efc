#include "apps/attune/session/absent_backend.h"

#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace attune {
namespace {

class AbsentSolver final : public Solver {
 public:
  explicit AbsentSolver(const SolverEntry& entry) : id_(entry.solver) {
    traits_.description = "Is not here.";
    traits_.operator_name = entry.operator_name;
    traits_.dynamic = entry.dynamic;
    traits_.compiles = entry.compiles;
  }

  const SolverId& id() const override { return id_; }
  const SolverTraits& traits() const override { return traits_; }

  Status IsApplicable(const Problem&, const Target&) const override { return Absent(); }
  Result<ConfigSpace> Space(const Problem&, const Target&) const override { return Absent(); }
  Result<BuildRecipe> Recipe(const Problem&, const Config&, const Target&) const override {
    return Absent();
  }
  Result<Artifact> Build(const BuildRecipe&) const override { return Absent(); }
  Result<std::unique_ptr<Executable>> Load(const Artifact&, const Problem&, const Config&,
                                           Device&) const override {
    return Absent();
  }

 private:
  Status Absent() const {
    return Unavailable(fmt::format("The device of {} is not here.", Text(id_)));
  }

  const SolverId id_;
  SolverTraits traits_;
};

class AbsentBackend final : public Backend {
 public:
  AbsentBackend(std::string name, std::span<const SolverEntry> solvers) : name_(std::move(name)) {
    for (const SolverEntry& entry : solvers) {
      solvers_.push_back(std::make_unique<AbsentSolver>(entry));
    }
  }

  std::string_view name() const override { return name_; }
  const SolverList& solvers() const override { return solvers_; }
  std::vector<DeviceReport> Devices() const override { return {}; }
  std::vector<LibraryReport> Libraries() const override { return {}; }
  Environment DescribeEnvironment() const override { return {}; }
  Result<std::unique_ptr<Device>> Open(std::string_view spec) const override {
    return Unavailable(fmt::format("The device '{}' is not here.", spec));
  }
  Result<Peaks> MeasurePeaks(Device&) const override {
    return Unavailable(fmt::format("No device of {} is here.", name_));
  }

 private:
  const std::string name_;
  SolverList solvers_;
};

}  // namespace

std::unique_ptr<const Backend> MakeAbsentBackend(std::string name,
                                                 std::span<const SolverEntry> solvers) {
  return std::make_unique<AbsentBackend>(std::move(name), solvers);
}

}  // namespace attune
