#include "attune/kernel/capture/captured_operand.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>

#include <fmt/format.h>

#include "attune/base/element.h"
#include "attune/kernel/capture/signature.h"

namespace attune::capture {
namespace {

// Results of other types are compared as whole numbers of this size.
constexpr size_t kWordBytes = 4;

const std::byte* Bytes(const std::string& text) {
  return reinterpret_cast<const std::byte*>(text.data());
}

DataType TypeOf(const CapturedBuffer& buffer, bool& is_exact) {
  const auto element = ElementOf(buffer.type);
  const bool fits = element.has_value() && buffer.before.size() % SizeBytes(*element) == 0;
  if (fits && (!buffer.is_written || IsCheckable(*element))) return *element;
  is_exact = buffer.is_written;
  return buffer.is_written || buffer.before.size() % kWordBytes == 0 ? DataType::kI32
                                                                     : DataType::kI8;
}

// Clears non-finite elements that the launch did not write; notes the largest of the others.
Status LookAtNumbers(const CapturedBuffer& buffer, CapturedOperand& operand) {
  const size_t element_bytes = SizeBytes(operand.type);
  const auto count = static_cast<int64_t>(operand.after.size() / element_bytes);
  for (int64_t i = 0; i < count; ++i) {
    const double value = DecodeElement(operand.type, Bytes(operand.after), i);
    if (std::isfinite(value)) {
      operand.largest = std::max(operand.largest, std::abs(value));
      continue;
    }
    const size_t at = static_cast<size_t>(i) * element_bytes;
    if (std::memcmp(operand.before.data() + at, operand.after.data() + at, element_bytes) != 0) {
      return Unsupported(
          fmt::format("it wrote {} into element {} of {}, which nothing can be compared "
                      "with",
                      value, i, buffer.name));
    }
    std::memset(operand.before.data() + at, 0, element_bytes);
    std::memset(operand.after.data() + at, 0, element_bytes);
    ++operand.not_finite;
  }
  return Status::Ok();
}

}  // namespace

Result<CapturedOperand> MakeOperand(const CapturedBuffer& buffer) {
  CapturedOperand operand;
  operand.is_read_only = buffer.is_const && !buffer.is_written;
  // One that may be written is checked, so that it is as one that was.
  CapturedBuffer checked = buffer;
  checked.is_written = !operand.is_read_only;
  operand.type = TypeOf(checked, operand.is_exact);
  operand.before = buffer.before;
  if (operand.is_read_only) return operand;
  operand.after = buffer.after;
  if (operand.is_exact) {
    const size_t padded = (buffer.before.size() + kWordBytes - 1) / kWordBytes * kWordBytes;
    operand.before.resize(padded, '\0');
    operand.after.resize(padded, '\0');
  }
  if (!IsInteger(operand.type)) ATTUNE_RETURN_IF_ERROR(LookAtNumbers(buffer, operand));
  return operand;
}

}  // namespace attune::capture
