// How far apart two sizes of a user's kernel are.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace attune {

// Euclidean distance over log2(1 + size) between two lists of the same names, so that 1000 x 1000
// is near to 1100 x 900 and far from 1000000 x 1. Infinite if the names differ.
double SizeDistance(const std::map<std::string, int64_t, std::less<>>& a,
                    const std::map<std::string, int64_t, std::less<>>& b);

}  // namespace attune
