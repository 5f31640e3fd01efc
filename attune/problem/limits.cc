#include "attune/problem/limits.h"

#include <bit>

#include <fmt/format.h>

namespace attune {

Status CheckRange(std::string_view op, std::string_view field, int64_t value, int64_t low,
                  int64_t high) {
  if (value >= low && value <= high) return Status::Ok();
  return InvalidArgument(
      fmt::format("{} of the {} is {}, outside of [{}, {}].", field, op, value, low, high));
}

Status CheckAlignment(std::string_view op, int alignment_bytes, DataType widest) {
  const auto size_bytes = static_cast<int>(SizeBytes(widest));
  if (alignment_bytes >= size_bytes && alignment_bytes <= kMaxAlignmentBytes &&
      std::has_single_bit(static_cast<unsigned>(alignment_bytes))) {
    return Status::Ok();
  }
  return InvalidArgument(
      fmt::format("The alignment of the {} is {} bytes; it must be a power of two from {} (one "
                  "{} element) to {}.",
                  op, alignment_bytes, size_bytes, Name(widest), kMaxAlignmentBytes));
}

Status CheckMathMode(std::string_view op, MathMode math, DataType type) {
  if (math == MathMode::kStrict || type == DataType::kF32) return Status::Ok();
  return InvalidArgument(
      fmt::format("The {} has math mode {} with type {}; only f32 has a mode other than strict.",
                  op, Name(math), Name(type)));
}

}  // namespace attune
