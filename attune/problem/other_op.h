// An operator that attune can keep, tag, export and show, but that no solver here computes yet
// (batch normalisation, pooling, ...). Its attributes are kept as text.
#pragma once

#include <map>
#include <string>

namespace attune {

struct OtherOp {
  std::string op;  // "bnorm", "pool", ...: lower-case letters, digits and '_', letter first.
  std::map<std::string, std::string> attributes;

  friend bool operator==(const OtherOp&, const OtherOp&) = default;
};

}  // namespace attune
