// host.libxsmm-gemm: kernels that libxsmm compiles in memory for the very block sizes, in loops of
// ours.
#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "attune/base/process_room.h"
#include "attune/ops/gemm/gemm.h"
#include "backends/host/gemm/gemm_solver.h"
#include "backends/host/gemm/gemm_solvers.h"
#include "backends/host/library_report.h"

#ifdef ATTUNE_WITH_XSMM
#include <libxsmm.h>

// Replaces open() in libxsmm (cmake/AttuneDependencies.cmake), which opens one file: its lock in
// /tmp. Without the lock it believes that it is not the only user, which only changes its verbose
// output.
extern "C" int attune_xsmm_open(const char*, int, ...) {
  errno = EACCES;
  return -1;
}

// Replaces atexit() in libxsmm, which would unmap its kernels while other threads run them. The
// system takes the memory back.
extern "C" int attune_xsmm_atexit(void (*)()) { return 0; }
#endif

namespace attune::host {

#ifdef ATTUNE_WITH_XSMM
namespace {

struct BlockSizes {
  int64_t rows, columns, depth;

  friend bool operator==(const BlockSizes&, const BlockSizes&) = default;
};

// Distinguishes the compiled kernels of one problem.
struct BlockKey {
  BlockSizes sizes;
  int64_t ldc;
  bool accumulate;

  friend bool operator==(const BlockKey&, const BlockKey&) = default;
};

template <class T>
using BlockFunction = void (*)(const T* a, const T* b, T* c, ...);

template <class T>
BlockFunction<T> Compile(const BlockKey& key, const Gemm& gemm) {
  const auto m = static_cast<libxsmm_blasint>(key.sizes.rows);
  const auto n = static_cast<libxsmm_blasint>(key.sizes.columns);
  const auto k = static_cast<libxsmm_blasint>(key.sizes.depth);
  const auto lda = static_cast<libxsmm_blasint>(gemm.lda);
  const auto ldb = static_cast<libxsmm_blasint>(gemm.ldb);
  const auto ldc = static_cast<libxsmm_blasint>(key.ldc);
  const T alpha = 1;
  const T beta = key.accumulate ? T{1} : T{0};
  const int flags = gemm.trans_b == Transpose::kYes ? LIBXSMM_GEMM_FLAG_TRANS_B : 0;
  const int prefetch = LIBXSMM_GEMM_PREFETCH_NONE;
  if constexpr (std::is_same_v<T, float>) {
    return libxsmm_smmdispatch(m, n, k, &lda, &ldb, &ldc, &alpha, &beta, &flags, &prefetch);
  } else {
    return libxsmm_dmmdispatch(m, n, k, &lda, &ldb, &ldc, &alpha, &beta, &flags, &prefetch);
  }
}

// The one or two sizes that blocks of `block` cut an extent into.
std::vector<int64_t> SizesWithin(int64_t extent, int64_t block) {
  std::vector<int64_t> sizes;
  if (extent >= block) sizes.push_back(block);
  if (extent % block != 0) sizes.push_back(extent % block);
  return sizes;
}

template <class T>
class XsmmKernel final : public ProductKernel {
 public:
  // Null if libxsmm has no code for one of the blocks.
  static std::unique_ptr<const ProductKernel> Create(const Gemm& gemm, BlockSizes block,
                                                     Division division) {
    std::unique_ptr<XsmmKernel> kernel(new XsmmKernel(gemm, block));
    if (!kernel->CompileAll(division)) return nullptr;
    return kernel;
  }

  size_t scratch_bytes() const override { return 0; }
  int64_t row_granule() const override { return std::min(kGranule, block_.rows); }
  int64_t column_granule() const override { return std::min(kGranule / 4, block_.columns); }

  bool Multiply(const MatrixProduct& p, std::byte*) const override {
    for (int64_t j = 0; j < p.n; j += block_.columns) {
      for (int64_t i = 0; i < p.m; i += block_.rows) {
        for (int64_t q = 0; q < p.k; q += block_.depth) MultiplyBlock(p, i, j, q);
      }
    }
    return true;
  }

 private:
  static constexpr int64_t kGranule = 16;

  XsmmKernel(const Gemm& gemm, BlockSizes block) : gemm_(gemm), block_(block) {}

  void MultiplyBlock(const MatrixProduct& p, int64_t i, int64_t j, int64_t q) const {
    const BlockKey key{{std::min(block_.rows, p.m - i), std::min(block_.columns, p.n - j),
                        std::min(block_.depth, p.k - q)},
                       p.ldc,
                       q > 0 || p.beta != 0};
    const T* a = reinterpret_cast<const T*>(p.a) + i + q * p.lda;
    const T* b = reinterpret_cast<const T*>(p.b) + (p.transpose_b ? j + q * p.ldb : q + j * p.ldb);
    T* c = reinterpret_cast<T*>(p.c) + i + j * p.ldc;
    Find(key)(a, b, c);
  }

  BlockFunction<T> Find(const BlockKey& key) const {
    for (const auto& [known, function] : functions_) {
      if (known == key) return function;
    }
    assert(false && "every block size was compiled when the kernel was made");
    return nullptr;
  }

