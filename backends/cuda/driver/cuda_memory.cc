#include "backends/cuda/driver/cuda_memory.h"

#include <algorithm>
#include <cassert>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "backends/cuda/driver/addresses.h"

namespace attune::cuda {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kMostBlocks = 1024;
// In the order of `type` in the kernel.
constexpr DataType kTypes[] = {DataType::kF64, DataType::kF32, DataType::kF16, DataType::kBf16,
                               DataType::kI32};

// One block's share of a comparison, here and in the kernel.
struct Part {
  double worst_ratio;
  double worst_value;
  int64_t worst_offset;
  int64_t wrong;
  int64_t elements;
  int64_t gap;  // The first one that was written to; kNoGap if none.
};
constexpr int64_t kNoGap = INT64_MAX;

constexpr std::string_view kSource = R"(
typedef unsigned long long u64;
typedef long long i64;

// The finaliser of SplitMix64 (Steele, Lea, Flood 2014): every bit of the result depends on every bit of x.
__device__ u64 mix(u64 x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

// The sum over all places of what stands there, mixed with its place: in any order the same.
extern "C" __global__ void fingerprint(const unsigned char* of, i64 size_bytes, u64* parts) {
  __shared__ u64 sums[THREADS];
  u64 sum = 0;
  const i64 words = size_bytes / 2;
  const i64 step = (i64)gridDim.x * THREADS;
  for (i64 i = (i64)blockIdx.x * THREADS + threadIdx.x; i < words; i += step) {
    sum += mix(mix((u64)i + 1) + ((const unsigned short*)of)[i]);
  }
  if ((size_bytes & 1) && blockIdx.x == 0 && threadIdx.x == 0) {
    sum += mix(mix((u64)words + 1) + of[size_bytes - 1]);
  }
  sums[threadIdx.x] = sum;
  for (int half = THREADS / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  if (threadIdx.x == 0) parts[blockIdx.x] = sums[0];
}

struct Part {
  double worst_ratio;
  double worst_value;
  i64 worst_offset;
  i64 wrong;
  i64 elements;
  i64 gap;
};

__device__ double value_at(const void* output, i64 i, int type) {
  if (type == 0) return ((const double*)output)[i];
  if (type == 1) return ((const float*)output)[i];
  if (type == 4) return ((const int*)output)[i];
  const unsigned short bits = ((const unsigned short*)output)[i];
  if (type == 3) return __uint_as_float((unsigned)bits << 16);
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}

__device__ bool is_untouched(const void* output, i64 i, int type, unsigned short untouched) {
  const int words = type == 0 ? 4 : type == 1 || type == 4 ? 2 : 1;
  for (int word = 0; word < words; ++word) {
    if (((const unsigned short*)output)[i * words + word] != untouched) return false;
  }
  return true;
}

__device__ void merge(Part& into, const Part& other) {
  into.wrong += other.wrong;
  into.elements += other.elements;
  into.gap = min(into.gap, other.gap);
  if (other.worst_ratio < into.worst_ratio) return;
  if (other.worst_ratio == into.worst_ratio && other.worst_offset >= into.worst_offset) return;
  into.worst_ratio = other.worst_ratio;
  into.worst_value = other.worst_value;
  into.worst_offset = other.worst_offset;
}

// GroupTolerance of attune/base/tolerance.h.
struct Tolerance {
  double absolute[KINDS];
  double relative;
  i64 run;
  i64 groups;
};

__device__ double tolerance_of(const Tolerance& tolerance, i64 offset, double right) {
  const i64 group = tolerance.groups == 1 ? 0 : offset / tolerance.run % tolerance.groups;
  return tolerance.absolute[group % KINDS] + tolerance.relative * fabs(right);
}

extern "C" __global__ void compare(const void* output, const double* reference, i64 elements, int type,
                                   Tolerance tolerance, unsigned short untouched, Part* parts) {
  __shared__ Part found[THREADS];
  const double infinity = __longlong_as_double(0x7FF0000000000000ll);
  Part part = {0, 0, NO_GAP, 0, 0, NO_GAP};
  const i64 step = (i64)gridDim.x * THREADS;
  for (i64 i = (i64)blockIdx.x * THREADS + threadIdx.x; i < elements; i += step) {
    const double right = reference[i];
    if (right != right) {
      if (!is_untouched(output, i, type, untouched)) part.gap = min(part.gap, i);
      continue;
    }
    ++part.elements;
    const double value = value_at(output, i, type);
    const double error = fabs(value - right);
    double ratio = error == 0 ? 0 : error / tolerance_of(tolerance, i, right);
    if (!(fabs(value) < infinity)) ratio = infinity;
    if (ratio > 1) ++part.wrong;
    if (ratio <= part.worst_ratio) continue;
    part.worst_ratio = ratio;
    part.worst_value = value;
    part.worst_offset = i;
  }
  found[threadIdx.x] = part;
  for (int half = THREADS / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) merge(found[threadIdx.x], found[threadIdx.x + half]);
  }
  if (threadIdx.x == 0) parts[blockIdx.x] = found[0];
}
)";

int NumberOf(DataType type) {
  const auto* const found = std::find(std::begin(kTypes), std::end(kTypes), type);
  assert(found != std::end(kTypes));
  return static_cast<int>(found - std::begin(kTypes));
}

OutputComparison Merged(const std::vector<Part>& parts) {
  OutputComparison all;
  all.worst_offset = kNoGap;
  for (const Part& part : parts) {
    all.wrong += part.wrong;
    all.elements += part.elements;
    if (part.gap != kNoGap) all.spoiled_gap = std::min(part.gap, all.spoiled_gap.value_or(kNoGap));
    if (part.worst_ratio < all.worst_ratio) continue;
    if (part.worst_ratio == all.worst_ratio && part.worst_offset >= all.worst_offset) continue;
    all.worst_ratio = part.worst_ratio;
    all.worst_value = part.worst_value;
    all.worst_offset = part.worst_offset;
  }
  if (all.worst_ratio == 0) all.worst_offset = 0;
  return all;
}

}  // namespace

