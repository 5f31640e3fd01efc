// Operands that decode or keep single elements, used like pointers to doubles.
#pragma once

#include <cstddef>
#include <cstdint>

#include "attune/base/element.h"

namespace attune {

// Decodes an element when it is read. Borrows the bytes.
class EncodedValues {
 public:
  EncodedValues() = default;
  EncodedValues(DataType type, const std::byte* bytes) : type_(type), bytes_(bytes) {}

  double operator[](int64_t i) const { return DecodeElement(type_, bytes_, i); }
  EncodedValues operator+(int64_t i) const {
    return {type_, bytes_ + i * static_cast<int64_t>(SizeBytes(type_))};
  }

 private:
  DataType type_ = DataType::kF64;
  const std::byte* bytes_ = nullptr;
};

// One element of an output.
struct ReferenceElement {
  int64_t offset = -1;
  double value = 0;
};
// An output that keeps the last element written to it.
struct OneElement {
  ReferenceElement* element = nullptr;
  double& operator[](size_t offset) const {
    element->offset = static_cast<int64_t>(offset);
    return element->value;
  }
};

}  // namespace attune
