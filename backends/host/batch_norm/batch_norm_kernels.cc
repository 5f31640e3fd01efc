// Each level of the instruction set compiles the same loops: they are inlined
// into functions with a target, and the compiler vectorises them for it.
#include "backends/host/batch_norm/batch_norm_kernels.h"

#include <emmintrin.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "backends/host/stored_floats.h"

namespace attune::host::batch_norm {
namespace {

#define ATTUNE_INLINE [[gnu::always_inline]] inline
// No iteration of the loop depends on another one.
#ifdef __clang__
#define ATTUNE_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define ATTUNE_INDEPENDENT _Pragma("GCC ivdep")
#endif

// A sum has this many lanes, because the compiler may not reorder the terms of
// one.
constexpr int kLanes = 16;
constexpr int64_t kLineBytes = 64;
// Streamed values are collected in a buffer of the first-level cache.
constexpr int64_t kBufferBytes = 4096;
// The mean of a slot is guessed from so many values.
constexpr int64_t kGuessedValues = 16;
// Limit of the part subtracted from a sum of squares, as a multiple of the rest.
constexpr double kMostLost = 8;

// `value` or 0. The compiler does not vectorise a loop that computes `value` in a branch.
ATTUNE_INLINE float KeepIf(bool keeps, float value) {
  const uint32_t mask = keeps ? 0xffffffffu : 0u;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(value) & mask);
}

// The operands of a tile.
template <class T>
struct Values {
  using Stored = typename T::Stored;

  ATTUNE_INLINE explicit Values(const Tile& tile)
      : x(static_cast<const Stored*>(tile.x)),
        dy(static_cast<const Stored*>(tile.dy)),
        other(static_cast<const Stored*>(tile.other)),
        out(static_cast<Stored*>(tile.out)),
        dresidual(static_cast<Stored*>(tile.dresidual)) {}

  ATTUNE_INLINE float X(int64_t i) const { return T::Load(x[i]); }
  template <bool kMasked>
  ATTUNE_INLINE float Gradient(int64_t i) const {
    const float gradient = T::Load(dy[i]);
    if constexpr (!kMasked) return gradient;
    return KeepIf(!(T::Load(other[i]) <= 0), gradient);  // NaN keeps it, as in PyTorch.
  }

