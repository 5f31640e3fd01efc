// How much faster attune's choice is than what cuDNN's legacy calls answer first, on an NVIDIA GPU.
//
//   cuda_conv [--set f32|tf32|f16|bf16] [--db FILE] [--device cuda:0] [--per-problem 4s]
//   [--rounds 25] [--only TEXT] [--json]
#include <cstdint>
#include <string>

#include "attune/problem/conv.h"
#include "bench/vendor_choice.h"

namespace attune {
namespace {

struct Layer {
  int64_t batch, channels, height, width, filters, filter_height, filter_width, pad, stride;
};

constexpr Layer kLayers[] = {
    {32, 3, 224, 224, 64, 7, 7, 3, 2},  {32, 64, 56, 56, 64, 1, 1, 0, 1},
    {32, 64, 56, 56, 64, 3, 3, 1, 1},   {32, 64, 56, 56, 256, 1, 1, 0, 1},
    {32, 128, 28, 28, 128, 3, 3, 1, 1}, {32, 256, 14, 14, 256, 3, 3, 1, 1},
    {32, 512, 7, 7, 512, 3, 3, 1, 1},   {32, 256, 56, 56, 128, 1, 1, 0, 2},
    {32, 96, 27, 27, 256, 5, 5, 2, 1},  {1, 256, 200, 304, 256, 3, 3, 1, 1},
    {1, 256, 50, 68, 1024, 1, 1, 0, 1}, {128, 16, 128, 128, 16, 3, 3, 1, 1},
    {7, 192, 35, 35, 64, 1, 1, 0, 1},   {32, 1, 161, 700, 32, 5, 20, 0, 2},
    {1, 64, 224, 224, 64, 3, 3, 1, 1},  {1, 512, 14, 14, 512, 3, 3, 1, 1}};

Problem ProblemOf(const Layer& layer, ConvDirection direction, DataType type, MathMode math) {
  Conv conv;
  conv.direction = direction;
  conv.batch = layer.batch;
  conv.in_channels = layer.channels;
  conv.in = {1, layer.height, layer.width};
  conv.out_channels = layer.filters;
  conv.filter = {1, layer.filter_height, layer.filter_width};
  conv.pad = {0, layer.pad, layer.pad};
  conv.stride = {1, layer.stride, layer.stride};
  conv.type = type;
  conv.math = math;
  return conv;
}

ProblemSet SetOf(std::string name, DataType type, MathMode math) {
  ProblemSet set{std::move(name), {}};
  for (const ConvDirection direction :
       {ConvDirection::kForward, ConvDirection::kBackwardData, ConvDirection::kBackwardWeights}) {
    for (const Layer& layer : kLayers) {
      set.problems.push_back(ProblemOf(layer, direction, type, math));
    }
  }
  return set;
}

}  // namespace
}  // namespace attune

int main(int argc, char** argv) {
  using namespace attune;
  return VendorBenchMain(argc, argv,
                         {"cuda_conv",
                          "cuda.cudnn-conv",
                          {SetOf("f32", DataType::kF32, MathMode::kStrict),
                           SetOf("tf32", DataType::kF32, MathMode::kTf32),
                           SetOf("f16", DataType::kF16, MathMode::kStrict),
                           SetOf("bf16", DataType::kBf16, MathMode::kStrict)}});
}
