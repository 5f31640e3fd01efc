// Our own kernels, once for each level of the instruction set, behind one table of functions.
//
// The units that implement a table are compiled with -march=x86-64-vN while the rest of the program
// is not. An inline function or template that such a unit emits for the linker to share could
// replace the baseline copy of it and crash an older processor. So everything in them has internal
// linkage, they include nothing of the standard library but types, and this header defines no
// function. A test reads their symbol tables (isa_isolation_test.cc).
// docs/design/0003-host-libraries-side-by-side.md.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "backends/host/kernels/gemm_call.h"

namespace attune::host {

// The block of C that stays in registers: `vectors` vectors of rows by `columns` columns.
struct RegisterTile {
  int vectors;
  int columns;
};

// How the blocks of A and B reach the innermost loop: copied into contiguous scratch, or in place.
enum class Packing { kBoth, kOnlyB, kOnlyA, kNeither };

template <class T>
struct PackedGemmCall : GemmCall<T> {
  int tile;              // Index into KernelTable::tiles.
  int64_t depth_block;   // Columns of A that are multiplied at once.
  int64_t row_block;     // Rows of A in a block that must stay in the second-level cache.
  int64_t column_block;  // Columns of B in a block that must stay in the last-level cache.
  Packing packing;       // A transposed A is always packed.
  T* scratch;            // PackedGemmScratchElements() of it, aligned to 64 bytes.
};

// y_r = alpha op(M) x_r + beta y_r for a few vectors at a time: reads the matrix once, which is all
// that it takes time for.
template <class T>
struct SkinnyCall {
  int64_t rows;   // In op(M) and in y.
  int64_t depth;  // Columns of op(M).
  int64_t count;  // Vectors.
  bool transpose;
  const T* matrix;
  int64_t ld;
  const T* x;
  int64_t x_step;  // From one element of a vector to the next, in elements.
  int64_t x_next;  // From one vector to the next.
  T* y;
  int64_t y_step, y_next;
  T alpha, beta;
  int streams;    // Stored columns of M that are read side by side: 1, 2, 4 or 8.
  int64_t block;  // Elements of y (of x, if transposed) that stay in the first-level cache.
  int64_t prefetch_bytes;  // How far ahead each stream is prefetched; 0 for not at all.
  T* scratch;              // (rows + depth + 32) * min(count, 4) elements, aligned to 64 bytes.
};

// Values as in attune::Bias and attune::Activation.
template <class T>
struct EpilogueCall {
  int64_t rows, columns;
  T* c;
  int64_t ldc;
  const T* row_bias;     // One for each row, or null.
  const T* column_bias;  // One for each column, or null.
  int activation;
};

struct KernelTable {
  const char* compiled_for;  // "x86-64-v3"
  const char* compiler;      // Name and version.
  int vector_bytes;
  const RegisterTile* tiles;
  int tile_count;
  void (*packed_gemm_f32)(const PackedGemmCall<float>&);
  void (*packed_gemm_f64)(const PackedGemmCall<double>&);
  void (*skinny_f32)(const SkinnyCall<float>&);
  void (*skinny_f64)(const SkinnyCall<double>&);
  void (*epilogue_f32)(const EpilogueCall<float>&);
  void (*epilogue_f64)(const EpilogueCall<double>&);
  // to[i] += from[i].
  void (*add_f32)(float* to, const float* from, int64_t count);
  void (*add_f64)(double* to, const double* from, int64_t count);
  // Multiplies and adds in registers; returns the operations done. `sink` receives a result.
  double (*fma_f32)(int64_t rounds, float* sink);
  double (*fma_f64)(int64_t rounds, double* sink);
  // a[i] = b[i] + factor * c[i].
  void (*triad)(double* a, const double* b, const double* c, double factor, int64_t count);
  double (*sum)(const double* a, int64_t count);
};

// Runs on every x86-64 processor.
const KernelTable& KernelsBaseline();
const KernelTable& KernelsV2();
const KernelTable& KernelsV3();
const KernelTable& KernelsV4();

}  // namespace attune::host
