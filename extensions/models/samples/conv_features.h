// Features of convolutions: pure functions of the problem and of its known launches.
#pragma once

#include <string>

#include "attune/model/feature_row.h"
#include "attune/model/launch_profile.h"
#include "attune/ops/conv/conv.h"

namespace attune {

// For the operation: extents, the compulsory bytes of its operands, those of an im2col, flops and
// their ratio. For a kernel, the terms in which times are linear: 1, waves, blocks that share a
// multiprocessor, each of these times the channels and the length of the reduction q, the bytes,
// and the products of its tiles, one on each multiprocessor at a time, for any grid size. Then the
// features for the splits of trees: the last wave, registers, shared memory, tile and flops padded
// to it.
FeatureSet ConvFeatures();

FeatureRow ConvRow(const Conv& conv, const std::string& algorithm, const LaunchProfile& profile);

}  // namespace attune
