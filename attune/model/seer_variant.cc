#include "attune/model/seer_variant.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace attune::seer {
namespace {

constexpr auto kGemm = TileKind::kGemm;
constexpr auto kWinograd = TileKind::kWinograd;

constexpr std::array<Variant, 16> kVariants = {{
    {"algo0_32x32", 0, kGemm, 32, 32, 8, 0},
    {"algo0_64x128", 0, kGemm, 64, 128, 4, 0},
    {"algo0_128x128", 0, kGemm, 128, 128, 4, 0},
    {"algo1_128x32", 1, kGemm, 128, 32, 5, 0},
    {"algo1_128x64", 1, kGemm, 128, 64, 4, 0},
    {"algo1_128x128", 1, kGemm, 128, 128, 2, 0},
    {"algo2_32x32", 2, kGemm, 32, 32, 16, 0},
    {"algo2_64x128", 2, kGemm, 64, 128, 2, 0},
    {"algo2_128x128", 2, kGemm, 128, 128, 2, 0},
    {"algo6_148", 6, kWinograd, 0, 32, 2, 3},
    {"algo6_228", 6, kWinograd, 0, 32, 2, 3},
    {"algo6_418", 6, kWinograd, 0, 32, 2, 3},
    {"algo7_128x64_3x3", 7, kWinograd, 128, 64, 4, 3},
    {"algo7_128x128_3x3", 7, kWinograd, 128, 128, 2, 3},
    {"algo7_128x64_5x5", 7, kWinograd, 128, 64, 4, 5},
    {"algo7_128x128_5x5", 7, kWinograd, 128, 128, 2, 5},
}};

double Number(int64_t x) { return static_cast<double>(x); }

// Takes doubles: products of counts can exceed 64 bits, because extents are up to 2^20 each.
double Ceil(double a, int64_t b) { return std::ceil(a / Number(b)); }

double WinogradBlocks(const Variant& variant, const Layer& x) {
  const double n = Number(x.n);
  const double half = Ceil(Number(x.w), 2);
  const double channels = Ceil(Number(x.k), variant.tile_channels);
  if (variant.name == "algo6_148") return n * Ceil(half, 4) * Ceil(half, 8) * channels;
  if (variant.name == "algo6_228") return Ceil(n, 2) * Ceil(half, 2) * Ceil(half, 8) * channels;
  return Ceil(n, 4) * half * Ceil(half, 8) * channels;
}

// 36 products for tiles of 4x4 outputs of a 3x3 filter, 169 for those of 9x9 of a 5x5 one.
double NonfusedBlocks(const Variant& variant, const Layer& x, Rules rules) {
  const int64_t tile = variant.filter == 3 ? 4 : 9;
  const double products = variant.filter == 3 ? 36 : 169;
  const int64_t width = rules == Rules::kAsPublished ? 64 : variant.tile_channels;
  const double tiles = Ceil(Number(x.p), tile);
  return Ceil(Number(x.n) * tiles * tiles, variant.tile_outputs) * Ceil(Number(x.k), width) *
         products;
}

}  // namespace

std::span<const Variant> Variants() { return kVariants; }

const Variant* FindVariant(std::string_view name) {
  for (const Variant& variant : kVariants) {
    if (variant.name == name) return &variant;
  }
  return nullptr;
}

std::vector<const Variant*> VariantsOf(int algorithm, int64_t filter) {
  std::vector<const Variant*> found;
  for (const Variant& variant : kVariants) {
    if (variant.algorithm != algorithm) continue;
    if (variant.filter == 0 || variant.filter == filter) found.push_back(&variant);
  }
  return found;
}

Layer PaddedLayer(const Variant& variant, const Layer& layer, Rules rules) {
  Layer padded = layer;
  const bool pads =
      variant.name == "algo1_128x32" || (rules == Rules::kAsPublished && variant.algorithm == 1);
  if (pads) padded.k = std::max<int64_t>(padded.k, 32);
  return padded;
}

double BlocksOf(const Variant& variant, const Layer& layer, Rules rules) {
  const Layer x = PaddedLayer(variant, layer, rules);
  if (variant.algorithm == 6) return WinogradBlocks(variant, x);
  if (variant.algorithm == 7) return NonfusedBlocks(variant, x, rules);
  return Ceil(Number(x.n) * Number(x.p) * Number(x.p), variant.tile_outputs) *
         Ceil(Number(x.k), variant.tile_channels);
}

const Variant& PrecompVariant(int64_t out_channels) {
  const int64_t k = out_channels;
  const size_t first = 3;
  if (k <= 32 || (k > 64 && k <= 96)) return kVariants[first];
  if (k <= 64 || (k > 128 && k <= 192) || (k > 256 && k <= 320)) return kVariants[first + 1];
  return kVariants[first + 2];
}

}  // namespace attune::seer
