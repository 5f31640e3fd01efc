// What tuning found out about a user's kernel as a file for a program that has no attune.
// docs/formats/wisdom.md has the formats.
#pragma once

#include <string>
#include <vector>

#include "attune/base/status.h"
#include "attune/kernel/kernel_file.h"
#include "attune/problem/target.h"
#include "attune/tuner/own_kernel/tuned_size.h"

namespace attune {

// Of the kernel of `file`, for one kind of device.
struct Wisdom {
  const kernel::KernelFile* file = nullptr;  // Borrowed; of the language of `device`.
  Target device;
  std::vector<TunedSize> tuned;
};

// Both fail where a tuned config has no launch geometry any more, with the size.
Result<std::string> WisdomJson(const Wisdom& wisdom);
// kUnsupported names what C cannot call by its name: a size or a parameter that is a keyword or a
// macro.
Result<std::string> WisdomHeader(const Wisdom& wisdom);

}  // namespace attune
