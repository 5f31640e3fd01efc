// The processor as the fallback of a device whose kernels are still being compiled.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "attune/base/status.h"
#include "attune/device/device.h"
#include "attune/dispatch/fallback.h"
#include "attune/solver/backend.h"

namespace attune {

// Computes with the first solver of the host that applies and is instant, over copies of the
// operands: what the caller has may be memory that the processor cannot see. Thread-safe.
class HostFallback final : public Fallback {
 public:
  // Borrows both. Uses Upload and Download of `device`, for which the fallback stands in. With
  // `ieee_special_values`, solvers without that trait do not serve GEMM.
  HostFallback(const Backend& host, Device& device, bool ieee_special_values = false);

  std::optional<Candidate> For(const Problem& problem) const override;
  Result<std::unique_ptr<Executable>> Load(const Problem& problem,
                                           const Candidate& candidate) override;
  std::string because() const override { return because_; }

 private:
  const Backend& host_;
  Device& device_;
  const bool ieee_special_values_;
  const Result<std::unique_ptr<Device>> processor_;
  const std::string because_;
};

}  // namespace attune
