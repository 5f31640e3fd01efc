// Convolutions of every direction, type and layout.
#include <cstdint>

#include "attune/ops/conv/conv_operator.h"
#include "attune/ops/everyday.h"

namespace attune {
namespace {

void AddConvs(const Arithmetic& arithmetic, std::vector<Problem>& problems) {
  for (const ConvDirection direction :
       {ConvDirection::kForward, ConvDirection::kBackwardData, ConvDirection::kBackwardWeights}) {
    for (const Layout layout : {Layout::kNchw, Layout::kNhwc}) {
      for (const int64_t groups : {1, 64}) {
        Conv conv;
        conv.direction = direction;
        conv.batch = 2;
        conv.in_channels = conv.out_channels = 64;
        conv.groups = groups;
        conv.in = {1, 29, 31};
        conv.filter = {1, 3, 3};
        conv.pad = {0, 1, 1};
        conv.in_layout = conv.weights_layout = conv.out_layout = layout;
        conv.type = arithmetic.type;
        conv.math = arithmetic.math;
        problems.emplace_back(conv);
        if (direction != ConvDirection::kForward) continue;
        conv.bias = true;
        problems.emplace_back(conv);
      }
    }
  }
}

}  // namespace

std::vector<Problem> EverydayConvs() {
  std::vector<Problem> problems;
  for (const Arithmetic& arithmetic : kEverydayArithmetics) AddConvs(arithmetic, problems);
  return problems;
}

}  // namespace attune
