#include "backends/host/conv/candidate_check.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "attune/base/random.h"
#include "attune/ops/conv/conv.h"
#include "attune/ops/gemm/gemm.h"

namespace attune::host {
namespace {

constexpr size_t kGuardBytes = 256;
constexpr unsigned char kGuardPattern = 0xA5;
constexpr size_t kAlignmentBytes = 64;
constexpr double kAlpha = 1.5;
constexpr double kBeta = -0.75;

// A device of which Load() needs nothing.
class BareDevice final : public Device {
 public:
  BareDevice() : target_(TestTarget(2)) {}
  const Target& target() const override { return target_; }
  Result<std::unique_ptr<Buffer>> Allocate(size_t) override { return Refuse(); }
  Status Upload(std::span<const std::byte>, BufferView) override { return Refuse(); }
  Status Download(BufferView, std::span<std::byte>) override { return Refuse(); }
  Status Synchronize() override { return Status::Ok(); }
  Result<double> TimeNs(Executable&, const Arguments&, const TimingRequest&) override {
    return Refuse();
  }
  Status AwaitQuiescence(int64_t) override { return Status::Ok(); }

 private:
  static Status Refuse() { return Unsupported("This device of a test only carries a target."); }
  Target target_;
};

double Load(DataType type, const std::byte* at) {
  switch (type) {
    case DataType::kF64: {
      double value;
      std::memcpy(&value, at, sizeof value);
      return value;
    }
    case DataType::kF32: {
      float value;
      std::memcpy(&value, at, sizeof value);
      return value;
    }
    case DataType::kBf16: {
      uint16_t bits;
      std::memcpy(&bits, at, sizeof bits);
      return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
    }
    case DataType::kI8:
      return static_cast<double>(std::bit_cast<int8_t>(*at));
    case DataType::kI32: {
      int32_t value;
      std::memcpy(&value, at, sizeof value);
      return value;
    }
    default:
      return std::numeric_limits<double>::quiet_NaN();
  }
}

void Store(DataType type, double value, std::byte* at) {
  switch (type) {
    case DataType::kF64:
      std::memcpy(at, &value, sizeof value);
      return;
    case DataType::kF32: {
      const float narrow = static_cast<float>(value);
      std::memcpy(at, &narrow, sizeof narrow);
      return;
    }
    case DataType::kBf16: {
      const uint16_t bits =
          static_cast<uint16_t>(std::bit_cast<uint32_t>(static_cast<float>(value)) >> 16);
      std::memcpy(at, &bits, sizeof bits);
      return;
    }
    case DataType::kI8: {
      const int8_t narrow = static_cast<int8_t>(std::lround(value * 20));
      std::memcpy(at, &narrow, sizeof narrow);
      return;
    }
    case DataType::kI32: {
      const int32_t narrow = static_cast<int32_t>(std::lround(value * 20));
      std::memcpy(at, &narrow, sizeof narrow);
      return;
    }
    default:
      return;
  }
}

// Allocates on cache lines, so that copies are aligned like their originals.
template <class T>
struct LineAllocator {
  using value_type = T;
  LineAllocator() = default;
  template <class U>
  LineAllocator(const LineAllocator<U>&) {}
  T* allocate(size_t count) {
    return static_cast<T*>(::operator new (count * sizeof(T), std::align_val_t{kAlignmentBytes}));
  }
  void deallocate(T* memory, size_t) {
    ::operator delete (memory, std::align_val_t{kAlignmentBytes});
  }
  friend bool operator==(const LineAllocator&, const LineAllocator&) { return true; }
};
using AlignedBytes = std::vector<std::byte, LineAllocator<std::byte>>;

// One operand between two guards.
class GuardedOperand {
 public:
  GuardedOperand(const Operand& operand, Random& random)
      : operand_(operand), size_bytes_(SpanBytes(operand.tensor)) {
    bytes_.assign(size_bytes_ + 2 * kGuardBytes, std::byte{kGuardPattern});
    if (operand.role == OperandRole::kOut) {
      std::fill_n(data(), size_bytes_, std::byte{0xFF});
    } else {
      const size_t element_bytes = SizeBytes(operand.tensor.type);
      for (size_t at = 0; at < size_bytes_; at += element_bytes) {
        Store(operand.tensor.type, 2 * random.Uniform() - 1, data() + at);
      }
    }
    before_ = bytes_;
    const int64_t elements = SpanElements(operand.tensor);
    values_.reserve(static_cast<size_t>(elements));
    for (int64_t i = 0; i < elements; ++i) values_.push_back(Now(i));
  }

  std::byte* data() { return bytes_.data() + kGuardBytes; }
  // The value now, and before the launch.
  double Now(int64_t element) const {
    const DataType type = operand_.tensor.type;
    return Load(type, bytes_.data() + kGuardBytes + static_cast<size_t>(element) * SizeBytes(type));
  }
  double At(int64_t element) const { return values_[static_cast<size_t>(element)]; }
  const TensorDesc& tensor() const { return operand_.tensor; }

