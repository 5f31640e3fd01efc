// Which layers to measure: SEER's grids, and those of a file.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/seer/layer.h"

namespace attune::seer {

// SEER's training grid of an algorithm (N = 128, or `batches` of it), layers whose output is empty
// left out.
std::vector<Layer> TrainingGrid(int algorithm, const std::vector<int64_t>& batches = {128});

// The most layers in a grid of a file.
inline constexpr size_t kMostLayers = 1 << 20;

// Every combination of the values of a file, layers whose output is empty left out. A line has one
// of N, C, W, K, f, s and p and its values, with blanks between them; '#' begins a comment. N is
// 128, s 1 and p 0 if they have no line. kInvalidArgument with the line.
Result<std::vector<Layer>> ReadGrid(std::string_view text);

}  // namespace attune::seer
