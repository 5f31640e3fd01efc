// Which layers to measure: SEER's grids, those of a file, and what operators take of them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/model/seer_layer.h"

namespace attune::seer {

// SEER's training grid of an algorithm (N = 128, or `batches` of it), layers whose output is empty
// left out.
std::vector<Layer> TrainingGrid(int algorithm, const std::vector<int64_t>& batches = {128});

// `layers` as those of an operator of OperatorNames(), each once: pooling and layouts have as many
// channels out as in, layouts no window, and conv1x1 filters of 1 alone.
std::vector<Layer> LayersOf(std::string_view operator_name, std::span<const Layer> layers);

// What an operator is measured on where nobody says: the layers of algorithm 0's grid of which
// input and output together have at most 4 GiB, as the published ones have.
std::vector<Layer> OperatorGrid(std::string_view operator_name);

// The most layers in a grid of a file.
inline constexpr size_t kMostLayers = 1 << 20;

// Every combination of the values of a file, layers whose output is empty left out. A line has one
// of N, C, W, K, f, s and p and its values, with blanks between them; '#' begins a comment. N is
// 128, s 1 and p 0 if they have no line. kInvalidArgument with the line.
Result<std::vector<Layer>> ReadGrid(std::string_view text);

}  // namespace attune::seer
