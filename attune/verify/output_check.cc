#include "attune/verify/output_check.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <fmt/format.h>

namespace attune {
namespace {

template <class T>
T Load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

double FromHalf(uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1f;
  const int mantissa = bits & 0x3ff;
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == 0x1f) {
    return mantissa != 0 ? std::numeric_limits<double>::quiet_NaN()
                         : sign * std::numeric_limits<double>::infinity();
  }
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(1024 + mantissa, exponent - 25);
}

using Decoder = double (*)(const std::byte*);

// Null for types that outputs of GEMMs do not have.
Decoder DecoderOf(DataType type) {
  switch (type) {
    case DataType::kF64:
      return [](const std::byte* at) { return Load<double>(at); };
    case DataType::kF32:
      return [](const std::byte* at) { return static_cast<double>(Load<float>(at)); };
    case DataType::kF16:
      return [](const std::byte* at) { return FromHalf(Load<uint16_t>(at)); };
    case DataType::kBf16:
      return [](const std::byte* at) {
        const uint32_t bits = uint32_t{Load<uint16_t>(at)} << 16;
        return static_cast<double>(std::bit_cast<float>(bits));
      };
    case DataType::kI32:
      return [](const std::byte* at) { return static_cast<double>(Load<int32_t>(at)); };
    case DataType::kI8:
      return [](const std::byte* at) { return static_cast<double>(Load<int8_t>(at)); };
    case DataType::kF8E4M3:
    case DataType::kF8E5M2:
      return nullptr;
  }
  return nullptr;
}

bool Agree(const OutputTolerance& tolerance, double expected, double actual) {
  if (std::isnan(expected) || std::isnan(actual)) return std::isnan(expected) && std::isnan(actual);
  if (std::isinf(expected) || std::isinf(actual)) return expected == actual;
  return std::abs(actual - expected) <= tolerance.atol + tolerance.rtol * std::abs(expected);
}

// Marks the positions of the span that hold elements.
std::vector<bool> ElementMap(const TensorDesc& tensor) {
  std::vector<bool> is_element(static_cast<size_t>(SpanElements(tensor)), false);
  std::vector<int64_t> index(tensor.extents.size(), 0);
  if (is_element.empty()) return is_element;
  for (;;) {
    int64_t offset = 0;
    for (size_t i = 0; i < index.size(); ++i) offset += index[i] * tensor.strides[i];
    is_element[static_cast<size_t>(offset)] = true;
    size_t axis = index.size();
    while (axis > 0 && ++index[axis - 1] == tensor.extents[axis - 1]) index[--axis] = 0;
    if (axis == 0) return is_element;
  }
}

}  // namespace

Result<OutputVerdict> CompareOutputs(const OutputTolerance& tolerance, const TensorDesc& tensor,
                                     std::span<const std::byte> expected,
                                     std::span<const std::byte> actual) {
  const Decoder decode = DecoderOf(tensor.type);
  if (decode == nullptr) {
    return Unsupported(fmt::format("Outputs of type {} cannot be compared.", Name(tensor.type)));
  }
  assert(expected.size() == SpanBytes(tensor) && actual.size() == expected.size());
  const std::vector<bool> is_element = ElementMap(tensor);
  const size_t width = SizeBytes(tensor.type);
  OutputVerdict verdict;
  for (size_t i = 0; i < is_element.size(); ++i) {
    const std::byte* const left = expected.data() + i * width;
    const std::byte* const right = actual.data() + i * width;
    const bool agrees = is_element[i] ? Agree(tolerance, decode(left), decode(right))
                                      : std::equal(left, left + width, right);
    if (agrees) continue;
    if (verdict.bad_elements++ == 0) {
      verdict.agrees = false;
      verdict.first_bad_element = static_cast<int64_t>(i);
      if (is_element[i]) {
        verdict.expected = decode(left);
        verdict.actual = decode(right);
      }
    }
  }
  return verdict;
}

}  // namespace attune