Result<BuildRecipe> CudaMemoryRecipe(const Nvrtc& nvrtc, const std::string& arch) {
  return MakeRecipe(nvrtc, std::string(kSource),
                    fmt::format("-DTHREADS={} -DNO_GAP={}ll -DKINDS={}", kThreads, kNoGap,
                                GroupTolerance::kKinds),
                    arch);
}

Result<std::unique_ptr<CudaMemory>> CudaMemory::Create(CudaDevice& device, const Nvrtc& nvrtc) {
  std::unique_ptr<CudaMemory> memory(new CudaMemory(device));
  ATTUNE_ASSIGN_OR_RETURN(const BuildRecipe recipe, CudaMemoryRecipe(nvrtc, device.target().arch));
  ATTUNE_ASSIGN_OR_RETURN(const Artifact cubin, BuildCubin(nvrtc, recipe));
  ATTUNE_ASSIGN_OR_RETURN(memory->module_, Module::Load(device, cubin));
  ATTUNE_ASSIGN_OR_RETURN(memory->fingerprint_, memory->module_->Function("fingerprint", 0));
  ATTUNE_ASSIGN_OR_RETURN(memory->compare_, memory->module_->Function("compare", 0));
  ATTUNE_ASSIGN_OR_RETURN(memory->parts_, device.Allocate(kMostBlocks * sizeof(Part)));
  return memory;
}

Status CudaMemory::Check(CUresult code, const char* what) const {
  if (code == CUDA_SUCCESS) return Status::Ok();
  return CudaStatus(device_.driver(), code, fmt::format("{} on {}", what, device_.entry().spec));
}

unsigned CudaMemory::BlocksFor(int64_t items) const {
  return static_cast<unsigned>(
      std::clamp<int64_t>((items + kThreads - 1) / kThreads, 1, kMostBlocks));
}