  // The sizes of the parts that the threads get, each with the leading dimension and the beta that
  // it will be called with.
  bool CompileAll(Division division) {
    const int threads = division.threads;
    for (int part = 0; part < threads; ++part) {
      BlockSizes extent{gemm_.m, gemm_.n, gemm_.k};
      int64_t ldc = gemm_.ldc;
      bool accumulate = gemm_.beta == ScalarClass::kOne;
      if (division.split == WorkSplit::kRows) {
        extent.rows = PartOf(gemm_.m, row_granule(), threads, part).size();
      } else if (division.split == WorkSplit::kColumns) {
        extent.columns = PartOf(gemm_.n, column_granule(), threads, part).size();
      } else if (division.split == WorkSplit::kDepth) {
        extent.depth = PartOf(gemm_.k, 1, threads, part).size();
        ldc = part == 0 ? gemm_.ldc : gemm_.m;
        accumulate = accumulate && part == 0;
      }
      if (!CompileFor(extent, ldc, accumulate)) return false;
    }
    return true;
  }

  bool CompileFor(const BlockSizes& extent, int64_t ldc, bool accumulate) {
    for (const int64_t rows : SizesWithin(extent.rows, block_.rows)) {
      for (const int64_t columns : SizesWithin(extent.columns, block_.columns)) {
        for (const int64_t depth : SizesWithin(extent.depth, block_.depth)) {
          const BlockSizes sizes{rows, columns, depth};
          if (!CompileOne({sizes, ldc, accumulate}) || !CompileOne({sizes, ldc, true}))
            return false;
        }
      }
    }
    return true;
  }

  bool CompileOne(const BlockKey& key) {
    const auto known = [&](const auto& entry) { return entry.first == key; };
    if (std::any_of(functions_.begin(), functions_.end(), known)) return true;
    const BlockFunction<T> function = Compile<T>(key, gemm_);
    if (function == nullptr) return false;
    functions_.emplace_back(key, function);
    return true;
  }

  const Gemm gemm_;
  const BlockSizes block_;
  std::vector<std::pair<BlockKey, BlockFunction<T>>> functions_;
};

// The values up to the first that covers `extent`.
Parameter BlockParameter(std::string name, std::vector<int64_t> ascending, int64_t extent) {
  Parameter parameter{std::move(name), {}};
  for (const int64_t value : ascending) {
    parameter.values.emplace_back(value);
    if (value >= extent) break;
  }
  return parameter;
}

class XsmmGemm final : public GemmSolver {
 public:
  explicit XsmmGemm(HostResources resources)
      : GemmSolver("host.libxsmm-gemm",
                   {.description = "Blocks compiled by libxsmm for this very shape, on our threads",
                    .operator_name = "gemm",
                    .dynamic = false,
                    .ieee_special_values = true},
                   resources) {}

 private:
  Status Accepts(const Gemm& gemm) const override {
    if (gemm.trans_a == Transpose::kYes) {
      return Unsupported(fmt::format("{} has no kernels for a transposed A.", Subject()));
    }
    if (gemm.alpha != ScalarClass::kOne || gemm.beta == ScalarClass::kOther) {
      return Unsupported(fmt::format("{} needs alpha to be 1 and beta to be 0 or 1.", Subject()));
    }
    return Status::Ok();
  }

  SpaceDescription Describe(const Gemm& gemm, const Target& target) const override {
    SpaceDescription space = DescribeDivision(target, UsefulSplits(gemm));
    space.parameters.push_back(BlockParameter("block_rows", {64, 128, 256}, gemm.m));
    space.parameters.push_back(BlockParameter("block_columns", {32, 64, 128}, gemm.n));
    space.parameters.push_back(BlockParameter("block_depth", {128, 256, 512}, gemm.k));
    return space;
  }

  Result<std::unique_ptr<const ProductKernel>> MakeKernel(const Gemm& gemm,
                                                          const Config& config) const override {
    const BlockSizes block{IntegerAt(config, "block_rows"), IntegerAt(config, "block_columns"),
                           IntegerAt(config, "block_depth")};
    if (!MayCompileInMemory()) {
      return ResourceExhausted(
          "libxsmm compiles nothing: too little is left of the address space (ulimit -v, ulimit "
          "-d)");
    }
    const Division division = DivisionOf(config);
    auto kernel = gemm.type == DataType::kF32 ? XsmmKernel<float>::Create(gemm, block, division)
                                              : XsmmKernel<double>::Create(gemm, block, division);
    if (kernel == nullptr) {
      return Unsupported(fmt::format("libxsmm has no kernel for blocks of {} x {} x {}.",
                                     block.rows, block.columns, block.depth));
    }
    return kernel;
  }
};

}  // namespace

std::unique_ptr<const Solver> MakeXsmmGemm(HostResources resources) {
  return std::make_unique<XsmmGemm>(resources);
}

LibraryReport ReportXsmm() {
  return FoundLibrary("libxsmm", LIBXSMM_CONFIG_VERSION,
                      fmt::format("{} {}", LIBXSMM_CONFIG_BRANCH, libxsmm_get_target_arch()),
                      "linked into this program");
}

#else

std::unique_ptr<const Solver> MakeXsmmGemm(HostResources) { return nullptr; }

LibraryReport ReportXsmm() {
  return MissingLibrary("libxsmm",
                        "This program was built without it. The Debian package libxsmm-dev brings "
                        "it; build again when it is installed.");
}

#endif

}  // namespace attune::host
