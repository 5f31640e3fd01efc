// Operands of which few elements are read or written, used like pointers to doubles.
#pragma once

#include <cstddef>
#include <cstdint>

#include "attune/numeric/element.h"

namespace attune {

// Elements that are decoded when they are read. Borrows the bytes.
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

// What stands for an output of which one element is written: which one, and what.
struct ReferenceElement {
  int64_t offset = -1;
  double value = 0;
};
struct OneElement {
  ReferenceElement* element = nullptr;
  double& operator[](size_t offset) const {
    element->offset = static_cast<int64_t>(offset);
    return element->value;
  }
};

}  // namespace attune
