#include "backends/cuda/layout/realign.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace attune::cuda {
namespace {

constexpr unsigned kThreadsAlong = 32;  // Along a column: neighbours read neighbouring words.
constexpr unsigned kWordsPerThread = 4;
constexpr unsigned kColumnsPerBlock = 8;
constexpr int64_t kMostColumnBlocks = 65535;
constexpr int64_t kMostMatrixBlocks = 16384;  // Two copies share the third dimension.

// A thread owns one aligned word of 16 bytes of a column of `to`. Where all of it belongs to the
// column, the thread assembles it from two aligned words of `from`. At the ends of a column it goes
// element by element, because other threads own the rest of the word.
constexpr std::string_view kSource = R"(
struct ColumnCopy {
  unsigned long long from, to;
  long long from_stride, to_stride, from_matrix, to_matrix, bytes, to_bytes, columns, to_columns, matrices;
};

// 16 bytes from `shift` (a multiple of the element) on out of the 32 of `low` and `high`.
__device__ uint4 extract(uint4 low, uint4 high, unsigned shift) {
  unsigned w[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
  if (shift & 8) {
#pragma unroll
    for (int i = 0; i < 6; ++i) w[i] = w[i + 2];
  }
  if (shift & 4) {
#pragma unroll
    for (int i = 0; i < 5; ++i) w[i] = w[i + 1];
  }
  const unsigned bits = (shift & 3) * 8;
  return make_uint4(__funnelshift_r(w[0], w[1], bits), __funnelshift_r(w[1], w[2], bits),
                    __funnelshift_r(w[2], w[3], bits), __funnelshift_r(w[3], w[4], bits));
}

__device__ void copy_word(const ColumnCopy& copy, const unsigned char* from, unsigned char* to,
                          long long begin, long long source_bytes) {
  if (begin >= 0 && begin + 16 <= copy.to_bytes && begin + 16 <= source_bytes) {
    const unsigned char* source = from + begin;
    const unsigned shift = (unsigned)((unsigned long long)source & 15);
    const uint4* words = (const uint4*)(source - shift);
    uint4 value = words[0];
    if (shift != 0) value = extract(value, words[1], shift);
    *(uint4*)(to + begin) = value;
    return;
  }
  const long long end = min(begin + 16, copy.to_bytes);
  for (long long at = max(begin, 0ll); at < end; at += sizeof(ELEMENT)) {
    *(ELEMENT*)(to + at) = at < source_bytes ? *(const ELEMENT*)(from + at) : (ELEMENT)0;
  }
}

struct Copies {
  ColumnCopy at[2];
  long long count;
};

// The arguments stay in constant memory: a copy of them for each thread would be several times what it moves.
extern "C" __global__ void __launch_bounds__(256) realign(const __grid_constant__ Copies copies) {
  const unsigned count = (unsigned)copies.count;
  const ColumnCopy& copy = copies.at[blockIdx.z % count];
  const long long first = (long long)blockIdx.x * blockDim.x * WORDS + threadIdx.x;
  for (long long matrix = blockIdx.z / count; matrix < copy.matrices; matrix += gridDim.z / count) {
    long long column = (long long)blockIdx.y * blockDim.y + threadIdx.y;
    for (; column < copy.to_columns; column += (long long)gridDim.y * blockDim.y) {
      const unsigned char* from =
          (const unsigned char*)copy.from + matrix * copy.from_matrix + column * copy.from_stride;
      unsigned char* to =
          (unsigned char*)copy.to + matrix * copy.to_matrix + column * copy.to_stride;
      const long long begin = 16 * first - (long long)((unsigned long long)to & 15);
      const long long source_bytes = column < copy.columns ? copy.bytes : 0;
#pragma unroll
      for (int word = 0; word < WORDS; ++word) {
        copy_word(copy, from, to, begin + 16ll * blockDim.x * word, source_bytes);
      }
    }
  }
}
)";

std::string_view ElementType(int element_bytes) {
  switch (element_bytes) {
    case 1:
      return "char";
    case 2:
      return "short";
    case 4:
      return "int";
    default:
      return "double";
  }
}

// Number of 16-byte words, plus one in case the column begins in the middle of a word.
int64_t WordsOf(const ColumnCopy& copy) { return (copy.to_bytes + 15) / 16 + 1; }

unsigned Blocks(int64_t items, int64_t per_block, int64_t most) {
  return static_cast<unsigned>(std::clamp<int64_t>((items + per_block - 1) / per_block, 1, most));
}

// The kernel's argument.
struct Copies {
  ColumnCopy at[2];
  int64_t count = 0;
};

}  // namespace

Result<BuildRecipe> RealignRecipe(const Nvrtc& nvrtc, int element_bytes, const std::string& arch) {
  return MakeRecipe(
      nvrtc, std::string(kSource),
      fmt::format("-DELEMENT={} -DWORDS={}", ElementType(element_bytes), kWordsPerThread), arch);
}

Result<Realigner> Realigner::Load(CudaDevice& device, const Artifact& cubin) {
  ATTUNE_ASSIGN_OR_RETURN(std::shared_ptr<Module> module, Module::Load(device, cubin));
  ATTUNE_ASSIGN_OR_RETURN(const CUfunction function, module->Function("realign", 0));
  return Realigner(std::move(module), function);
}

Status Realigner::Launch(const ColumnCopy& first, const ColumnCopy& second, CUstream stream) const {
  Copies copies;
  int64_t words = 0;
  int64_t columns = 0;
  int64_t matrices = 0;
  for (const ColumnCopy& copy : {first, second}) {
    if (copy.matrices == 0) continue;
    copies.at[copies.count++] = copy;
    words = std::max(words, WordsOf(copy));
    columns = std::max(columns, copy.to_columns);
    matrices = std::max(matrices, copy.matrices);
  }
  if (copies.count == 0) return Status::Ok();
  LaunchShape shape;
  shape.block[0] = kThreadsAlong;
  shape.block[1] = kColumnsPerBlock;
  constexpr int64_t kWordsPerBlock = int64_t{kThreadsAlong} * kWordsPerThread;
  shape.grid[0] = Blocks(words, kWordsPerBlock, std::numeric_limits<int32_t>::max());
  shape.grid[1] = Blocks(columns, kColumnsPerBlock, kMostColumnBlocks);
  shape.grid[2] = static_cast<unsigned>(copies.count) * Blocks(matrices, 1, kMostMatrixBlocks);
  void* arguments[] = {&copies};
  return module_->Launch(function_, shape, arguments, stream);
}

}  // namespace attune::cuda
