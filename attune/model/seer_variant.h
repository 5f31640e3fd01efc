// The kernels behind cuDNN's algorithms that SEER models one by one.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "attune/model/seer_layer.h"

namespace attune::seer {

enum class TileKind { kGemm, kWinograd };

struct Variant {
  std::string_view name;  // "algo0_32x32".
  int algorithm = 0;
  TileKind kind = TileKind::kGemm;
  int64_t tile_outputs = 0;            // Positions (GEMM) that a block computes; Winograd: 0.
  int64_t tile_channels = 0;           // Output channels of a block.
  int64_t resident_per_processor = 0;  // On a Titan Xp.
  int64_t filter = 0;                  // The only filter that it serves; 0: any.
};

// All 16, in the order of algorithms; within one in the order of the labels of its variant tree.
std::span<const Variant> Variants();
// Null if none is called so.
const Variant* FindVariant(std::string_view name);
// Those of an algorithm, in order. Those of algorithm 7 are of one filter: of `filter`.
std::vector<const Variant*> VariantsOf(int algorithm, int64_t filter);

// Processors of a Titan Xp. The published program assumes its resident blocks on every device.
inline constexpr int64_t kTitanXpProcessors = 30;

// The layer as a variant computes it: 128x32 of algorithm 1 pads to 32 output channels. As
// published, prediction pads for all three variants of the algorithm.
Layer PaddedLayer(const Variant& variant, const Layer& layer, Rules rules);

// How many blocks a variant launches. As published, algo7_128x128 counts as if its tile were 64
// channels wide.
double BlocksOf(const Variant& variant, const Layer& layer, Rules rules);

// The variant of algorithm 1, which is a function of the output channels.
const Variant& PrecompVariant(int64_t out_channels);

}  // namespace attune::seer
