// A library as a backend, so that sessions, jobs and tuning know it as they know every other.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "attune/library/library.h"
#include "attune/solver/backend.h"

namespace attune {

// Its devices are BACKEND:NAME on the processors, and BACKEND:NAME:DEVICE. They cannot be opened:
// only the library's evaluator (library_evaluator.h) runs candidates.
class LibraryBackend final : public Backend {
 public:
  // `library` is not null. `environment`: variables that programs inherit from this process and
  // that every measurement depends on ("policy.*").
  explicit LibraryBackend(std::unique_ptr<const Library> library, Environment environment = {});

  std::string_view name() const override { return library_->backend_name(); }
  const SolverList& solvers() const override { return library_->solvers(); }
  std::vector<DeviceReport> Devices() const override;
  std::vector<LibraryReport> Libraries() const override { return {library_->Report()}; }
  Environment DescribeEnvironment() const override;
  Result<std::unique_ptr<Device>> Open(std::string_view spec) const override;
  Result<Peaks> MeasurePeaks(Device& device) const override;

  const Library& library() const { return *library_; }
  // The device of the library behind `spec`; "" for the processors.
  std::string DeviceOf(std::string_view spec) const;

 private:
  std::string SpecOf(const LibraryDevice& device) const;

  const std::unique_ptr<const Library> library_;
  const Environment environment_;
};

// `backend` as one, or null.
const LibraryBackend* AsLibrary(const Backend& backend);

}  // namespace attune
