// How far results may lie from the right ones.
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

// The tolerance of an operand whose elements belong to groups, such as channels: `run` neighbours
// are of one group, and after `groups` groups the first one comes again. Inputs of group g are of
// kind g % kKinds, so that one problem has groups that are well and badly conditioned.
struct GroupTolerance {
  static constexpr size_t kKinds = 8;

  std::array<double, kKinds> absolute{};  // By kind.
  double relative = 0;
  int64_t run = 1;
  int64_t groups = 1;

  GroupTolerance() = default;
  GroupTolerance(const Tolerance& every)  // NOLINT: one tolerance is that of each group.
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