  // Empty, or which operand was written where it must not be.
  std::string Complaint() const {
    const bool is_input = operand_.role == OperandRole::kIn;
    const auto end = static_cast<std::ptrdiff_t>(kGuardBytes + size_bytes_);
    const bool intact =
        is_input
            ? bytes_ == before_
            : std::equal(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(kGuardBytes),
                         before_.begin()) &&
                  std::equal(bytes_.begin() + end, bytes_.end(), before_.begin() + end);
    if (intact) return "";
    return fmt::format("operand {} was written {}", operand_.name,
                       is_input ? "although it is an input" : "outside of its bounds");
  }

 private:
  Operand operand_;
  size_t size_bytes_;
  AlignedBytes bytes_, before_;
  std::vector<double> values_;  // Values of before_.
};

// Sums products together with their magnitude, which bounds the rounding error.
struct Sum {
  double value = 0;
  double magnitude = 0;

  void Add(double product) {
    value += product;
    magnitude += std::abs(product);
  }
};

struct Point {
  int64_t channel, d, h, w;
};

int64_t ElementOf(const TensorDesc& tensor, int64_t outer, const Point& at) {
  int64_t element = outer * tensor.strides[0] + at.channel * tensor.strides[1];
  const size_t rank = tensor.strides.size();
  element += at.w * tensor.strides[rank - 1] + at.h * tensor.strides[rank - 2];
  if (rank == 5) element += at.d * tensor.strides[2];
  return element;
}

using GuardedOperands = std::vector<GuardedOperand>;

// Calls visit(n, k, c, x point, w point, y point) for every product of a plain convolution.
template <class Visit>
void VisitProducts(const Conv& conv, const Visit& visit) {
  const Spatial out = OutputExtent(conv);
  const int64_t per_group_in = conv.in_channels / conv.groups;
  const int64_t per_group_out = conv.out_channels / conv.groups;
  const auto each = [](const Spatial& extents, const auto& body) {
    for (int64_t d = 0; d < extents[0]; ++d) {
      for (int64_t h = 0; h < extents[1]; ++h) {
        for (int64_t w = 0; w < extents[2]; ++w) body(Spatial{d, h, w});
      }
    }
  };
  for (int64_t n = 0; n < conv.batch; ++n) {
    for (int64_t k = 0; k < conv.out_channels; ++k) {
      each(out, [&](const Spatial& o) {
        each(conv.filter, [&](const Spatial& f) {
          Spatial i;
          for (size_t s = 0; s < 3; ++s) {
            i[s] = o[s] * conv.stride[s] + f[s] * conv.dilation[s] - conv.pad[s];
            if (i[s] < 0 || i[s] >= conv.in[s]) return;
          }
          for (int64_t c = 0; c < per_group_in; ++c) {
            const int64_t channel = k / per_group_out * per_group_in + c;
            visit(n, k, Point{channel, i[0], i[1], i[2]}, Point{c, f[0], f[1], f[2]},
                  Point{k, o[0], o[1], o[2]});
          }
        });
      });
    }
  }
}

std::vector<Sum> NaiveConv(const Conv& conv, const GuardedOperands& operands) {
  const TensorDesc& output = operands.back().tensor();
  std::vector<Sum> sums(static_cast<size_t>(SpanElements(output)));
  const auto sum_at = [&](int64_t element) -> Sum& { return sums[static_cast<size_t>(element)]; };
  if (conv.bias) {
    for (size_t i = 0; i < sums.size(); ++i) {
      const int64_t element = static_cast<int64_t>(i);
      sums[i].Add(operands[2].At(element / output.strides[1] % conv.out_channels));
    }
  }
  const auto value = [&](size_t operand, int64_t outer, const Point& at) {
    return operands[operand].At(ElementOf(operands[operand].tensor(), outer, at));
  };
  VisitProducts(conv, [&](int64_t n, int64_t k, const Point& x, const Point& w, const Point& y) {
    switch (conv.direction) {
      case ConvDirection::kForward:
        return sum_at(ElementOf(output, n, y)).Add(value(0, n, x) * value(1, k, w));
      case ConvDirection::kBackwardData:
        return sum_at(ElementOf(output, n, x)).Add(value(0, n, y) * value(1, k, w));
      case ConvDirection::kBackwardWeights:
        return sum_at(ElementOf(output, k, w)).Add(value(0, n, x) * value(1, n, y));
    }
  });
  return sums;
}

double Activated(Activation activation, double value) {
  switch (activation) {
    case Activation::kNone:
      return value;
    case Activation::kRelu:
      return std::max(0.0, value);
    case Activation::kGelu:
      return 0.5 * value * (1 + std::erf(value / std::sqrt(2.0)));
    case Activation::kTanh:
      return std::tanh(value);
    case Activation::kSigmoid:
      return 1 / (1 + std::exp(-value));
  }
  return value;
}

double ScalarOf(ScalarClass scalar, double other) {
  if (scalar == ScalarClass::kOther) return other;
  return scalar == ScalarClass::kOne ? 1 : 0;
}

Sum NaiveElement(const Gemm& gemm, const GuardedOperands& operands, int64_t batch, int64_t i,
                 int64_t j) {
  Sum products;
  for (int64_t p = 0; p < gemm.k; ++p) {
    const int64_t a = gemm.trans_a == Transpose::kNo ? i + p * gemm.lda : p + i * gemm.lda;
    const int64_t b = gemm.trans_b == Transpose::kNo ? p + j * gemm.ldb : j + p * gemm.ldb;
    products.Add(operands[0].At(batch * gemm.stride_a + a) *
                 operands[1].At(batch * gemm.stride_b + b));
  }
  const double alpha = ScalarOf(gemm.alpha, kAlpha);
  const double beta = ScalarOf(gemm.beta, kBeta);
  Sum sum{alpha * products.value, std::abs(alpha) * products.magnitude};
  if (beta != 0) {
    sum.Add(beta * operands.back().At(batch * gemm.stride_c + i + j * gemm.ldc));
  }
  if (gemm.bias != Bias::kNone) sum.Add(operands[2].At(gemm.bias == Bias::kPerRow ? i : j));
  sum.value = Activated(gemm.activation, sum.value);
  return sum;
}

// Elements in the gaps of a leading dimension keep a magnitude of 0 and are not compared.
std::vector<Sum> NaiveGemm(const Gemm& gemm, const GuardedOperands& operands) {
  std::vector<Sum> sums(static_cast<size_t>(SpanElements(operands.back().tensor())));
  for (int64_t batch = 0; batch < gemm.batch_count; ++batch) {
    for (int64_t j = 0; j < gemm.n; ++j) {
      for (int64_t i = 0; i < gemm.m; ++i) {
        sums[static_cast<size_t>(batch * gemm.stride_c + i + j * gemm.ldc)] =
            NaiveElement(gemm, operands, batch, i, j);
      }
    }
  }
  return sums;
}

}  // namespace

// Operands before the launch, and the output after it.
struct CandidateCheck::Round {
  GuardedOperands operands;
  std::vector<Sum> sums;
};

namespace {

void Compare(const GuardedOperands& operands, const std::vector<Sum>& sums, bool has_gaps,
             CheckOutcome& outcome) {
  for (size_t i = 0; i < sums.size(); ++i) {
    const double got = operands.back().Now(static_cast<int64_t>(i));
    if (has_gaps && sums[i].magnitude == 0) continue;
    if (!std::isfinite(got)) {
      outcome.complaint = fmt::format("element {} of the output is {}", i, got);
      return;
    }
    const double error = std::abs(got - sums[i].value) / std::max(sums[i].magnitude, 1e-6);
    outcome.worst_error = std::max(outcome.worst_error, error);
  }
  for (const GuardedOperand& operand : operands) {
    if (outcome.complaint.empty()) outcome.complaint = operand.Complaint();
  }
}

// A guarded buffer full of NaN.
GuardedOperand MakeWorkspace(size_t size_bytes) {
  Random unused(0);
  const int64_t extent = std::max<int64_t>(static_cast<int64_t>(size_bytes), 1);
  return {{"workspace", OperandRole::kOut, {DataType::kI8, {extent}, {1}}}, unused};
}

}  // namespace

CandidateCheck::CandidateCheck(const Problem& problem, uint64_t seed) : problem_(problem) {
  for (uint64_t round = 0; round < 2; ++round) {
    Random random(seed + round);
    Round& added = rounds_.emplace_back();
    for (const Operand& operand : Operands(problem)) added.operands.emplace_back(operand, random);
    const Conv* conv = problem.As<Conv>();
    added.sums =
        conv ? NaiveConv(*conv, added.operands) : NaiveGemm(problem.Get<Gemm>(), added.operands);
  }
}

CandidateCheck::~CandidateCheck() = default;

CheckOutcome CandidateCheck::Run(const Solver& solver, const Config& config) const {
  BareDevice device;
  CheckOutcome outcome;
  auto executable = solver.Load(Artifact(), problem_, config, device);
  if (!executable.ok()) {
    outcome.complaint = executable.error().ToString();
    return outcome;
  }
  for (const Round& round : rounds_) {
    GuardedOperands operands = round.operands;
    GuardedOperand workspace = MakeWorkspace((*executable)->workspace_bytes());
    std::vector<BufferView> views;
    for (GuardedOperand& operand : operands) views.push_back({operand.data(), 0});
    const Status status = (*executable)
                              ->Run({.operands = views,
                                     .workspace = {workspace.data(), 0},
                                     .alpha = kAlpha,
                                     .beta = kBeta});
    if (!status.ok()) outcome.complaint = status.ToString();
    if (outcome.complaint.empty()) {
      Compare(operands, round.sums, problem_.Is<Gemm>(), outcome);
    }
    if (outcome.complaint.empty()) outcome.complaint = workspace.Complaint();
    if (!outcome.complaint.empty()) break;
  }
  return outcome;
}

Target TestTarget(int compute_units) { return {"host", "test", "x86-64-v4", compute_units, {}}; }

}  // namespace attune::host
