#include "extensions/models/samples/time_samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune::miopen {
namespace {

TEST(SamplesOf, ARecordIsAConfigurationAndDirectionsShareALayer) {
  Findings findings;
  const FindDb db = ReadFindDb(
      "64-56-56-3x3-128-56-56-32-1x1-1x1-1x1-0-NCHW-FP32-F="
      "ConvAsm3x3U:0.5,0,miopenConvolutionFwdAlgoDirect;"
      "GemmFwdRest:1.5,0,miopenConvolutionFwdAlgoGEMM\n"
      "128-56-56-3x3-64-56-56-32-1x1-1x1-1x1-0-NCHW-FP16-B="
      "GemmBwdRest:2.5,0,miopenConvolutionBwdDataAlgoGEMM\n"
      "64-56-56-3x3-128-9-9-32-1x1-1x1-1x1-0-NCHW-FP32-F="
      "GemmFwdRest:2.5,0,miopenConvolutionFwdAlgoGEMM\n",
      findings);
  ASSERT_EQ(db.records.size(), 3u);

  const FindSamples found = SamplesOf(db);

  ASSERT_EQ(found.samples.size(), 3u);
  EXPECT_EQ(found.left_out, 1u);
  EXPECT_EQ(found.samples[1].row.algorithm, "GemmFwdRest");
  EXPECT_EQ(found.samples[1].time_ms, 1.5);
  EXPECT_EQ(found.samples[1].configuration, 0u);
  EXPECT_EQ(found.samples[2].configuration, 1u);
  ASSERT_EQ(found.layers.size(), 2u);
  EXPECT_EQ(found.layers[0], found.layers[1]);
  EXPECT_NE(found.samples[0].row.values, found.samples[2].row.values);
}

}  // namespace
}  // namespace attune::miopen
