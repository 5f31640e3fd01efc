// A batch norm with a plan, on the threads of a pool.
#pragma once

#include <memory>

#include "attune/device/device.h"
#include "attune/ops/batch_norm/batch_norm.h"
#include "backends/host/batch_norm/batch_norm_kernels.h"
#include "backends/host/batch_norm/batch_norm_plan.h"
#include "backends/host/threads/thread_pool.h"

namespace attune::host::batch_norm {

struct Plan {
  BatchNorm norm;
  View view;
  Tiling tiling;
  TileKernel run = nullptr;
  FinishKernel finish = nullptr;
  int threads = 1;
  // Every thread has a part of the values of every group, and statistics are
  // merged in between. Otherwise a thread has whole groups.
  bool splits_values = false;
  bool streams = false;
  int unroll = 1;

  bool is_inference() const { return norm.pass == BatchNormPass::kInference; }
  bool is_backward() const { return norm.pass == BatchNormPass::kBackward; }
  bool has_moments() const { return !is_inference() && !(is_backward() && norm.saved); }
};

// `pool` outlives the executable.
std::unique_ptr<Executable> MakeExecutable(const Plan& plan, ThreadPool& pool);

}  // namespace attune::host::batch_norm
