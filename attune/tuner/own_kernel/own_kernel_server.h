// A user's kernel at run time: selects the best known config for each size, builds and launches it.
// examples/own_kernel/serve_matmul.cc uses it.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "attune/base/status.h"
#include "attune/compile/builder.h"
#include "attune/compile/kernel_cache.h"
#include "attune/device/device.h"
#include "attune/kernel/kernel_file.h"
#include "attune/kernel/own_kernel.h"
#include "attune/solver/solver.h"
#include "attune/space/config.h"
#include "attune/tuner/own_kernel/config_choice.h"
#include "attune/tuner/own_kernel/own_kernel_tuning.h"
#include "attune/tuner/own_kernel/tuned_size.h"

namespace attune {

// Configs of near sizes are checked in worker processes. This process compiles, loads and launches
// only configs that were right in a worker process for the same size, and without one, the author's
// default, unchecked. Not thread-safe: one for each thread that launches. Borrows its arguments,
// which must outlive it.
class OwnKernelServer {
 public:
  // Sizes whose executables are kept; the least recently used one is dropped first.
  static constexpr size_t kMaxSizes = 64;

  // `place` is that of `device`, whose backend has the kernel of `file` and its reference from
  // ATTUNE_KERNEL_PATH. kNotFound if it does not.
  static Result<std::unique_ptr<OwnKernelServer>> Create(kernel::KernelFile file,
                                                         const OwnKernelPlace& place,
                                                         Device& device,
                                                         std::vector<TunedSize> tuned);

  // Returns the config for `sizes`: chosen, built, and unless it was tuned for them checked once,
  // which takes as long as compiling and the reference do, and for a hanging config
  // CheckDeadlineNs; from then on it is looked up. Without a program for worker processes no config
  // of other sizes serves. Valid until the next call. kInvalidArgument for sizes that the kernel
  // does not have.
  Result<const ServedConfig*> Select(const kernel::OwnSizes& sizes);

  // Launches the config of Select on `operands`, by name, each at a multiple of 256 bytes and as
  // large as the shape in the file. Complete after Device::Synchronize. kInvalidArgument for a
  // missing operand.
  Status Launch(const kernel::OwnSizes& sizes, const std::map<std::string, BufferView>& operands);

 private:
  struct Ready {
    ServedConfig served;
    std::vector<std::string> operand_names;  // In the order of the problem.
    std::unique_ptr<Executable> executable;
    std::unique_ptr<Buffer> workspace;
    uint64_t last_used = 0;
  };

  OwnKernelServer(kernel::KernelFile file, const OwnKernelPlace& place, Device& device,
                  std::vector<TunedSize> tuned)
      : file_(std::move(file)),
        place_(place),
        device_(device),
        tuned_(std::move(tuned)),
        builder_(cache_, {.warns = false}) {}

  Result<Ready*> ReadyFor(const kernel::OwnSizes& sizes);
  Result<Ready> Choose(const kernel::OwnSizes& sizes, const Problem& problem);
  // Prepares `config` for `problem`.
  Result<std::unique_ptr<Executable>> Load(const Problem& problem, const Config& config);

  const kernel::KernelFile file_;
  const OwnKernelPlace& place_;
  Device& device_;
  const std::vector<TunedSize> tuned_;
  std::unique_ptr<const Solver> solver_;
  MemoryKernelCache cache_;
  Builder builder_;
  std::map<kernel::OwnSizes, Ready> ready_;
  uint64_t uses_ = 0;
};

}  // namespace attune
