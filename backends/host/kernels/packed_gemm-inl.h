// The blocked product after Goto and van de Geijn, "Anatomy of High-Performance Matrix
// Multiplication" (2008): three loops over cache blocks around a tile of C that is kept in
// registers.
#pragma once

#include "backends/host/kernels/kernel_table.h"
#include "backends/host/kernels/vector-inl.h"

namespace attune::host {
namespace {

// Where the innermost loop reads one operand from.
template <class T>
struct Panel {
  const T* first;
  int64_t depth_step;  // Elements from one index of the reduction to the next.
  int64_t
      column_step;  // Elements from one column of B to the next; unused for A and for unit steps.
};

template <class T>
struct TileOutput {
  T* c;
  int64_t ldc;
  int64_t rows, columns;  // Existing part of the tile; smaller at the borders of C.
  T alpha, beta;
};

template <class T, int kVectors, int kColumns>
struct Tile {
  using S = Simd<T>;
  using Vector = typename S::Vector;
  static constexpr int kRows = kVectors * S::kLanes;

  // kUnitStep: the kColumns elements of B that meet one column of A are adjacent.
  template <bool kUnitStep>
  static void Multiply(int64_t depth, Panel<T> a, Panel<T> b, const TileOutput<T>& out) {
    Vector sums[kColumns][kVectors] = {};
    const T* a_now = a.first;
    const T* b_now = b.first;
    for (int64_t p = 0; p < depth; ++p) {
      Vector column[kVectors];
      ATTUNE_UNROLL
      for (int v = 0; v < kVectors; ++v) column[v] = S::Load(a_now + v * S::kLanes);
      ATTUNE_UNROLL
      for (int j = 0; j < kColumns; ++j) {
        const T factor = kUnitStep ? b_now[j] : b_now[j * b.column_step];
        ATTUNE_UNROLL
        for (int v = 0; v < kVectors; ++v) sums[j][v] += column[v] * factor;
      }
      a_now += a.depth_step;
      b_now += b.depth_step;
    }
    if (out.rows == kRows && out.columns == kColumns) {
      WriteFull(sums, out);
    } else {
      WritePart(sums, out);
    }
  }

  static ATTUNE_INLINE void WriteFull(const Vector (&sums)[kColumns][kVectors],
                                      const TileOutput<T>& out) {
    ATTUNE_UNROLL
    for (int j = 0; j < kColumns; ++j) {
      ATTUNE_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        T* to = out.c + j * out.ldc + v * S::kLanes;
        const Vector scaled = sums[j][v] * out.alpha;
        S::Store(to, out.beta == 0 ? scaled : scaled + out.beta * S::Load(to));
      }
    }
  }

  static ATTUNE_INLINE void WritePart(const Vector (&sums)[kColumns][kVectors],
                                      const TileOutput<T>& out) {
    T whole[kColumns * kRows];
    ATTUNE_UNROLL
    for (int j = 0; j < kColumns; ++j) {
      ATTUNE_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        S::Store(whole + j * kRows + v * S::kLanes, sums[j][v] * out.alpha);
      }
    }
    for (int64_t j = 0; j < out.columns; ++j) {
      T* to = out.c + j * out.ldc;
      const T* from = whole + j * kRows;
      if (out.beta == 0) {
        for (int64_t i = 0; i < out.rows; ++i) to[i] = from[i];
      } else {
        for (int64_t i = 0; i < out.rows; ++i) to[i] = from[i] + out.beta * to[i];
      }
    }
  }

  // Copies a block of `depth` by `width` elements, `across` apart in memory along its width and
  // `along` apart along the reduction, into panels of kWidth, short ones filled up with zeros.
  template <int kWidth>
  static void Pack(const T* from, int64_t across, int64_t along, int64_t width, int64_t depth,
                   T* to) {
    for (int64_t first = 0; first < width; first += kWidth, to += kWidth * depth) {
      const T* panel = from + first * across;
      const int64_t filled = Least<int64_t>(kWidth, width - first);
      if (filled < kWidth) {
        PackBorder<kWidth>(panel, across, along, filled, depth, to);
      } else if (across == 1) {
        for (int64_t p = 0; p < depth; ++p) {
          __builtin_memcpy(to + p * kWidth, panel + p * along, sizeof(T) * kWidth);
        }
      } else {
        PackAcross<kWidth>(panel, across, along, depth, to);
      }
    }
  }

  // Reads along the reduction and writes across it. Short runs, so that the lines which are written
  // stay in the first-level cache until they are full.
  template <int kWidth>
  static void PackAcross(const T* panel, int64_t across, int64_t along, int64_t depth, T* to) {
    constexpr int64_t kRun = 16;
    for (int64_t begin = 0; begin < depth; begin += kRun) {
      const int64_t end = Least(depth, begin + kRun);
      for (int i = 0; i < kWidth; ++i) {
        const T* line = panel + i * across;
        for (int64_t p = begin; p < end; ++p) to[p * kWidth + i] = line[p * along];
      }
    }
  }

  template <int kWidth>
  static void PackBorder(const T* panel, int64_t across, int64_t along, int64_t filled,
                         int64_t depth, T* to) {
    for (int64_t p = 0; p < depth; ++p) {
      for (int64_t i = 0; i < filled; ++i) to[p * kWidth + i] = panel[i * across + p * along];
      for (int64_t i = filled; i < kWidth; ++i) to[p * kWidth + i] = 0;
    }
  }
};

