// Tuning results of a user's kernel as a file for a program without attune. docs/formats/wisdom.md
// has the formats.
#pragma once

#include <string>
#include <vector>

#include "attune/base/status.h"
#include "attune/kernel/kernel_file.h"
#include "attune/problem/target.h"
#include "attune/tuner/own_kernel/tuned_size.h"

namespace attune {

// Tuning results of the kernel of `file`, for one kind of device.
struct Wisdom {
  const kernel::KernelFile* file = nullptr;  // Borrowed; of the language of `device`.
  Target device;
  std::vector<TunedSize> tuned;
};

// Both fail, with the size, if a tuned config no longer has a launch geometry.
Result<std::string> WisdomJson(const Wisdom& wisdom);
// kUnsupported names a size or parameter that C cannot use as a name: a keyword or a macro.
Result<std::string> WisdomHeader(const Wisdom& wisdom);

}  // namespace attune
