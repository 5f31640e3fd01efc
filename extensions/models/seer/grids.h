// The layers to measure: SEER's grids, those of a file, and the subsets for operators.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/model/seer_layer.h"

namespace attune::seer {

// SEER's training grid of an algorithm (N = 128, or each of `batches`), without layers with an
// empty output.
std::vector<Layer> TrainingGrid(int algorithm, const std::vector<int64_t>& batches = {128});

// `layers` adapted to an operator of OperatorNames(), each once: pooling and layouts have as many
// channels out as in, layouts no window, and conv1x1 filters of 1 alone.
std::vector<Layer> LayersOf(std::string_view operator_name, std::span<const Layer> layers);

// The default grid of an operator: the layers of algorithm 0's grid with at most 4 GiB of input and
// output together, as the published ones have.
std::vector<Layer> OperatorGrid(std::string_view operator_name);

// The maximum number of layers in a grid of a file.
inline constexpr size_t kMostLayers = 1 << 20;

// Every combination of the values of a file, without layers with an empty output. A line has one
// of N, C, W, K, f, s and p and its values, with blanks between them; '#' begins a comment. N is
// 128, s 1 and p 0 if they have no line. kInvalidArgument with the line.
Result<std::vector<Layer>> ReadGrid(std::string_view text);

}  // namespace attune::seer
