// Chooses the config for a size of a user's kernel: that of the same size, else of the nearest one
// that is right there, too, else the author's default (docs/design/0029-own-kernels.md).
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/kernel/own_kernel.h"
#include "attune/space/config.h"
#include "attune/tuner/own_kernel/tuned_size.h"

namespace attune {

// Nearest sizes whose configs are tried for a new size.
inline constexpr size_t kMostConfigsTried = 4;

// Why a config serves a size.
enum class ServedBy {
  kExact,    // The size itself was tuned.
  kNearest,  // A near size was tuned, and its config launches and is right here, too.
  kDefault,  // No near size has such a config: the author's default.
};
std::string_view Name(ServedBy by);  // "exact", "nearest", "default".

struct ServedConfig {
  Config config;
  ServedBy by = ServedBy::kDefault;
  kernel::OwnSizes tuned_for;            // Origin of the config; empty for the default.
  std::vector<std::string> passed_over;  // Configs of nearer sizes, and why they do not serve here.
};

// Ok, or why `config` does not serve; `by` is its source if it does.
using ConfigTrial = std::function<Status(const Config& config, ServedBy by)>;

// Tries the configs of `tuned`, nearest to `sizes` first and each once, until one serves. If none
// does, returns the default, with an empty config.
ServedConfig ChooseConfig(const std::vector<TunedSize>& tuned, const kernel::OwnSizes& sizes,
                          const ConfigTrial& serves);

}  // namespace attune
