// A user's kernel behind the C interface: opened on a device, tuned, and served by size.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attune/base/status.h"
#include "attune/kernel/kernel_file.h"
#include "attune/kernel/kernel_plan.h"
#include "attune/kernel/own_kernel.h"
#include "attune/record/record_store.h"
#include "attune/solver/solver.h"
#include "attune/space/config_space.h"
#include "attune/tuner/own_kernel/config_choice.h"
#include "attune/tuner/own_kernel/own_kernel_tuning.h"
#include "attune/tuner/own_kernel/tuned_size.h"
#include "runtime/background_choice.h"
#include "runtime/places.h"

namespace attune {

struct KernelHandleOptions {
  std::string device;    // Empty: the first of the kernel's language.
  std::string database;  // Empty: ATTUNE_DB, else the usual one.
  int64_t per_size_ns = 3'000'000'000;
  uint64_t seed = 1;
  // For how long Choose waits for configs of near sizes to be checked.
  int64_t check_wait_ns = 2'000'000'000;
};

// What is best for a size, and all that a program needs to launch it.
struct KernelWinner {
  ServedConfig served;
  std::string source;
  std::string compile_options;
  kernel::KernelPlan plan;
  double time_ns = 0;  // 0 unless it was tuned for the very size.
  double default_time_ns = 0;
  bool is_pending = false;  // Near configs are still being checked.
};

// Nothing is compiled, checked or timed in this process, but in children of it, for which it has a
// thread from the first check on. Not thread-safe.
class KernelHandle {
 public:
  // Puts `file` in front of ATTUNE_KERNEL_PATH of the process, and sets how threads wait
  // (SetThreadWaitPolicyInProgram): records are made and looked up as those of the verbs are.
  // kUnsupported for a device that runs no kernels, with those that do; else errors as of
  // LoadOwnKernel and FindPlace, and of the store.
  static Result<std::unique_ptr<KernelHandle>> Open(const std::filesystem::path& file,
                                                    const KernelHandleOptions& options);

  // From now on only configs that it allows are tried and served. It is asked by the thread that
  // calls Tune or Choose. kInvalidArgument if it reads what is neither a size nor a parameter.
  Status Constrain(Constraint constraint);

  // kUnavailable if not one config could be timed; else as TuneOwnKernel. `sizes` that are left out
  // have their usual value.
  Status Tune(const kernel::OwnSizes& sizes);
  // Where the size was not tuned, the configs of the nearest ones are checked on it, in the
  // background once that takes longer than check_wait_ns: meanwhile the default serves. Valid until
  // the next call.
  Result<const KernelWinner*> Choose(const kernel::OwnSizes& sizes);

 private:
  KernelHandle(BackendList backends, Place place, kernel::KernelFile file,
               const KernelHandleOptions& options)
      : backends_(std::move(backends)),
        place_(std::move(place)),
        file_(std::move(file)),
        options_(options) {}

  kernel::OwnSizes WithUsual(const kernel::OwnSizes& sizes) const;
  // What was chosen for sizes may not be the best any more.
  void Forget();
  // The tuned sizes, in the order of TunedSizesOf; empty without a database.
  Result<std::vector<TunedSize>> ReadTuned() const;
  // The config of `winner`, and whether it is pending.
  Status Serve(const kernel::OwnSizes& sizes, const Problem& problem, KernelWinner& winner);
  // By the nearest of tuned_, once it is known; the default has no config yet.
  Result<std::optional<ServedConfig>> NearestFor(const kernel::OwnSizes& sizes,
                                                 const Problem& problem, const SolverId& solver);

  const BackendList backends_;
  const Place place_;
  kernel::KernelFile file_;
  const KernelHandleOptions options_;
  std::string database_;  // Open only in use: the program may close descriptors.
  std::vector<std::string> child_variables_;
  std::optional<std::vector<TunedSize>> tuned_;  // What the store knew when it was asked.
  std::map<kernel::OwnSizes, KernelWinner> winners_;
  KernelWinner pending_;  // The last winner that was.
  BackgroundChoice checks_;
};

}  // namespace attune
