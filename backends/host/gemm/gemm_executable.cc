#include "backends/host/gemm/gemm_executable.h"

#include <cassert>
#include <utility>

#include <fmt/format.h>

#include "attune/ops/gemm/gemm.h"
#include "attune/problem/problem.h"

namespace attune::host {
namespace {

constexpr size_t kLineBytes = 64;

size_t WholeLines(size_t bytes) { return (bytes + kLineBytes - 1) / kLineBytes * kLineBytes; }

int PartsOf(Division division) {
  const bool ours = division.split != WorkSplit::kNone && division.split != WorkSplit::kLibrary;
  return ours ? division.threads : 1;
}

std::byte* Address(const BufferView& view) {
  return static_cast<std::byte*>(view.handle) + view.offset_bytes;
}

MatrixProduct ShapeOf(const Gemm& gemm) {
  MatrixProduct shape;
  shape.m = gemm.m;
  shape.n = gemm.n;
  shape.k = gemm.k;
  shape.transpose_a = gemm.trans_a == Transpose::kYes;
  shape.transpose_b = gemm.trans_b == Transpose::kYes;
  shape.lda = gemm.lda;
  shape.ldb = gemm.ldb;
  shape.ldc = gemm.ldc;
  shape.alpha = gemm.alpha == ScalarClass::kZero ? 0 : 1;
  shape.beta = gemm.beta == ScalarClass::kZero ? 0 : 1;
  return shape;
}

bool HasEpilogue(const Gemm& gemm) {
  return gemm.bias != Bias::kNone || gemm.activation != Activation::kNone;
}

template <class T>
const T* BiasFrom(const std::byte* bias, int64_t first) {
  return bias == nullptr ? nullptr : reinterpret_cast<const T*>(bias) + first;
}

template <class T>
EpilogueCall<T> EpilogueOf(const Gemm& gemm, const std::byte* bias, const MatrixProduct& product,
                           IndexRange rows, IndexRange columns) {
  T* c = reinterpret_cast<T*>(product.c) + rows.begin + columns.begin * product.ldc;
  return {rows.size(),
          columns.size(),
          c,
          product.ldc,
          gemm.bias == Bias::kPerRow ? BiasFrom<T>(bias, rows.begin) : nullptr,
          gemm.bias == Bias::kPerColumn ? BiasFrom<T>(bias, columns.begin) : nullptr,
          static_cast<int>(gemm.activation)};
}

}  // namespace

struct GemmExecutable::Operands {
  const std::byte* a;
  const std::byte* b;
  const std::byte* bias;  // Null if there is none.
  std::byte* c;
  std::byte* workspace;
  double alpha, beta;
};

GemmExecutable::GemmExecutable(const Gemm& gemm, std::unique_ptr<const ProductKernel> kernel,
                               Division division, HostResources resources)
    : gemm_(gemm),
      shape_(ShapeOf(gemm)),
      kernel_(std::move(kernel)),
      split_(division.split),
      parts_(PartsOf(division)),
      is_one_product_(gemm.batch_count == 1 && parts_ == 1 && !HasEpilogue(gemm)),
      resources_(resources),
      element_bytes_(SizeBytes(gemm.type)),
      scratch_bytes_(WholeLines(kernel_->scratch_bytes())),
      partial_sum_bytes_(split_ == WorkSplit::kDepth
                             ? WholeLines(static_cast<size_t>(gemm.m) *
                                          static_cast<size_t>(gemm.n) * SizeBytes(gemm.type))
                             : 0) {
  assert(gemm.type == gemm.c_type);
  assert(gemm.type == DataType::kF32 || gemm.type == DataType::kF64);
}

size_t GemmExecutable::workspace_bytes() const {
  const auto parts = static_cast<size_t>(parts_);
  return parts * scratch_bytes_ + (parts - 1) * partial_sum_bytes_;
}

Status GemmExecutable::Run(const Arguments& arguments) {
  if (!is_one_product_) return RunInParts(arguments);
  MatrixProduct product = shape_;
  product.a = Address(arguments.operands[0]);
  product.b = Address(arguments.operands[1]);
  product.c = Address(arguments.operands[2]);
  if (gemm_.alpha == ScalarClass::kOther) product.alpha = arguments.alpha;
  if (gemm_.beta == ScalarClass::kOther) product.beta = arguments.beta;
  return kernel_->Multiply(product, Address(arguments.workspace)) ? Status::Ok() : OutOfResources();
}

Status GemmExecutable::RunInParts(const Arguments& arguments) const {
  if (!kernel_->IsReady()) return OutOfResources();
  const Operands operands = Bind(arguments);
  std::atomic<bool> failed{false};
  switch (split_) {
    case WorkSplit::kNone:
    case WorkSplit::kLibrary:
    case WorkSplit::kBatch:
      RunByItem(operands, failed);
      break;
    case WorkSplit::kRows:
    case WorkSplit::kColumns:
      RunSliced(operands, failed);
      break;
    case WorkSplit::kDepth:
      RunByDepth(operands, failed);
      break;
  }
  return failed.load() ? OutOfResources() : Status::Ok();
}

Status GemmExecutable::OutOfResources() const {
  return ResourceExhausted(
      fmt::format("cannot compute {}: the limits of this process leave too few threads, or too "
                  "little memory, for the library",
                  Text(Problem(gemm_))));
}

GemmExecutable::Operands GemmExecutable::Bind(const Arguments& arguments) const {
  const bool has_bias = gemm_.bias != Bias::kNone;
  assert(arguments.operands.size() == (has_bias ? 4u : 3u));
  return {Address(arguments.operands[0]),
          Address(arguments.operands[1]),
          has_bias ? Address(arguments.operands[2]) : nullptr,
          Address(arguments.operands.back()),
          Address(arguments.workspace),
          gemm_.alpha == ScalarClass::kOther ? arguments.alpha : shape_.alpha,
          gemm_.beta == ScalarClass::kOther ? arguments.beta : shape_.beta};
}

MatrixProduct GemmExecutable::ProductOf(const Operands& operands, int64_t item) const {
  const auto bytes = static_cast<int64_t>(element_bytes_);
  MatrixProduct product = shape_;
  product.a = operands.a + item * gemm_.stride_a * bytes;
  product.b = operands.b + item * gemm_.stride_b * bytes;
  product.c = operands.c + item * gemm_.stride_c * bytes;
  product.alpha = operands.alpha;
  product.beta = operands.beta;
  return product;
}

std::byte* GemmExecutable::ScratchOf(const Operands& operands, int part) const {
  return operands.workspace + static_cast<size_t>(part) * scratch_bytes_;
}

// Whole products, those of the batch dealt out to the parts.
void GemmExecutable::RunByItem(const Operands& operands, std::atomic<bool>& failed) const {
  resources_.pool->Run(parts_, [&](int part) {
    const IndexRange items = PartOf(gemm_.batch_count, 1, parts_, part);
    for (int64_t item = items.begin; item < items.end; ++item) {
      const MatrixProduct product = ProductOf(operands, item);
      if (!kernel_->Multiply(product, ScratchOf(operands, part))) failed = true;
      Finish(operands, product, {0, gemm_.m}, {0, gemm_.n});
    }
  });
}

// Every part does its rows or columns of all products, and finishes them while they are in its
// cache.
void GemmExecutable::RunSliced(const Operands& operands, std::atomic<bool>& failed) const {
  const bool by_rows = split_ == WorkSplit::kRows;
  resources_.pool->Run(parts_, [&](int part) {
    const IndexRange rows =
        by_rows ? PartOf(gemm_.m, kernel_->row_granule(), parts_, part) : IndexRange{0, gemm_.m};
    const IndexRange columns =
        by_rows ? IndexRange{0, gemm_.n} : PartOf(gemm_.n, kernel_->column_granule(), parts_, part);
    if (rows.size() == 0 || columns.size() == 0) return;
    for (int64_t item = 0; item < gemm_.batch_count; ++item) {
      const MatrixProduct product = ProductOf(operands, item);
      const MatrixProduct slice = by_rows
                                      ? RowsOf(product, rows, element_bytes_, element_bytes_)
                                      : ColumnsOf(product, columns, element_bytes_, element_bytes_);
      if (!kernel_->Multiply(slice, ScratchOf(operands, part))) failed = true;
      Finish(operands, product, rows, columns);
    }
  });
}

// The first part writes C, the others sums of their own, which are then added in a fixed order, so
// two runs agree bit for bit.
void GemmExecutable::RunByDepth(const Operands& operands, std::atomic<bool>& failed) const {
  for (int64_t item = 0; item < gemm_.batch_count; ++item) {
    const MatrixProduct product = ProductOf(operands, item);
    resources_.pool->Run(parts_, [&](int part) {
      const IndexRange depth = PartOf(gemm_.k, 1, parts_, part);
      MatrixProduct slice = DepthOf(product, depth, element_bytes_);
      if (part > 0) {
        slice.c = operands.workspace + static_cast<size_t>(parts_) * scratch_bytes_ +
                  static_cast<size_t>(part - 1) * partial_sum_bytes_;
        slice.ldc = gemm_.m;
        slice.beta = 0;
      }
      if (!kernel_->Multiply(slice, ScratchOf(operands, part))) failed = true;
    });
    resources_.pool->Run(parts_, [&](int part) {
      const IndexRange columns = PartOf(gemm_.n, 1, parts_, part);
      AddPartialSums(product, operands, columns);
      Finish(operands, product, {0, gemm_.m}, columns);
    });
  }
}

void GemmExecutable::AddPartialSums(const MatrixProduct& product, const Operands& operands,
                                    IndexRange columns) const {
  const auto bytes = static_cast<int64_t>(element_bytes_);
  const std::byte* sums = operands.workspace + static_cast<size_t>(parts_) * scratch_bytes_;
  for (int64_t j = columns.begin; j < columns.end; ++j) {
    std::byte* to = product.c + j * product.ldc * bytes;
    for (int part = 1; part < parts_; ++part) {
      const std::byte* from =
          sums + static_cast<size_t>(part - 1) * partial_sum_bytes_ + j * product.m * bytes;
      if (gemm_.type == DataType::kF32) {
        resources_.kernels->add_f32(reinterpret_cast<float*>(to),
                                    reinterpret_cast<const float*>(from), product.m);
      } else {
        resources_.kernels->add_f64(reinterpret_cast<double*>(to),
                                    reinterpret_cast<const double*>(from), product.m);
      }
    }
  }
}

void GemmExecutable::Finish(const Operands& operands, const MatrixProduct& product, IndexRange rows,
                            IndexRange columns) const {
  if (!HasEpilogue(gemm_)) return;
  if (gemm_.type == DataType::kF32) {
    resources_.kernels->epilogue_f32(
        EpilogueOf<float>(gemm_, operands.bias, product, rows, columns));
  } else {
    resources_.kernels->epilogue_f64(
        EpilogueOf<double>(gemm_, operands.bias, product, rows, columns));
  }
}

}  // namespace attune::host
