// Features of problems with those of their launches, where somebody knows these.
#pragma once

#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/model/feature_row.h"
#include "attune/model/launch_profile.h"
#include "attune/problem/problem.h"

namespace attune {

// ShapeFeatures() with columns for each kernel. Of a kernel what times are linear in comes first:
// 1, waves, these times the products summed into an output element and times those of a block, and
// the problem's bytes and flops. Then what trees divide by: blocks, the last wave, blocks that
// share a multiprocessor, threads, registers, shared memory. kUnsupported as ShapeFeatures().
Result<FeatureSet> LaunchFeatures(std::string_view operator_name);

// Of the two sets of `operator_name` the one called `name`; where none is, that of shapes.
Result<FeatureSet> FeaturesCalled(std::string_view name, std::string_view operator_name);

// The kernels of a row of LaunchFeatures(). REQUIRES: a valid convolution or product.
std::vector<KernelRow> KernelRowsOf(const Problem& problem, const LaunchProfile& profile);

}  // namespace attune
