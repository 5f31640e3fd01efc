// Tolerances of results.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace attune {

// |x - reference| <= absolute + relative * |reference|.
struct Tolerance {
  double absolute = 0;
  double relative = 0;

  double Of(double reference) const { return absolute + relative * std::abs(reference); }
  friend bool operator==(const Tolerance&, const Tolerance&) = default;
};

// The tolerance of an operand whose elements belong to groups, such as channels. Each group has
// `run` adjacent elements, and the first group follows the last one. Inputs of group g have kind
// g % kKinds, so one problem has well and badly conditioned groups.
struct GroupTolerance {
  static constexpr size_t kKinds = 8;

  std::array<double, kKinds> absolute{};  // By kind.
  double relative = 0;
  int64_t run = 1;
  int64_t groups = 1;

  GroupTolerance() = default;
  GroupTolerance(const Tolerance& every)  // NOLINT: implicit; all groups have this one.
      : relative(every.relative) {
    absolute.fill(every.absolute);
  }

  // The tolerance of the element at an offset.
  Tolerance At(int64_t offset) const {
    if (groups == 1) return {absolute[0], relative};
    return {absolute[static_cast<size_t>(offset / run % groups) % kKinds], relative};
  }
};

}  // namespace attune
