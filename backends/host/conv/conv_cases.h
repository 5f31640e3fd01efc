// For tests: small convolutions that between them use every property of a problem.
#pragma once

#include <string>
#include <vector>

#include "attune/ops/conv/conv.h"

namespace attune::host {

struct ConvCase {
  std::string name;  // Letters and digits.
  Conv conv;         // Forward, f32, channels first.
};

// 2-D and 3-D, groups, depthwise, dilation, strides, pads, extents that differ and fit no block
// size.
std::vector<ConvCase> ConvCases();

// Every case in all three directions, channels first, channels last, and with layouts that differ
// between the operands; biases on some of the forward ones.
std::vector<ConvCase> ConvCasesInAllForms(DataType type);

}  // namespace attune::host
