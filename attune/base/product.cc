#include "attune/base/product.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "attune/base/parallel_for.h"

namespace attune {
namespace {

// Eight doubles: one AVX-512 register, or two or four smaller ones.
using Vector = double __attribute__((vector_size(64)));
constexpr int64_t kVector = 8;
constexpr int64_t kTileM = 4;
constexpr int64_t kTileN = 2 * kVector;

// A chunk of the output and its panels stay in a level-2 cache of 1 MiB. Rows are 8 longer than
// their used part, or a column of a tile would live in two sets of the level-1 cache.
constexpr int64_t kChunkK = 128;
constexpr int64_t kChunkM = 256;
constexpr int64_t kChunkN = 192;
constexpr int64_t kRowA = kChunkM + 8;
constexpr int64_t kRowB = kChunkN + 8;

struct TileArguments {
  int64_t k;
  const double* a;  // k rows of kRowA.
  const double* b;  // k rows of kRowB.
  double* sums;     // kTileM rows of kRowB.
  double* errors;   // The same, double-double only.
};

[[gnu::always_inline]] inline void MultiplyTile(const TileArguments& tile) {
  Vector sums[kTileM][2];
  for (int64_t i = 0; i < kTileM; ++i) {
    std::memcpy(sums[i], tile.sums + i * kRowB, sizeof(sums[i]));
  }
  for (int64_t k = 0; k < tile.k; ++k) {
    Vector b[2];
    std::memcpy(b, tile.b + k * kRowB, sizeof(b));
    for (int64_t i = 0; i < kTileM; ++i) {
      const double a = tile.a[k * kRowA + i];
      sums[i][0] += a * b[0];
      sums[i][1] += a * b[1];
    }
  }
  for (int64_t i = 0; i < kTileM; ++i) {
    std::memcpy(tile.sums + i * kRowB, sums[i], sizeof(sums[i]));
  }
}

// a * b is product + the result, exactly (Dekker 1971). This file is compiled without contraction
// to fused multiply-adds, which would break the sums below.
[[gnu::always_inline]] inline void ProductError(double a, const Vector& b, const Vector& product,
                                                Vector& error) {
  constexpr double kSplitter = 0x1p27 + 1;
  const double a_scaled = kSplitter * a;
  const double a_high = a_scaled - (a_scaled - a);
  const double a_low = a - a_high;
  const Vector b_scaled = kSplitter * b;
  const Vector b_high = b_scaled - (b_scaled - b);
  const Vector b_low = b - b_high;
  error = a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low);
}

[[gnu::always_inline]] inline void MultiplyTileExactly(const TileArguments& tile) {
  for (int64_t i = 0; i < kTileM; ++i) {
    for (int64_t j = 0; j < kTileN; j += kVector) {
      Vector sum, error;
      std::memcpy(&sum, tile.sums + i * kRowB + j, sizeof(sum));
      std::memcpy(&error, tile.errors + i * kRowB + j, sizeof(error));
      for (int64_t k = 0; k < tile.k; ++k) {
        const double a = tile.a[k * kRowA + i];
        Vector b, product_error;
        std::memcpy(&b, tile.b + k * kRowB + j, sizeof(b));
        const Vector product = a * b;
        ProductError(a, b, product, product_error);
        // The sum and its error, exactly (Knuth).
        const Vector total = sum + product;
        const Vector from_product = total - sum;
        error += product_error + ((sum - (total - from_product)) + (product - from_product));
        sum = total;
      }
      std::memcpy(tile.sums + i * kRowB + j, &sum, sizeof(sum));
      std::memcpy(tile.errors + i * kRowB + j, &error, sizeof(error));
    }
  }
}

// One instance for each instruction set. Not target_clones: their resolvers run before sanitizers
// are ready.
using TileFunction = void (*)(const TileArguments&);
void TileBase(const TileArguments& tile) { MultiplyTile(tile); }
void ExactTileBase(const TileArguments& tile) { MultiplyTileExactly(tile); }
#if defined(__x86_64__)
__attribute__((target("avx2"))) void TileAvx2(const TileArguments& tile) { MultiplyTile(tile); }
__attribute__((target("avx2"))) void ExactTileAvx2(const TileArguments& tile) {
  MultiplyTileExactly(tile);
}
__attribute__((target("avx512f"))) void TileAvx512(const TileArguments& tile) {
  MultiplyTile(tile);
}
__attribute__((target("avx512f"))) void ExactTileAvx512(const TileArguments& tile) {
  MultiplyTileExactly(tile);
}
#endif

TileFunction ChooseTile(Precision precision) {
  const bool exact = precision == Precision::kDoubleDouble;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return exact ? ExactTileAvx512 : TileAvx512;
  if (__builtin_cpu_supports("avx2")) return exact ? ExactTileAvx2 : TileAvx2;
#endif
  return exact ? ExactTileBase : TileBase;
}

// Terms of one element that are gathered at once.
constexpr int64_t kElementTerms = 1024;

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// One chunk of the output of one product, computed by one thread.
class Chunk {
 public:
  Chunk(const ProductSource& source, Precision precision, TileFunction multiply, int64_t m,
        WorkWatch& watch)
      : source_(source),
        watch_(watch),
        multiply_(multiply),
        k_(source.shape().k),
        panel_a_(std::min(k_, kChunkK) * kRowA),
        panel_b_(std::min(k_, kChunkK) * kRowB),
        sums_(CeilDiv(m, kTileM) * kTileM * kRowB),
        errors_(precision == Precision::kDoubleDouble ? sums_.size() : 0) {}

