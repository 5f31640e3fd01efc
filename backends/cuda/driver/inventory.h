// Every CUDA device that this process may use.
#pragma once

#include <cuda.h>

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/problem/target.h"
#include "backends/cuda/driver/driver.h"

namespace attune::cuda {

struct DeviceEntry {
  CUdevice device = 0;
  std::string spec;  // "cuda:0", in the driver's order (see CUDA_VISIBLE_DEVICES).
  Target target;
  std::string reason;      // Why it cannot be used; empty if it can.
  std::string pci_bus_id;  // "0000:1B:00.0": the same device for every process of this machine.
  size_t memory_bytes = 0;
  size_t l2_bytes = 0;
};

// Asks the driver once, at the first question. Thread-safe.
class Inventory {
 public:
  // Borrows `driver`.
  explicit Inventory(const Driver& driver) : driver_(driver) {}

  const std::vector<DeviceEntry>& Devices() const;
  // kNotFound lists the specs that exist.
  Result<const DeviceEntry*> Find(std::string_view spec) const;

 private:
  void Read() const;

  const Driver& driver_;
  mutable std::once_flag read_;
  mutable std::vector<DeviceEntry> devices_;
};

}  // namespace attune::cuda
