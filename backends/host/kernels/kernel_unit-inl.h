// The body of a unit: defines ATTUNE_KERNELS(), the table of one level, for the tiles ATTUNE_TILES.
#pragma once

#include "attune/ops/gemm/gemm.h"
#include "backends/host/kernels/elementwise-inl.h"
#include "backends/host/kernels/packed_gemm-inl.h"
#include "backends/host/kernels/skinny-inl.h"

namespace attune::host {
namespace {

#define ATTUNE_TILE_SIZE(vectors, columns) {vectors, columns},
constexpr RegisterTile kTiles[] = {ATTUNE_TILES(ATTUNE_TILE_SIZE)};

template <class T>
void PackedGemm(const PackedGemmCall<T>& call) {
#define ATTUNE_TILE_FUNCTIONS(vectors, columns) FunctionsOf<T, vectors, columns>(),
  static constexpr TileFunctions<T> kFunctions[] = {ATTUNE_TILES(ATTUNE_TILE_FUNCTIONS)};
  BlockedProduct<T>(call, kFunctions[call.tile]).Run();
}

}  // namespace

const KernelTable& ATTUNE_KERNELS() {
  static constexpr KernelTable kTable = {
      .compiled_for = ATTUNE_COMPILED_FOR,
      .compiler = __VERSION__,
      .vector_bytes = ATTUNE_VECTOR_BYTES,
      .tiles = kTiles,
      .tile_count = sizeof(kTiles) / sizeof(kTiles[0]),
      .packed_gemm_f32 = &PackedGemm<float>,
      .packed_gemm_f64 = &PackedGemm<double>,
      .skinny_f32 = &Skinny<float>,
      .skinny_f64 = &Skinny<double>,
      .epilogue_f32 = &Epilogue<float>,
      .epilogue_f64 = &Epilogue<double>,
      .add_f32 = &Add<float>,
      .add_f64 = &Add<double>,
      .fma_f32 = &MultiplyAddInRegisters<float>,
      .fma_f64 = &MultiplyAddInRegisters<double>,
      .triad = &Triad,
      .sum = &SumOf,
  };
  return kTable;
}

}  // namespace attune::host
