// An operator that attune can keep, tag, export and show, but that no solver here computes yet
// (pooling, attention, ...), and the kernels of users (own_kernel.h). Its attributes are kept as
// text.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "attune/base/status.h"

namespace attune {

class Operator;

// No operator has so many; it bounds the cost of a hostile text.
inline constexpr size_t kMaxOtherAttributes = 64;

struct OtherOp {
  std::string op;  // "bnorm", "pool", ...: lower-case letters, digits and '_', letter first.
  // At most kMaxOtherAttributes; names are such words too, values are any text.
  std::map<std::string, std::string> attributes;

  friend bool operator==(const OtherOp&, const OtherOp&) = default;
};

const Operator& OperatorOf(const OtherOp*);

// True if `word` is [a-z][a-z0-9_]*: a valid name of an operator or an attribute.
bool IsOperatorWord(std::string_view word);

}  // namespace attune
