// Features of problems and, where they are known, of their launches.
#pragma once

#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/model/feature_row.h"
#include "attune/model/launch_profile.h"
#include "attune/problem/problem.h"

namespace attune {

// ShapeFeatures() with columns for each kernel. Columns in which times are linear come first: 1,
// waves, waves times the products summed into an output element, waves times those of a block, the
// problem's bytes and flops. Columns for trees follow: blocks, the last wave, blocks that share a
// multiprocessor, threads, registers, shared memory. kUnsupported as ShapeFeatures().
Result<FeatureSet> LaunchFeatures(std::string_view operator_name);

// Returns the set of `operator_name` that is called `name`; if none is, that of shapes.
Result<FeatureSet> FeaturesCalled(std::string_view name, std::string_view operator_name);

// The kernels of a row of LaunchFeatures(). REQUIRES: a valid convolution or product.
std::vector<KernelRow> KernelRowsOf(const Problem& problem, const LaunchProfile& profile);

}  // namespace attune