  const Stored* x;
  const Stored* dy;
  const Stored* other;
  Stored* out;
  Stored* dresidual;
};

// add(i, sink) calls sink(k, value) for value `i` and each sum k.
template <int kSums, class Add>
ATTUNE_INLINE void AddVector(int64_t first, float (&lanes)[kSums][kLanes], const Add& add) {
  for (int lane = 0; lane < kLanes; ++lane) {
    add(first + lane, [&](int k, float value) { lanes[k][lane] += value; });
  }
}

// Adds whole groups of kUnroll vectors, each to a sum of its own, which stays in registers.
// Returns how many values those are.
template <int kSums, int kUnroll, class Add>
ATTUNE_INLINE int64_t AddVectors(int64_t length, float (&lanes)[kSums][kLanes], const Add& add) {
  constexpr int kStep = kUnroll * kLanes;
  const auto run = [&]<int... kAt>(std::integer_sequence<int, kAt...>) {
    float sums[kUnroll][kSums][kLanes] = {};
    int64_t i = 0;
    for (; i + kStep <= length; i += kStep) (AddVector(i + kAt * kLanes, sums[kAt], add), ...);
    const auto merge = [&](const float(&from)[kSums][kLanes]) {
      for (int k = 0; k < kSums; ++k) {
        for (int lane = 0; lane < kLanes; ++lane) lanes[k][lane] += from[k][lane];
      }
    };
    (merge(sums[kAt]), ...);
    return i;
  };
  return length < kStep ? 0 : run(std::make_integer_sequence<int, kUnroll>());
}

// Adds the values of a slot that is at least a vector long to kLanes lanes of
// each sum. The last values are read as a full vector, in which those that were
// read before do not count.
template <int kSums, int kUnroll, class Add>
ATTUNE_INLINE void AddSlot(int64_t length, float* __restrict totals, const Add& add) {
  float lanes[kSums][kLanes] = {};
  int64_t i = kUnroll > 1 ? AddVectors<kSums, kUnroll>(length, lanes, add) : 0;
  for (; i + kLanes <= length; i += kLanes) AddVector(i, lanes, add);
  const auto counted = static_cast<int>(kLanes - (length - i));
  for (int lane = 0; i < length && lane < kLanes; ++lane) {
    add(length - kLanes + lane,
        [&](int k, float value) { lanes[k][lane] += KeepIf(lane >= counted, value); });
  }
  for (int k = 0; k < kSums; ++k) {
    for (int lane = 0; lane < kLanes; ++lane) totals[k * kLanes + lane] += lanes[k][lane];
  }
}

ATTUNE_INLINE float SumOfLanes(const float* lanes) {
  float sums[kLanes / 2];
  for (int lane = 0; lane < 8; ++lane) sums[lane] = lanes[lane] + lanes[lane + 8];
  for (int lane = 0; lane < 4; ++lane) sums[lane] += sums[lane + 4];
  return (sums[0] + sums[2]) + (sums[1] + sums[3]);
}

// Sums terms over the rows of slots longer than 1: sum k of slot s is at
// totals[s * kSums + k]. term(slot, at, sink) calls sink(k, value). Needs
// kLanes numbers for each sum.
template <int kSums, int kUnroll, class Term>
ATTUNE_INLINE void SumRuns(const Tile& tile, float* __restrict totals, const Term& term) {
  constexpr int kStep = kSums * kLanes;
  for (int64_t i = 0; i < tile.slots * kStep; ++i) totals[i] = 0;
  for (int64_t row = 0; row < tile.rows; ++row) {
    for (int64_t slot = 0; slot < tile.slots; ++slot) {
      const int64_t first = row * tile.row_step + slot * tile.slot_step;
      float* const lanes = totals + slot * kStep;
      if (tile.length >= kLanes) {
        AddSlot<kSums, kUnroll>(tile.length, lanes,
                                [&](int64_t i, const auto& sink) { term(slot, first + i, sink); });
        continue;
      }
      for (int64_t i = 0; i < tile.length; ++i) {
        term(slot, first + i, [&](int k, float value) { lanes[k * kLanes + i] += value; });
      }
    }
  }
  for (int64_t i = 0; i < tile.slots * kSums; ++i) totals[i] = SumOfLanes(totals + i * kLanes);
}

// The same for slots of length 1. Sum k of slot s is at totals[k * slots + s].
template <int kSums, class Term>
ATTUNE_INLINE void SumColumns(const Tile& tile, float* __restrict totals, const Term& term) {
  constexpr int64_t kRows = 4;
  const int64_t slots = tile.slots;
  const int64_t step = tile.row_step;
  for (int64_t i = 0; i < slots * kSums; ++i) totals[i] = 0;
  int64_t row = 0;
  for (; row + kRows <= tile.rows; row += kRows) {
    const int64_t first = row * step;
    ATTUNE_INDEPENDENT
    for (int64_t slot = 0; slot < slots; ++slot) {
      float sums[kSums] = {};
      const auto add = [&](int k, float value) { sums[k] += value; };
      term(slot, first + slot, add);
      term(slot, first + step + slot, add);
      term(slot, first + 2 * step + slot, add);
      term(slot, first + 3 * step + slot, add);
      for (int k = 0; k < kSums; ++k) totals[k * slots + slot] += sums[k];
    }
  }
  for (; row < tile.rows; ++row) {
    const int64_t first = row * step;
    ATTUNE_INDEPENDENT
    for (int64_t slot = 0; slot < slots; ++slot) {
      term(slot, first + slot, [&](int k, float value) { totals[k * slots + slot] += value; });
    }
  }
}

template <int kSums, bool kColumns, int kUnroll, class Term>
ATTUNE_INLINE void Sum(const Tile& tile, float* totals, const Term& term) {
  if constexpr (kColumns) {
    SumColumns<kSums>(tile, totals, term);
  } else {
    SumRuns<kSums, kUnroll>(tile, totals, term);
  }
}

ATTUNE_INLINE int64_t Padded(int64_t slots) { return (slots + kLanes - 1) / kLanes * kLanes; }
// Scratch has the mean of each slot, then sums.
ATTUNE_INLINE float* TotalsOf(const TileCall& call) {
  return call.scratch + Padded(call.tile.slots);
}
// The place of a sum.
template <int kSums, bool kColumns>
ATTUNE_INLINE int64_t At(const Tile& tile, int64_t slot, int k) {
  return kColumns ? k * tile.slots + slot : slot * kSums + k;
}

// Returns a guess near `mean` for values with the mean squared difference `spread`. Differences of
// values with few bits from a guess with more bits would all round in the same direction when they
// are added up. The guess therefore has the bits of values of that size. Constants keep all of
// theirs.
template <class T>
ATTUNE_INLINE float GuessNear(double mean, double spread) {
  const auto guess = static_cast<float>(mean);
  if constexpr (sizeof(typename T::Stored) == sizeof(float)) return guess;
  const auto size = static_cast<float>(std::sqrt(mean * mean + spread));
  const float large = std::min(0x1p12f * size, 0x1p120f);
  return (guess + large) - large;
}

// The mean of each slot so far, or of its first values.
template <class T, bool kColumns>
ATTUNE_INLINE void GuessMeans(const TileCall& call, float* __restrict means,
                              float* __restrict totals) {
  Tile first = call.tile;
  if (call.before > 0) {
    const auto before = static_cast<double>(call.before);
    const Statistics& of = call.statistics;
    for (int64_t slot = 0; slot < first.slots; ++slot) {
      means[slot] = GuessNear<T>(of.mean[slot], of.squares[slot] / before);
    }
    return;
  }
  first.length = std::min<int64_t>(first.length, kGuessedValues);
  first.rows = std::min(first.rows, (kGuessedValues + first.length - 1) / first.length);
  const Values<T> values(first);
  // Differences from a value keep constants exact.
  for (int64_t slot = 0; slot < first.slots; ++slot) {
    means[slot] = values.X(slot * first.slot_step);
  }
  Sum<2, kColumns, 1>(first, totals, [&](int64_t slot, int64_t at, const auto& add) {
    const float difference = values.X(at) - means[slot];
    add(0, difference);
    add(1, difference * difference);
  });
  const double share = 1 / static_cast<double>(first.rows * first.length);
  for (int64_t slot = 0; slot < first.slots; ++slot) {
    const double mean = means[slot] + totals[At<2, kColumns>(first, slot, 0)] * share;
    means[slot] = GuessNear<T>(mean, totals[At<2, kColumns>(first, slot, 1)] * share);
  }
}

// Replaces guesses by means of the tile. Returns if one was too far from it for its squares.
template <class T, bool kColumns>
ATTUNE_INLINE bool CorrectGuesses(const Tile& tile, const float* __restrict totals,
                                  float* __restrict means) {
  const auto count = static_cast<double>(tile.rows * tile.length);
  int far = 0;
  for (int64_t slot = 0; slot < tile.slots; ++slot) {
    const double rest = totals[At<2, kColumns>(tile, slot, 0)];
    const double lost = rest * rest / count;
    const double squares = totals[At<2, kColumns>(tile, slot, 1)] - lost;
    far += lost > kMostLost * squares ? 1 : 0;
  }
  if (far == 0) return false;
  for (int64_t slot = 0; slot < tile.slots; ++slot) {
    const double offset = totals[At<2, kColumns>(tile, slot, 0)] / count;
    const double squares = totals[At<2, kColumns>(tile, slot, 1)] / count - offset * offset;
    means[slot] = GuessNear<T>(means[slot] + offset, std::max(squares, 0.0));
  }
  return true;
}

// Adds the moments of a tile, merged as by Chan, Golub, LeVeque (1983). One pass sums differences
// from a guess of the mean and their squares. A guess that is off by e makes the squares larger by
// e^2, which is subtracted; where that would cancel too much, a second pass follows.
template <class T, bool kColumns, int kUnroll>
ATTUNE_INLINE void AddMoments(const TileCall& call) {
  const Tile& tile = call.tile;
  const Values<T> values(tile);
  float* __restrict const means = call.scratch;
  float* __restrict const totals = TotalsOf(call);
  GuessMeans<T, kColumns>(call, means, totals);
  for (int pass = 0; pass < 2; ++pass) {
    Sum<2, kColumns, kUnroll>(tile, totals, [&](int64_t slot, int64_t at, const auto& add) {
      const float difference = values.X(at) - means[slot];
      add(0, difference);
      add(1, difference * difference);
    });
    if (pass == 1 || !CorrectGuesses<T, kColumns>(tile, totals, means)) break;
  }
  const auto added = static_cast<double>(tile.rows * tile.length);
  const auto before = static_cast<double>(call.before);
  const double share = added / (before + added);
  const Statistics& to = call.statistics;
  ATTUNE_INDEPENDENT
  for (int64_t slot = 0; slot < tile.slots; ++slot) {
    const double rest = totals[At<2, kColumns>(tile, slot, 0)];
    const double squares = totals[At<2, kColumns>(tile, slot, 1)] - rest * rest / added;
    const double difference = means[slot] + rest / added - to.mean[slot];
    to.mean[slot] += difference * share;
    to.squares[slot] += (squares < 0 ? 0 : squares) + difference * difference * (before * share);
    if (to.product != nullptr) to.product[slot] -= difference * share * to.sum[slot];
  }
}

// Adds the sums of a tile, with differences from the mean of the statistics so
// far or, without one, that of the coefficients.
template <class T, bool kColumns, bool kMasked, int kUnroll>
ATTUNE_INLINE void AddSums(const TileCall& call) {
  const Tile& tile = call.tile;
  const Values<T> values(tile);
  const Statistics& to = call.statistics;
  float* __restrict const means = call.scratch;
  float* __restrict const totals = TotalsOf(call);
  for (int64_t slot = 0; slot < tile.slots; ++slot) {
    means[slot] =
        to.mean == nullptr ? call.coefficients.mean[slot] : static_cast<float>(to.mean[slot]);
  }
  Sum<2, kColumns, kUnroll>(tile, totals, [&](int64_t slot, int64_t at, const auto& add) {
    const float gradient = values.template Gradient<kMasked>(at);
    add(0, gradient);
    add(1, gradient * (values.X(at) - means[slot]));
  });
  ATTUNE_INDEPENDENT
  for (int64_t slot = 0; slot < tile.slots; ++slot) {
    const double sum = totals[At<2, kColumns>(tile, slot, 0)];
    const double lost = to.mean == nullptr ? 0 : to.mean[slot] - means[slot];
    to.sum[slot] += sum;
    to.product[slot] += totals[At<2, kColumns>(tile, slot, 1)] - lost * sum;
  }
}

ATTUNE_INLINE void StreamLines(const void* from, void* to, int64_t bytes) {
  const auto* const source = static_cast<const __m128i*>(from);
  auto* const target = static_cast<__m128i*>(to);
  for (int64_t i = 0; i < bytes / static_cast<int64_t>(sizeof(__m128i)); ++i) {
    _mm_stream_si128(target + i, _mm_load_si128(source + i));
  }
}

// Stores value(i) for each i. If `streams`, whole lines go around the caches.
template <class T, class Value>
ATTUNE_INLINE void Write(typename T::Stored* out, int64_t count, bool streams, const Value& value) {
  using Stored = typename T::Stored;
  constexpr auto kSize = static_cast<int64_t>(sizeof(Stored));
  constexpr int64_t kBuffer = kBufferBytes / kSize;
  const auto past = static_cast<int64_t>(reinterpret_cast<uintptr_t>(out) % kLineBytes);
  const int64_t begin = streams && past == 0 ? 0 : streams ? (kLineBytes - past) / kSize : count;
  const int64_t end = begin + (count - begin) * kSize / kLineBytes * (kLineBytes / kSize);
  alignas(kLineBytes) Stored buffer[kBuffer];
  for (int64_t first = 0; first < count;) {
    const bool is_buffered = first >= begin && first < end;
    const int64_t limit = is_buffered     ? std::min(end, first + kBuffer)
                          : first < begin ? std::min(begin, count)
                                          : count;
    Stored* const to = is_buffered ? buffer : out + first;
    const int64_t size = limit - first;
    ATTUNE_INDEPENDENT
    for (int64_t i = 0; i < size; ++i) to[i] = T::Store(value(first + i));
    if (is_buffered) StreamLines(buffer, out + first, size * kSize);
    first = limit;
  }
}

template <class T, bool kColumns, bool kAdd>
ATTUNE_INLINE void Forward(const TileCall& call) {
  const Tile& tile = call.tile;
  const Values<T> values(tile);
  const float* __restrict const means = call.coefficients.mean;
  const float* __restrict const scales = call.coefficients.scale;
  const float* __restrict const offsets = call.coefficients.offset;
  const float least = call.relu ? 0 : -std::numeric_limits<float>::infinity();
  const auto finish = [&](float value, int64_t at) {
    if constexpr (kAdd) value += T::Load(values.other[at]);
    return value < least ? least : value;  // A NaN stays one.
  };
  for (int64_t row = 0; row < tile.rows; ++row) {
    const int64_t first = row * tile.row_step;
    if constexpr (kColumns) {
      Write<T>(values.out + first, tile.slots, call.streams, [&](int64_t i) {
        return finish((values.X(first + i) - means[i]) * scales[i] + offsets[i], first + i);
      });
      continue;
    }
    for (int64_t slot = 0; slot < tile.slots; ++slot) {
      const int64_t begin = first + slot * tile.slot_step;
      const float mean = means[slot];
      const float scale = scales[slot];
      const float offset = offsets[slot];
      Write<T>(values.out + begin, tile.length, call.streams, [&](int64_t i) {
        return finish((values.X(begin + i) - mean) * scale + offset, begin + i);
      });
    }
  }
}

template <class T, bool kColumns, bool kMasked>
ATTUNE_INLINE void Backward(const TileCall& call) {
  const Tile& tile = call.tile;
  const Values<T> values(tile);
  const Coefficients& of = call.coefficients;
  const float* __restrict const means = of.mean;
  const float* __restrict const scales = of.scale;
  const float* __restrict const offsets = of.offset;
  const float* __restrict const slopes = of.slope;
  const int64_t runs = kColumns ? 1 : tile.slots;
  const int64_t count = kColumns ? tile.slots : tile.length;
  for (int64_t row = 0; row < tile.rows; ++row) {
    for (int64_t run = 0; run < runs; ++run) {
      const int64_t first = row * tile.row_step + run * tile.slot_step;
      const auto gradient = [&](int64_t i) { return values.template Gradient<kMasked>(first + i); };
      if constexpr (kColumns) {
        Write<T>(values.out + first, count, call.streams, [&](int64_t i) {
          return gradient(i) * scales[i] +
                 ((values.X(first + i) - means[i]) * slopes[i] + offsets[i]);
        });
      } else {
        const float mean = means[run];
        const float scale = scales[run];
        const float offset = offsets[run];
        const float slope = slopes[run];
        Write<T>(values.out + first, count, call.streams, [&](int64_t i) {
          return gradient(i) * scale + ((values.X(first + i) - mean) * slope + offset);
        });
      }
      if (kMasked && values.dresidual != nullptr) {
        Write<T>(values.dresidual + first, count, call.streams, gradient);
      }
    }
  }
}

template <class T, bool kColumns, int kUnroll>
ATTUNE_INLINE void RunView(const TileCall& call) {
  const bool has_other = call.tile.other != nullptr;
  switch (call.step) {
    case Step::kMoments:
      return AddMoments<T, kColumns, kUnroll>(call);
    case Step::kSums:
      return has_other ? AddSums<T, kColumns, true, kUnroll>(call)
                       : AddSums<T, kColumns, false, kUnroll>(call);
    case Step::kForward:
      return has_other ? Forward<T, kColumns, true>(call) : Forward<T, kColumns, false>(call);
    case Step::kBackward:
      return has_other ? Backward<T, kColumns, true>(call) : Backward<T, kColumns, false>(call);
  }
}

template <class T>
ATTUNE_INLINE void Run(const TileCall& call) {
  if (call.tile.is_columns()) {
    RunView<T, true, 1>(call);
  } else if (call.unroll == 1) {
    RunView<T, false, 1>(call);
  } else {
    RunView<T, false, kLongUnroll>(call);
  }
  if (call.streams) _mm_sfence();
}

ATTUNE_INLINE void FinishTraining(const FinishCall& call, int64_t i) {
  const Statistics& of = call.statistics;
  const double mean = of.mean[i];
  const double variance = of.squares[i] / call.count;
  const double inverse = 1 / std::sqrt(variance + call.epsilon);
  const double scale = call.gamma == nullptr ? inverse : call.gamma[i] * inverse;
  const double beta = call.beta == nullptr ? 0 : call.beta[i];
  const auto rounded = static_cast<float>(mean);
  // The offset holds the part of the mean that f32 loses.
  const double lost = mean - rounded;
  call.coefficients.mean[i] = rounded;
  call.coefficients.scale[i] = static_cast<float>(scale);
  call.coefficients.offset[i] = static_cast<float>(lost == 0 ? beta : beta - lost * scale);
  const double momentum = call.momentum;
  if (call.running_mean != nullptr) {
    const double unbiased = of.squares[i] / (call.count - 1);
    call.running_mean[i] =
        static_cast<float>((1 - momentum) * call.running_mean[i] + momentum * mean);
    call.running_variance[i] =
        static_cast<float>((1 - momentum) * call.running_variance[i] + momentum * unbiased);
  }
  if (call.saved_mean != nullptr) {
    call.saved_mean[i] = rounded;
    call.saved_inverse[i] = static_cast<float>(inverse);
  }
}

ATTUNE_INLINE void FinishInference(const FinishCall& call, int64_t i) {
  const double variance = call.given_variance[i];
  const double inverse = 1 / std::sqrt(variance + call.epsilon);
  const double scale = call.gamma == nullptr ? inverse : call.gamma[i] * inverse;
  call.coefficients.mean[i] = call.given_mean[i];
  call.coefficients.scale[i] = static_cast<float>(scale);
  call.coefficients.offset[i] = call.beta == nullptr ? 0 : call.beta[i];
}

ATTUNE_INLINE void FinishBackward(const FinishCall& call, int64_t i) {
  const Statistics& of = call.statistics;
  const bool is_given = call.given_inverse != nullptr;
  const double mean = is_given ? call.given_mean[i] : of.mean[i];
  const double inverse =
      is_given ? call.given_inverse[i] : 1 / std::sqrt(of.squares[i] / call.count + call.epsilon);
  const double scale = call.gamma == nullptr ? inverse : call.gamma[i] * inverse;
  const double dgamma = of.product[i] * inverse;
  const auto rounded = static_cast<float>(mean);
  const double slope = -scale * inverse * dgamma / call.count;
  call.coefficients.mean[i] = rounded;
  call.coefficients.scale[i] = static_cast<float>(scale);
  call.coefficients.slope[i] = static_cast<float>(slope);
  call.coefficients.offset[i] =
      static_cast<float>(-scale * of.sum[i] / call.count - slope * (mean - rounded));
  if (call.dgamma != nullptr) {
    call.dgamma[i] = static_cast<float>(dgamma);
    call.dbeta[i] = static_cast<float>(of.sum[i]);
  }
}

ATTUNE_INLINE void FinishGroups(const FinishCall& call) {
  switch (call.pass) {
    case BatchNormPass::kTraining:
      ATTUNE_INDEPENDENT
      for (int64_t i = 0; i < call.groups; ++i) FinishTraining(call, i);
      break;
    case BatchNormPass::kInference:
      ATTUNE_INDEPENDENT
      for (int64_t i = 0; i < call.groups; ++i) FinishInference(call, i);
      break;
    case BatchNormPass::kBackward:
      ATTUNE_INDEPENDENT
      for (int64_t i = 0; i < call.groups; ++i) FinishBackward(call, i);
      break;
  }
}

struct Kernels {
  TileKernel of[3];  // By type.
  FinishKernel finish;
};

// The functions for one level. A template cannot have a target attribute as a
// parameter. Lambdas are inlined by `flatten`: a function of its own would be
// for the baseline.
#define ATTUNE_LEVEL(NAMESPACE, TARGET)                                               \
  namespace NAMESPACE {                                                               \
  TARGET [[gnu::flatten]] void RunF32(const TileCall& call) { Run<F32>(call); }       \
  TARGET [[gnu::flatten]] void RunF16(const TileCall& call) { Run<F16>(call); }       \
  TARGET [[gnu::flatten]] void RunBf16(const TileCall& call) { Run<Bf16>(call); }     \
  TARGET [[gnu::flatten]] void Finish(const FinishCall& call) { FinishGroups(call); } \
  constexpr Kernels kKernels = {{RunF32, RunF16, RunBf16}, Finish};                   \
  }

ATTUNE_LEVEL(baseline, )
ATTUNE_LEVEL(v3, ATTUNE_TARGET_V3)
ATTUNE_LEVEL(v4, ATTUNE_TARGET_V4)

#undef ATTUNE_LEVEL
#undef ATTUNE_INDEPENDENT
#undef ATTUNE_INLINE

const Kernels& KernelsOf(IsaLevel level) {
  return level == IsaLevel::kV4   ? v4::kKernels
         : level == IsaLevel::kV3 ? v3::kKernels
                                  : baseline::kKernels;
}

}  // namespace

int64_t ScratchFloats(int64_t slots, bool is_columns) {
  constexpr int64_t kSums = 2;
  return Padded(slots) * (1 + (is_columns ? kSums : kSums * kLanes));
}

TileKernel KernelFor(IsaLevel level, DataType type) {
  return KernelsOf(level).of[type == DataType::kF32 ? 0 : type == DataType::kF16 ? 1 : 2];
}

FinishKernel FinishFor(IsaLevel level) { return KernelsOf(level).finish; }

}  // namespace attune::host::batch_norm
