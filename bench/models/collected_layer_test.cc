#include "bench/models/collected_layer.h"

#include <gtest/gtest.h>

namespace attune::bench {
namespace {

CollectedLayer Layer() {
  CollectedLayer layer;
  layer.device = "NVIDIA H200";
  layer.multiprocessors = 132;
  layer.library = "cudnn 9.14.0";
  layer.problem = *ParseProblem("conv@1{dir=fwd,n=2,c=3,h=9,w=9,k=4,fh=3,fw=3}");
  layer.candidates = {
      {"cuda.cudnn-conv@1{algorithm=fft}", 0.25, 1, {{"fft \"r2c\"", 4, 128, 64, 8448, 8}}},
      {"cuda.cudnn-conv@1{algorithm=fft_tiling}", 0, 0, {}}};
  layer.heuristics["vendor_a"] = layer.candidates[0];
  return layer;
}

TEST(CollectedLayer, IsReadAsItWasWritten) {
  const std::string line = LineOf(Layer());

  const auto read = ParseCollectedLayer(line);

  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(LineOf(*read), line);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(read->candidates[0].launches, Layer().candidates[0].launches);
  EXPECT_EQ(read->heuristics.at("vendor_a").time_ms, 0.25);
}

TEST(CollectedLayer, WhatIsNoLayerIsRefused) {
  CollectedLayer negative = Layer();
  negative.candidates[0].time_ms = -1;
  const std::string line = LineOf(Layer());

  EXPECT_FALSE(ParseCollectedLayer("").ok());
  EXPECT_FALSE(ParseCollectedLayer("{}").ok());
  EXPECT_FALSE(ParseCollectedLayer(line.substr(0, line.size() / 2)).ok());
  EXPECT_FALSE(ParseCollectedLayer(LineOf(negative)).ok());
}

}  // namespace
}  // namespace attune::bench
