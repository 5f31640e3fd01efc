// Features of convolutions: pure functions of the problem and of what is known of its launches.
#pragma once

#include <string>

#include "attune/model/feature_row.h"
#include "attune/model/launch_profile.h"
#include "attune/ops/conv/conv.h"

namespace attune {

// Of the operation: extents, the compulsory bytes of its operands, those of an im2col, flops and
// their ratio. Of a kernel: 1, waves, blocks that share a multiprocessor, each of these times the
// channels and the length of the reduction q, the bytes, and the products of its tiles, one on each
// multiprocessor at a time, however large the grid is: what times are linear in. Then what trees
// divide by: the last wave, registers, shared memory, tile and flops padded to it.
FeatureSet ConvFeatures();

FeatureRow ConvRow(const Conv& conv, const std::string& algorithm, const LaunchProfile& profile);

}  // namespace attune
