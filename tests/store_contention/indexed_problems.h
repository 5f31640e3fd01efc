// Problems for the workers of this folder to look up.
#pragma once

#include <cstdint>

namespace attune {

// SampleProblem(0) and so on are in the index before the first worker starts.
inline constexpr int64_t kIndexedProblems = 16;

}  // namespace attune
