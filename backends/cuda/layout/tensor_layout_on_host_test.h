// The kernels of tensor_layout.cu as host functions that emulate one thread after the other.
// Elements are integers of two bytes and sums floats, so that pairs and words move like those of
// f16, and sums of integers are exact.
#pragma once

#include <vector>

#include "backends/cuda/layout/tensor_layout.h"

namespace attune::cuda {

using HostElement = short;
using HostSum = float;
// The element that stands for a NaN sum.
inline constexpr HostElement kHostNan = -32768;
// Has the size of HostElement, for code that depends on it.
inline constexpr DataType kHostType = DataType::kF16;

inline std::vector<HostElement> Narrowed(const std::vector<double>& values) {
  std::vector<HostElement> elements;
  for (const double value : values) elements.push_back(static_cast<HostElement>(value));
  return elements;
}
inline std::vector<double> Widened(const std::vector<HostElement>& elements) {
  return {elements.begin(), elements.end()};
}

// The parts that a HostElement is split into: a multiple of 8 and the remainder.
HostElement HighOf(HostElement element);
HostElement LowOf(HostElement element);
// The parts of an f32 on a device.
float HighOfF32(float value);
float LowOfF32(float value);

// Do the work of launches of ShapeOf().
void RelayoutOnHost(const Relayout& task);
void SplitOnHost(const Split& task);
void UnfoldOnHost(const Unfold& task);
void FoldOnHost(const Fold& task);
void AddPartsOnHost(const PartialSums& task);

}  // namespace attune::cuda
