// Functions of sizes and flags that model features and families are made of.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace attune {

inline double Number(int64_t x) { return static_cast<double>(x); }
inline double Switch(bool x) { return x ? 1 : 0; }

// The logarithm to base 2; 0 below 1.
inline double Log(double x) { return std::log2(std::max(x, 1.0)); }
inline double Log(int64_t x) { return Log(Number(x)); }

// The power of 2 in `x`, at most 6, which bounds the widths of loads and tiles. 0 for 0.
inline double TwosIn(int64_t x) {
  return x == 0 ? 0 : std::min(6, std::countr_zero(static_cast<uint64_t>(x)));
}

// One letter for each flag keeps families short.
inline char Flag(bool value, char letter) { return value ? letter : '-'; }

}  // namespace attune