template <class T>
struct TileFunctions {
  int rows, columns;
  void (*multiply_unit)(int64_t, Panel<T>, Panel<T>, const TileOutput<T>&);
  void (*multiply_strided)(int64_t, Panel<T>, Panel<T>, const TileOutput<T>&);
  void (*pack_a)(const T*, int64_t, int64_t, int64_t, int64_t, T*);
  void (*pack_b)(const T*, int64_t, int64_t, int64_t, int64_t, T*);
};

template <class T, int kVectors, int kColumns>
constexpr TileFunctions<T> FunctionsOf() {
  using K = Tile<T, kVectors, kColumns>;
  return {K::kRows,
          kColumns,
          &K::template Multiply<true>,
          &K::template Multiply<false>,
          &K::template Pack<K::kRows>,
          &K::template Pack<kColumns>};
}

// The product of one block of A with one block of B.
template <class T>
class BlockedProduct {
 public:
  BlockedProduct(const PackedGemmCall<T>& call, const TileFunctions<T>& tile)
      : call_(call),
        tile_(tile),
        packs_a_(call.transpose_a || call.packing == Packing::kBoth ||
                 call.packing == Packing::kOnlyA),
        packs_b_(call.packing == Packing::kBoth || call.packing == Packing::kOnlyB),
        a_across_(call.transpose_a ? call.lda : 1),
        a_along_(call.transpose_a ? 1 : call.lda),
        b_across_(call.transpose_b ? 1 : call.ldb),
        b_along_(call.transpose_b ? call.ldb : 1) {
    const int64_t depth = Least(call.depth_block, call.k);
    const int64_t rows = packs_a_ ? Least(call.row_block, call.m) + tile.rows : tile.rows;
    scratch_a_ = call.scratch;
    // A multiple of 64 bytes further.
    scratch_b_ = call.scratch + ((depth * rows + 15) / 16 + 1) * 16;
  }

  void Run() {
    for (int64_t j = 0; j < call_.n; j += call_.column_block) {
      const int64_t columns = Least(call_.column_block, call_.n - j);
      for (int64_t p = 0; p < call_.k; p += call_.depth_block) {
        const int64_t depth = Least(call_.depth_block, call_.k - p);
        PrepareB(p, j, depth, columns);
        for (int64_t i = 0; i < call_.m; i += call_.row_block) {
          const int64_t rows = Least(call_.row_block, call_.m - i);
          PrepareA(i, p, depth, rows);
          MultiplyBlock(i, j, p, depth, rows, columns);
        }
      }
    }
  }

 private:
  // In place, only the panel at the border is copied: past it there is nothing that may be read.
  void PrepareB(int64_t p, int64_t j, int64_t depth, int64_t columns) {
    const T* block = call_.b + p * b_along_ + j * b_across_;
    const int64_t border = columns % tile_.columns;
    if (packs_b_) {
      tile_.pack_b(block, b_across_, b_along_, columns, depth, scratch_b_);
    } else if (border != 0) {
      tile_.pack_b(block + (columns - border) * b_across_, b_across_, b_along_, border, depth,
                   scratch_b_);
    }
  }

  void PrepareA(int64_t i, int64_t p, int64_t depth, int64_t rows) {
    const T* block = call_.a + i * a_across_ + p * a_along_;
    const int64_t border = rows % tile_.rows;
    if (packs_a_) {
      tile_.pack_a(block, a_across_, a_along_, rows, depth, scratch_a_);
    } else if (border != 0) {
      tile_.pack_a(block + (rows - border), 1, a_along_, border, depth, scratch_a_);
    }
  }

  void MultiplyBlock(int64_t i0, int64_t j0, int64_t p0, int64_t depth, int64_t rows,
                     int64_t columns) {
    const T* a_block = call_.a + i0 * a_across_ + p0 * a_along_;
    const T* b_block = call_.b + p0 * b_along_ + j0 * b_across_;
    TileOutput<T> out{nullptr, call_.ldc, 0, 0, call_.alpha, p0 == 0 ? call_.beta : T{1}};
    for (int64_t j = 0; j < columns; j += tile_.columns) {
      out.columns = Least<int64_t>(tile_.columns, columns - j);
      const bool b_copied = packs_b_ || out.columns < tile_.columns;
      const T* b_packed = packs_b_ ? scratch_b_ + j * depth : scratch_b_;
      const Panel<T> b = b_copied ? Panel<T>{b_packed, tile_.columns, 1}
                                  : Panel<T>{b_block + j * b_across_, b_along_, b_across_};
      const auto multiply =
          b_copied || b_across_ == 1 ? tile_.multiply_unit : tile_.multiply_strided;
      for (int64_t i = 0; i < rows; i += tile_.rows) {
        out.rows = Least<int64_t>(tile_.rows, rows - i);
        const bool a_copied = packs_a_ || out.rows < tile_.rows;
        const T* a_packed = packs_a_ ? scratch_a_ + i * depth : scratch_a_;
        const Panel<T> a =
            a_copied ? Panel<T>{a_packed, tile_.rows, 1} : Panel<T>{a_block + i, call_.lda, 1};
        out.c = call_.c + (i0 + i) + (j0 + j) * call_.ldc;
        multiply(depth, a, b, out);
      }
    }
  }

  const PackedGemmCall<T>& call_;
  const TileFunctions<T>& tile_;
  const bool packs_a_, packs_b_;
  const int64_t a_across_, a_along_, b_across_, b_along_;
  T* scratch_a_;
  T* scratch_b_;
};

}  // namespace
}  // namespace attune::host
