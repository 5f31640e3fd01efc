#include "backends/host/conv/gemm_conv_executable.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "attune/ops/conv/conv.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/problem/problem.h"
#include "backends/host/conv/tap_conv.h"

namespace attune::host {
namespace {

constexpr size_t kLineBytes = 64;

size_t RoundUp(size_t bytes) { return (bytes + kLineBytes - 1) / kLineBytes * kLineBytes; }

// True if the sum over output pixels runs over several units.
bool Accumulates(const Conv& conv, const GemmUnit& unit) {
  return conv.direction == ConvDirection::kBackwardWeights &&
         (unit.first_image > 0 || unit.first_row > 0);
}

}  // namespace

Result<Config> ProductConfig(const Solver& gemm, const Gemm& product, const Target& target,
                             int threads) {
  ATTUNE_ASSIGN_OR_RETURN(const Config first, gemm.DefaultConfig(product, target));
  if (!first.contains("threads") || IntegerAt(first, "threads") == threads) return first;
  ATTUNE_ASSIGN_OR_RETURN(const ConfigSpace space, gemm.Space(product, target));
  // Not the default with another "threads" in it: rules tie that to other parameters, so that the
  // result need not be valid.
  std::optional<Config> best;
  int64_t best_threads = 0;
  for (uint64_t i = 0; i < space.size() && best_threads < threads; ++i) {
    Config config = space.At(i);
    const int64_t used = IntegerAt(config, "threads");
    if (used > threads || used <= best_threads) continue;
    best_threads = used;
    best = std::move(config);
  }
  if (best.has_value()) return *std::move(best);
  return Unsupported(fmt::format("Solver {} computes {} on {} threads at least, not on {}.",
                                 Text(gemm.id()), Text(Problem(product)),
                                 IntegerAt(first, "threads"), threads));
}

GemmConvExecutable::GemmConvExecutable(const Conv& conv, GemmConvPlan plan, int threads,
                                       ThreadPool& pool)
    : conv_(conv),
      plan_(std::move(plan)),
      threads_(threads),
      pool_(pool),
      element_bytes_(SizeBytes(conv.type)),
      columns_bytes_(RoundUp(static_cast<size_t>(plan_.column_elements()) * element_bytes_)) {}

Status GemmConvExecutable::LoadProducts(const Solver& gemm, Device& device) {
  for (const GemmUnit& unit : plan_.units()) {
    const ProductKey key{unit.rows, Accumulates(conv_, unit)};
    if (products_.contains(key)) continue;
    const MatrixCall call = plan_.ProductOf(unit, key.second);
    ATTUNE_ASSIGN_OR_RETURN(const Config config,
                            ProductConfig(gemm, call.gemm, device.target(), threads_));
    ATTUNE_ASSIGN_OR_RETURN(std::unique_ptr<Executable> executable,
                            gemm.Load(Artifact(), call.gemm, config, device));
    product_bytes_ = std::max(product_bytes_, executable->workspace_bytes());
    products_[key] = {call.swapped, std::move(executable)};
  }
  return Status::Ok();
}

bool GemmConvExecutable::is_concurrent() const {
  return std::all_of(products_.begin(), products_.end(), [](const auto& product) {
    return product.second.executable->is_concurrent();
  });
}

GemmConvExecutable::Call GemmConvExecutable::CallOf(const Arguments& arguments) const {
  const ConvRoles roles = RolesOf(conv_);
  const auto address = [](const BufferView& view) {
    return static_cast<std::byte*>(view.handle) + view.offset_bytes;
  };
  Call call;
  call.x = address(arguments.operands[roles.x]);
  call.w = address(arguments.operands[roles.w]);
  call.y = address(arguments.operands[roles.y]);
  if (conv_.bias) call.bias = address(arguments.operands[roles.bias]);
  if (workspace_bytes() > 0) {
    call.columns = address(arguments.workspace);
    call.product_workspace = {call.columns + columns_bytes_, 0};
  }
  return call;
}

Status GemmConvExecutable::Run(const Arguments& arguments) {
  const Call call = CallOf(arguments);
  if (conv_.direction == ConvDirection::kBackwardData && !plan_.direct()) ClearInput(call);
  for (const GemmUnit& unit : plan_.units()) {
    for (int64_t group = 0; group < conv_.groups; ++group) {
      ATTUNE_RETURN_IF_ERROR(RunUnit(call, unit, group));
    }
  }
  if (!conv_.bias) return Status::Ok();
  if (conv_.type == DataType::kF64) {
    AddBias<double>(call);
  } else {
    AddBias<float>(call);
  }
  return Status::Ok();
}

Status GemmConvExecutable::RunUnit(const Call& call, const GemmUnit& unit, int64_t group) {
  const bool scatters = conv_.direction == ConvDirection::kBackwardData;
  if (!plan_.direct() && !scatters) MoveColumns(call, unit, group);
  ATTUNE_RETURN_IF_ERROR(Multiply(call, unit, group));
  if (!plan_.direct() && scatters) MoveColumns(call, unit, group);
  return Status::Ok();
}

Status GemmConvExecutable::Multiply(const Call& call, const GemmUnit& unit, int64_t group) {
  const auto at = [&](std::byte* base, int64_t offset) {
    return BufferView{base + offset * static_cast<int64_t>(element_bytes_), 0};
  };
  const BufferView input =
      plan_.direct() ? at(call.x, plan_.InputOffset(unit, group)) : BufferView{call.columns, 0};
  const BufferView output = at(call.y, plan_.OutputOffset(unit, group));
  const BufferView weights = at(call.w, plan_.WeightsOffset(group));
  std::array<BufferView, 3> operands;
  switch (conv_.direction) {
    case ConvDirection::kForward:
      operands = {weights, input, output};
      break;
    case ConvDirection::kBackwardData:
      operands = {weights, output, input};
      break;
    case ConvDirection::kBackwardWeights:
      operands = {output, input, weights};
      break;
  }
  const bool accumulates = Accumulates(conv_, unit);
  const Product& product = products_.at({unit.rows, accumulates});
  if (product.swapped) std::swap(operands[0], operands[1]);
  return product.executable->Run({.operands = operands,
                                  .workspace = call.product_workspace,
                                  .alpha = 1,
                                  .beta = accumulates ? 1.0 : 0.0});
}

void GemmConvExecutable::MoveColumns(const Call& call, const GemmUnit& unit, int64_t group) {
  switch (element_bytes_) {
    case 8:
      return MoveColumnsAs<double>(call, unit, group);
    case 4:
      return MoveColumnsAs<float>(call, unit, group);
    default:
      return MoveColumnsAs<uint16_t>(call, unit, group);
  }
}

// Threads take rows of outputs where a row of the matrix is a pixel, and channels where it is a
// weight; scattering always goes by channels, because rows of outputs meet in the same inputs.
template <class T>
void GemmConvExecutable::MoveColumnsAs(const Call& call, const GemmUnit& unit, int64_t group) {
  const ColumnsForm& form = plan_.columns();
  const bool scatters = conv_.direction == ConvDirection::kBackwardData;
  const bool by_rows = !scatters && !form.pixels_adjacent;
  const int64_t pixels = unit.rows * form.conv.y.extents[2];
  T* const x = reinterpret_cast<T*>(call.x) + plan_.InputOffset(unit, group);
  T* const columns = reinterpret_cast<T*>(call.columns);
  pool_.Run(threads_, [&](int part_index) {
    ColumnsPart part{unit.first_row, unit.rows, 0, form.conv.in_channels, pixels};
    const WorkRange share = ShareOf(by_rows ? part.rows : part.channels, part_index, threads_);
    (by_rows ? part.rows : part.channels) = share.end - share.begin;
    (by_rows ? part.first_row : part.first_channel) += share.begin;
    const int64_t skipped = by_rows ? share.begin * form.conv.y.extents[2] * form.depth() : 0;
    for (int64_t image = 0; image < unit.images; ++image) {
      T* const to = columns + image * pixels * form.depth() + skipped;
      T* const from = x + image * form.conv.x.outer_stride;
      if constexpr (sizeof(T) >= sizeof(float)) {
        if (scatters) {
          ScatterColumns<T>(form, part, to, from);
          continue;
        }
      }
      GatherColumns<T>(form, part, from, to);
    }
  });
}

void GemmConvExecutable::ClearInput(const Call& call) {
  const int64_t bytes =
      conv_.batch * plan_.columns().conv.x.outer_stride * static_cast<int64_t>(element_bytes_);
  pool_.Run(threads_, [&](int part) {
    const WorkRange share = ShareOf(bytes, part, threads_);
    std::memset(call.x + share.begin, 0, static_cast<size_t>(share.end - share.begin));
  });
}

template <class T>
void GemmConvExecutable::AddBias(const Call& call) {
  const TensorForm& y = plan_.columns().conv.y;
  const int64_t pixels = y.Volume();
  pool_.Run(threads_, [&](int part) {
    const WorkRange share = ShareOf(conv_.batch, part, threads_);
    for (int64_t n = share.begin; n < share.end; ++n) {
      for (int64_t k = 0; k < conv_.out_channels; ++k) {
        const T bias = reinterpret_cast<const T*>(call.bias)[k];
        T* to = reinterpret_cast<T*>(call.y) + n * y.outer_stride + k * y.channel_stride;
        for (int64_t p = 0; p < pixels; ++p) to[p * y.strides[2]] += bias;
      }
    }
  });
}

}  // namespace attune::host