  void Compute(int64_t which, ProductSource::Range ms, ProductSource::Range ns) {
    for (int64_t k0 = 0; k0 < k_; k0 += kChunkK) {
      const ProductSource::Range ks{k0, std::min(k0 + kChunkK, k_)};
      source_.GatherA(which, ks, ms, panel_a_.data(), kRowA);
      source_.GatherB(which, ks, ns, panel_b_.data(), kRowB);
      MultiplyPanels(ks.size(), ms.size(), ns.size());
      const auto outputs = static_cast<double>(ms.size() * ns.size());
      if (!watch_.Note(outputs * static_cast<double>(ks.size()))) return;
    }
    for (size_t i = 0; i < errors_.size(); ++i) sums_[i] += errors_[i];
    source_.Store(which, ms, ns, sums_.data(), kRowB);
  }

 private:
  // Tiles at the edge compute with the remains of an earlier chunk in the panels. Those results are
  // never read.
  void MultiplyPanels(int64_t k, int64_t m, int64_t n) {
    for (int64_t j = 0; j < n; j += kTileN) {
      for (int64_t i = 0; i < m; i += kTileM) {
        double* errors = errors_.empty() ? nullptr : errors_.data() + i * kRowB + j;
        multiply_(
            {k, panel_a_.data() + i, panel_b_.data() + j, sums_.data() + i * kRowB + j, errors});
      }
    }
  }

  const ProductSource& source_;
  WorkWatch& watch_;
  TileFunction multiply_;
  int64_t k_;
  std::vector<double> panel_a_;
  std::vector<double> panel_b_;
  std::vector<double> sums_;
  std::vector<double> errors_;
};

}  // namespace

void ComputeProducts(const ProductSource& source, Precision precision, WorkWatch& watch) {
  const ProductSource::Shape shape = source.shape();
  const TileFunction multiply = ChooseTile(precision);
  // Small products are cut finer, so that every core has something to do.
  constexpr int64_t kEnoughTasks = 64;
  int64_t chunk_m = std::min(kChunkM, CeilDiv(shape.m, kTileM) * kTileM);
  int64_t chunk_n = std::min(kChunkN, CeilDiv(shape.n, kTileN) * kTileN);
  const auto tasks = [&] {
    return shape.count * CeilDiv(shape.m, chunk_m) * CeilDiv(shape.n, chunk_n);
  };
  while (tasks() < kEnoughTasks && chunk_n > 64) chunk_n = CeilDiv(chunk_n / 2, kTileN) * kTileN;
  while (tasks() < kEnoughTasks && chunk_m > 64) chunk_m = CeilDiv(chunk_m / 2, kTileM) * kTileM;
  const int64_t chunks_m = CeilDiv(shape.m, chunk_m);
  const int64_t chunks_n = CeilDiv(shape.n, chunk_n);
  ParallelFor(tasks(), [&](int64_t task) {
    if (watch.stopped()) return;
    const int64_t m0 = task % chunks_m * chunk_m;
    const int64_t n0 = task / chunks_m % chunks_n * chunk_n;
    const ProductSource::Range ms{m0, std::min(m0 + chunk_m, shape.m)};
    const ProductSource::Range ns{n0, std::min(n0 + chunk_n, shape.n)};
    Chunk(source, precision, multiply, ms.size(), watch)
        .Compute(task / (chunks_m * chunks_n), ms, ns);
  });
}

ElementSum SumOfElement(const ProductSource& source, const ElementPlace& place) {
  const int64_t k = source.shape().k;
  std::vector<double> a(static_cast<size_t>(std::min(k, kElementTerms)));
  std::vector<double> b(a.size());
  ElementSum element;
  double error = 0;
  for (int64_t k0 = 0; k0 < k; k0 += kElementTerms) {
    const ProductSource::Range ks{k0, std::min(k0 + kElementTerms, k)};
    source.GatherA(place.which, ks, {place.m, place.m + 1}, a.data(), 1);
    source.GatherB(place.which, ks, {place.n, place.n + 1}, b.data(), 1);
    for (size_t i = 0; i < static_cast<size_t>(ks.size()); ++i) {
      const double product = a[i] * b[i];
      element.magnitude += std::abs(product);
      // Adds the rounding error of the product, and then of the sum (Knuth), exactly.
      error += std::fma(a[i], b[i], -product);
      const double total = element.sum + product;
      const double from_product = total - element.sum;
      error += (element.sum - (total - from_product)) + (product - from_product);
      element.sum = total;
    }
  }
  element.sum += error;
  return element;
}

}  // namespace attune