Status CudaMemory::Fill(BufferView to, size_t size_bytes, uint16_t pattern) {
  if (size_bytes == 0) return Status::Ok();
  ATTUNE_RETURN_IF_ERROR(device_.Enter());
  const Driver& driver = device_.driver();
  auto address = reinterpret_cast<CUdeviceptr>(AddressOf(to));
  constexpr const char* kWhat = "Cannot fill memory";
  // After operands of single bytes. The device fills words at even addresses only.
  if (address % 2 != 0) {
    ATTUNE_RETURN_IF_ERROR(
        Check(driver.cuMemsetD8Async(address, static_cast<unsigned char>(pattern & 0xFF), 1,
                                     device_.stream()),
              kWhat));
    pattern = static_cast<uint16_t>(pattern << 8 | pattern >> 8);
    ++address;
    --size_bytes;
  }
  if (size_bytes > 1) {
    ATTUNE_RETURN_IF_ERROR(
        Check(driver.cuMemsetD16Async(address, pattern, size_bytes / 2, device_.stream()), kWhat));
  }
  if (size_bytes % 2 != 0) {
    ATTUNE_RETURN_IF_ERROR(Check(
        driver.cuMemsetD8Async(address + size_bytes - 1, static_cast<unsigned char>(pattern & 0xFF),
                               1, device_.stream()),
        kWhat));
  }
  return device_.Synchronize();
}

Status CudaMemory::Copy(BufferView from, BufferView to, size_t size_bytes) {
  if (size_bytes == 0) return Status::Ok();
  ATTUNE_RETURN_IF_ERROR(device_.Enter());
  ATTUNE_RETURN_IF_ERROR(
      Check(device_.driver().cuMemcpyDtoDAsync(reinterpret_cast<CUdeviceptr>(AddressOf(to)),
                                               reinterpret_cast<CUdeviceptr>(AddressOf(from)),
                                               size_bytes, device_.stream()),
            "Cannot copy memory"));
  return device_.Synchronize();
}

Result<uint64_t> CudaMemory::Fingerprint(BufferView of, size_t size_bytes) {
  LaunchShape shape;
  shape.grid[0] = BlocksFor(static_cast<int64_t>(size_bytes / 2));
  shape.block[0] = kThreads;
  void* address = AddressOf(of);
  auto size = static_cast<int64_t>(size_bytes);
  void* parts = parts_->handle();
  void* arguments[] = {&address, &size, &parts};
  ATTUNE_RETURN_IF_ERROR(module_->Launch(fingerprint_, shape, arguments, device_.stream()));
  std::vector<uint64_t> sums(shape.grid[0]);
  ATTUNE_RETURN_IF_ERROR(
      device_.Download(parts_->View(0), std::as_writable_bytes(std::span(sums))));
  uint64_t sum = 0;
  for (const uint64_t part : sums) sum += part;
  return sum;
}

Result<OutputComparison> CudaMemory::Compare(BufferView output, BufferView reference,
                                             const ComparisonTerms& terms) {
  LaunchShape shape;
  shape.grid[0] = BlocksFor(terms.elements);
  shape.block[0] = kThreads;
  void* output_address = AddressOf(output);
  void* reference_address = AddressOf(reference);
  ComparisonTerms values = terms;
  int type = NumberOf(terms.type);
  void* parts = parts_->handle();
  void* arguments[] = {&output_address, &reference_address, &values.elements,
                       &type,           &values.tolerance,  &values.untouched,
                       &parts};
  ATTUNE_RETURN_IF_ERROR(module_->Launch(compare_, shape, arguments, device_.stream()));
  std::vector<Part> found(shape.grid[0]);
  ATTUNE_RETURN_IF_ERROR(
      device_.Download(parts_->View(0), std::as_writable_bytes(std::span(found))));
  return Merged(found);
}

}  // namespace attune::cuda
