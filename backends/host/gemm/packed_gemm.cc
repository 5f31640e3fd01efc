// host.packed-gemm.
#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "attune/ops/gemm/gemm.h"
#include "backends/host/gemm/gemm_call_of.h"
#include "backends/host/gemm/gemm_solver.h"
#include "backends/host/gemm/gemm_solvers.h"

namespace attune::host {
namespace {

// So that a block of B, at the largest depth, fits the share of the last-level cache of one core.
constexpr int64_t kColumnBlock = 3072;
constexpr std::array<int64_t, 3> kDepthBlocks = {256, 128, 512};
constexpr std::array<int64_t, 2> kRowBlocks = {192, 768};

constexpr std::array<std::pair<Packing, const char*>, 4> kPackings = {{
    {Packing::kOnlyA, "a"},
    {Packing::kBoth, "ab"},
    {Packing::kOnlyB, "b"},
    {Packing::kNeither, "none"},
}};

Packing PackingOf(const std::string& name) {
  for (const auto& [packing, known] : kPackings) {
    if (name == known) return packing;
  }
  return Packing::kBoth;
}

// Two vectors of rows by eight columns is "v2x8": a value of a parameter cannot begin with a digit.
std::string Text(const RegisterTile& tile) {
  return fmt::format("v{}x{}", tile.vectors, tile.columns);
}

// `candidates` without those that would act like a smaller one: blocks beyond the extent.
template <size_t kCount>
Parameter BlockParameter(std::string name, const std::array<int64_t, kCount>& candidates,
                         int64_t extent) {
  std::array<int64_t, kCount> sorted = candidates;
  std::sort(sorted.begin(), sorted.end());
  const auto covers = std::lower_bound(sorted.begin(), sorted.end(), extent);
  const int64_t largest = covers == sorted.end() ? sorted.back() : *covers;
  Parameter parameter{std::move(name), {}};
  for (const int64_t value : candidates) {
    if (value <= largest) parameter.values.emplace_back(value);
  }
  return parameter;
}

// The default by size. Each rule is where its two sides took the same time on Zen 4, in f32 and in
// powers of two; the default then is within a fifth of the best config of its space.
// Multiplications below which handing a part to another thread takes longer than computing it.
constexpr int64_t kOneThreadProduct = 32 * 32 * 32;
// Copying A pays off only if it is read often or does not stay in the second-level cache anyway.
constexpr int64_t kFewColumns = 32;
constexpr int64_t kSmallMatrixBytes = 256 << 10;
// A sum this long is taken at once: a second pass over C costs more than a larger block.
constexpr int64_t kLongestWholeDepth = 512;

bool IsForOneThread(const Gemm& gemm) {
  return static_cast<double>(gemm.m) * static_cast<double>(gemm.n) * static_cast<double>(gemm.k) *
             static_cast<double>(gemm.batch_count) <=
         kOneThreadProduct;
}

bool LeavesAInPlace(const Gemm& gemm) {
  const double bytes = static_cast<double>(gemm.m) * static_cast<double>(gemm.k) *
                       static_cast<double>(SizeBytes(gemm.type));
  return gemm.trans_a == Transpose::kNo && (gemm.n <= kFewColumns || bytes <= kSmallMatrixBytes);
}

// Makes `value` the first, which is the default; nothing if the parameter has no such value.
void Prefer(Parameter& parameter, const ParameterValue& value) {
  const auto found = std::find(parameter.values.begin(), parameter.values.end(), value);
  if (found != parameter.values.end()) std::rotate(parameter.values.begin(), found, found + 1);
}

struct PackedConfig {
  int tile;
  int64_t depth_block;
  int64_t row_block;
  Packing packing;
};

class PackedKernel final : public ProductKernel {
 public:
  PackedKernel(const KernelTable& kernels, const Gemm& gemm, PackedConfig config)
      : kernels_(kernels), config_(config), type_(gemm.type) {
    const int64_t lanes = kernels.vector_bytes / static_cast<int64_t>(SizeBytes(type_));
    tile_rows_ = kernels.tiles[config.tile].vectors * lanes;
    tile_columns_ = kernels.tiles[config.tile].columns;
    // A whole number of tiles, so that only the last block of rows has a border.
    row_block_ = (config.row_block + tile_rows_ - 1) / tile_rows_ * tile_rows_;
    column_block_ = kColumnBlock / tile_columns_ * tile_columns_;
    const int64_t depth = std::min(config.depth_block, gemm.k);
    const int64_t rows = std::min(row_block_, gemm.m) + tile_rows_;
    const int64_t columns = std::min(column_block_, gemm.n) + tile_columns_;
    // Room for both to be aligned to 64 bytes.
    constexpr int64_t kSlack = 32;
    scratch_elements_ = depth * (rows + columns) + kSlack;
  }

