// The speedup of attune's choice over the first answer of cuDNN's legacy calls, on an NVIDIA GPU.
//
//   cuda_conv [--set f32|tf32|f16|bf16|kinds] [--db FILE] [--device cuda:0] [--per-problem 4s]
//   [--cache warm|cold|rotating] [--within TIME] [--rounds 25] [--only TEXT] [--json]
#include <cstdint>
#include <string>

#include "attune/ops/conv/conv.h"
#include "attune/problem/problem.h"
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

// Kinds that the other sets lack: channels last, groups, filters of one channel, depth, dilation,
// and products with odd columns.
constexpr const char* kKinds[] = {
    "conv@1{dir=fwd,n=32,c=128,h=28,w=28,k=128,fh=3,fw=3,ph=1,pw=1,layout=nhwc,type=f16}",
    "conv@1{dir=bwd_data,n=32,c=128,h=28,w=28,k=128,fh=3,fw=3,ph=1,pw=1,layout=nhwc,type=bf16}",
    "conv@1{dir=bwd_weights,n=32,c=128,h=28,w=28,k=128,fh=3,fw=3,ph=1,pw=1,layout=nhwc,type=f16}",
    "conv@1{dir=fwd,n=32,c=96,h=56,w=56,k=96,fh=3,fw=3,ph=1,pw=1,layout=nhwc}",
    "conv@1{dir=fwd,n=32,c=256,h=28,w=28,k=256,g=32,fh=3,fw=3,ph=1,pw=1,type=f16}",
    "conv@1{dir=bwd_data,n=32,c=256,h=28,w=28,k=256,g=32,fh=3,fw=3,ph=1,pw=1}",
    "conv@1{dir=bwd_weights,n=32,c=256,h=28,w=28,k=256,g=32,fh=3,fw=3,ph=1,pw=1,type=f16}",
    "conv@1{dir=fwd,n=32,c=192,h=56,w=56,k=192,g=192,fh=3,fw=3,ph=1,pw=1,type=f16}",
    "conv@1{dir=bwd_data,n=32,c=192,h=56,w=56,k=192,g=192,fh=3,fw=3,ph=1,pw=1,type=f16}",
    "conv@1{dir=bwd_weights,n=32,c=192,h=56,w=56,k=192,g=192,fh=3,fw=3,ph=1,pw=1,type=f16}",
    "conv@1{dir=fwd,n=32,c=192,h=56,w=56,k=192,g=192,fh=3,fw=3,ph=1,pw=1}",
    "conv@1{dir=fwd,n=32,c=192,h=28,w=28,k=192,g=192,fh=5,fw=5,ph=2,pw=2,layout=nhwc,type=f16}",
    "conv@1{dir=fwd,n=8,c=32,d=16,h=56,w=56,k=64,fd=3,fh=3,fw=3,pd=1,ph=1,pw=1,type=f16}",
    "conv@1{dir=bwd_data,n=8,c=32,d=16,h=56,w=56,k=64,fd=3,fh=3,fw=3,pd=1,ph=1,pw=1,type=f16}",
    "conv@1{dir=bwd_weights,n=8,c=32,d=16,h=56,w=56,k=64,fd=3,fh=3,fw=3,pd=1,ph=1,pw=1}",
    ("conv@1{dir=fwd,n=8,c=32,d=16,h=56,w=56,k=64,fd=3,fh=3,fw=3,pd=1,ph=1,pw=1,layout=ndhwc,type="
     "bf16}"),
    "conv@1{dir=fwd,n=8,c=3,d=16,h=112,w=112,k=64,fd=3,fh=7,fw=7,pd=1,ph=3,pw=3,sh=2,sw=2}",
    "conv@1{dir=fwd,n=4,c=256,h=65,w=65,k=256,fh=3,fw=3,ph=4,pw=4,dh=4,dw=4,type=f16}",
    "conv@1{dir=fwd,n=1,c=333,h=37,w=41,k=777,fh=1,fw=1,type=bf16}",
    "conv@1{dir=bwd_weights,n=3,c=333,h=37,w=41,k=777,fh=1,fw=1,type=bf16}",
    "conv@1{dir=fwd,n=1,c=77,h=37,w=41,k=111,fh=3,fw=3,ph=1,pw=1,type=bf16}"};

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
  return VendorBenchMain(
      argc, argv,
      {"cuda_conv",
       "cuda.cudnn-conv",
       {SetOf("f32", DataType::kF32, MathMode::kStrict),
        SetOf("tf32", DataType::kF32, MathMode::kTf32),
        SetOf("f16", DataType::kF16, MathMode::kStrict),
        SetOf("bf16", DataType::kBf16, MathMode::kStrict), SetOfTexts("kinds", kKinds)}});
}