  size_t scratch_bytes() const override {
    return static_cast<size_t>(scratch_elements_) * SizeBytes(type_);
  }
  int64_t row_granule() const override { return tile_rows_; }
  int64_t column_granule() const override { return tile_columns_; }
  bool Multiply(const MatrixProduct& product, std::byte* scratch) const override {
    if (type_ == DataType::kF32) {
      kernels_.packed_gemm_f32(CallOf<float>(product, scratch));
    } else {
      kernels_.packed_gemm_f64(CallOf<double>(product, scratch));
    }
    return true;
  }

 private:
  template <class T>
  PackedGemmCall<T> CallOf(const MatrixProduct& p, std::byte* scratch) const {
    return {GemmCallOf<T>(p), config_.tile,    config_.depth_block,          row_block_,
            column_block_,    config_.packing, reinterpret_cast<T*>(scratch)};
  }

  const KernelTable& kernels_;
  const PackedConfig config_;
  const DataType type_;
  int64_t tile_rows_, tile_columns_;
  int64_t row_block_, column_block_;
  int64_t scratch_elements_;
};

class PackedGemm final : public GemmSolver {
 public:
  explicit PackedGemm(HostResources resources)
      : GemmSolver("host.packed-gemm",
                   {.description = "Our own blocked product with a choice of register tiles",
                    .operator_name = "gemm",
                    .instant = true,
                    .ieee_special_values = true},
                   resources) {}

 private:
  Status Accepts(const Gemm&) const override { return Status::Ok(); }

  SpaceDescription Describe(const Gemm& gemm, const Target& target) const override {
    SpaceDescription space = DescribeDivision(target, UsefulSplits(gemm));
    if (IsForOneThread(gemm)) {
      for (Parameter& parameter : space.parameters) {
        Prefer(parameter, int64_t{1});
        Prefer(parameter, std::string(Name(WorkSplit::kNone)));
      }
    }
    space.parameters.push_back(TileParameter(gemm));
    space.parameters.push_back(PackingParameter(gemm));
    Parameter depth = BlockParameter("depth_block", kDepthBlocks, gemm.k);
    if (gemm.k <= kLongestWholeDepth) Prefer(depth, LargestOf(depth));
    space.parameters.push_back(std::move(depth));
    space.parameters.push_back(BlockParameter("row_block", kRowBlocks, gemm.m));
    return space;
  }

  static ParameterValue LargestOf(const Parameter& parameter) {
    return *std::max_element(parameter.values.begin(), parameter.values.end());
  }

  // Where a column of C is no longer than a vector, a tile of one vector as wide as the first tile.
  Parameter TileParameter(const Gemm& gemm) const {
    const KernelTable& kernels = *resources().kernels;
    const std::vector<RegisterTile> tiles(kernels.tiles, kernels.tiles + kernels.tile_count);
    Parameter parameter{"tile", {}};
    for (const RegisterTile& tile : tiles) parameter.values.emplace_back(Text(tile));
    if (gemm.m * static_cast<int64_t>(SizeBytes(gemm.type)) > kernels.vector_bytes) {
      return parameter;
    }
    const auto narrow = std::find_if(tiles.begin(), tiles.end(), [&](const RegisterTile& tile) {
      return tile.vectors == 1 && tile.columns >= tiles.front().columns;
    });
    if (narrow != tiles.end()) Prefer(parameter, Text(*narrow));
    return parameter;
  }

  // A transposed A is always packed: its columns are not adjacent.
  static Parameter PackingParameter(const Gemm& gemm) {
    const bool must_pack_a = gemm.trans_a == Transpose::kYes;
    Parameter packing{"pack", {}};
    for (const auto& [value, name] : kPackings) {
      const bool packs_a = value == Packing::kOnlyA || value == Packing::kBoth;
      if (packs_a || !must_pack_a) packing.values.emplace_back(std::string(name));
    }
    if (LeavesAInPlace(gemm)) Prefer(packing, std::string("none"));
    return packing;
  }

  Result<std::unique_ptr<const ProductKernel>> MakeKernel(const Gemm& gemm,
                                                          const Config& config) const override {
    const KernelTable& kernels = *resources().kernels;
    for (int i = 0; i < kernels.tile_count; ++i) {
      if (Text(kernels.tiles[i]) != StringAt(config, "tile")) continue;
      const PackedConfig packed{i, IntegerAt(config, "depth_block"), IntegerAt(config, "row_block"),
                                PackingOf(StringAt(config, "pack"))};
      return std::unique_ptr<const ProductKernel>(
          std::make_unique<PackedKernel>(kernels, gemm, packed));
    }
    return Unsupported(fmt::format("{} has no register tile '{}' on a processor of level {}.",
                                   Subject(), StringAt(config, "tile"), kernels.compiled_for));
  }
};

}  // namespace

std::unique_ptr<const Solver> MakePackedGemm(HostResources resources) {
  return std::make_unique<PackedGemm>(resources);
}

}  // namespace attune::host
