#include "tests/conformance/backend/special_products.h"

#include <array>
#include <cfloat>
#include <cmath>
#include <limits>
#include <memory>
#include <span>

#include <fmt/format.h>

#include "attune/base/element.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/problem/problem.h"

namespace attune {
namespace {

constexpr std::array kExtents = {1,  2,  3,  4,  5,  6,  7,  8,  9,  12,  13,  15,  16,
                                 17, 23, 31, 32, 33, 48, 51, 64, 65, 100, 129, 200, 257};

template <size_t N>
int64_t OneOf(Random& random, const std::array<int, N>& values) {
  return values[random.Below(N)];
}

double LeastNormal(DataType type) { return type == DataType::kF32 ? FLT_MIN : DBL_MIN; }

std::vector<std::byte> Encoded(const std::vector<double>& values, DataType type) {
  std::vector<std::byte> bytes(values.size() * SizeBytes(type));
  for (size_t i = 0; i < values.size(); ++i) Encode(type, values[i], &bytes[i * SizeBytes(type)]);
  return bytes;
}

}  // namespace

SpecialProduct::SpecialProduct(Random& random, DataType type, SpecialContent content)
    : content_(content) {
  const auto flag = [&] { return random.Below(2) == 1; };
  Gemm& g = gemm_;
  g.type = g.c_type = type;
  g.m = OneOf(random, kExtents);
  g.n = random.Below(4) == 0 ? 1 : OneOf(random, kExtents);
  g.k = OneOf(random, kExtents);
  g.trans_a = flag() ? Transpose::kYes : Transpose::kNo;
  g.trans_b = flag() ? Transpose::kYes : Transpose::kNo;
  g.lda = (g.trans_a == Transpose::kNo ? g.m : g.k) + (flag() ? 0 : 3);
  g.ldb = (g.trans_b == Transpose::kNo ? g.k : g.n) + (flag() ? 0 : 3);
  g.ldc = g.m + (flag() ? 0 : 5);
  constexpr std::array kClasses = {ScalarClass::kZero, ScalarClass::kOne, ScalarClass::kOther};
  g.alpha = kClasses[1 + random.Below(2)];
  g.beta = content == SpecialContent::kDenormal ? ScalarClass::kZero : kClasses[random.Below(3)];
  alpha_ = g.alpha == ScalarClass::kOne ? 1 : -0.5;
  beta_ = g.beta == ScalarClass::kZero ? 0 : g.beta == ScalarClass::kOne ? 1 : 2;
  if (content == SpecialContent::kNonFinite) {
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    if (g.alpha == ScalarClass::kOther && random.Below(8) == 0) alpha_ = kNan;
    if (g.beta == ScalarClass::kOther && random.Below(3) == 0) beta_ = kNan;
  }
  g.alignment_bytes = static_cast<int>(SizeBytes(type));

  a_.resize(static_cast<size_t>(g.lda * (g.trans_a == Transpose::kNo ? g.k : g.m)));
  b_.resize(static_cast<size_t>(g.ldb * (g.trans_b == Transpose::kNo ? g.n : g.k)));
  c_.resize(static_cast<size_t>(g.ldc * g.n));
  // Both small, or one is small and the other makes up for it.
  const double small = LeastNormal(type) / 64;
  const bool is_made_up = flag();
  const double of_a = content == SpecialContent::kNonFinite ? 1 : small;
  const double of_b =
      is_made_up && content == SpecialContent::kDenormal ? 1 / LeastNormal(type) : 1;
  for (double& value : a_) value = of_a * static_cast<double>(random.Below(9) + 1);
  for (double& value : b_) value = of_b * static_cast<double>(random.Below(3) + 1) / 4;
  for (double& value : c_) value = static_cast<double>(random.Below(9)) - 4;
  if (content == SpecialContent::kDenormal) return;
  constexpr std::array kValues = {std::numeric_limits<double>::quiet_NaN(),
                                  std::numeric_limits<double>::infinity(),
                                  -std::numeric_limits<double>::infinity()};
  const auto plant = [&](std::vector<double>& values) {
    for (double& value : values) {
      if (random.Below(3) == 0) value = 0;
    }
    for (uint64_t i = random.Below(4); i > 0; --i) {
      values[random.Below(values.size())] = kValues[random.Below(kValues.size())];
    }
  };
  plant(a_);
  plant(b_);
  if (beta_ != 0) {
    plant(c_);
  } else {
    for (double& value : c_) value = kValues[0];
  }
}

double SpecialProduct::AtA(int64_t i, int64_t l) const {
  return a_[static_cast<size_t>(gemm_.trans_a == Transpose::kNo ? i + l * gemm_.lda
                                                                : l + i * gemm_.lda)];
}

double SpecialProduct::AtB(int64_t l, int64_t j) const {
  return b_[static_cast<size_t>(gemm_.trans_b == Transpose::kNo ? l + j * gemm_.ldb
                                                                : j + l * gemm_.ldb)];
}

Result<std::optional<std::string>> SpecialProduct::Try(Executable& executable,
                                                       Device& device) const {
  const std::array contents = {Encoded(a_, gemm_.type), Encoded(b_, gemm_.type),
                               Encoded(c_, gemm_.type)};
  std::vector<std::unique_ptr<Buffer>> buffers;
  std::vector<BufferView> views;
  for (const auto& content : contents) {
    ATTUNE_ASSIGN_OR_RETURN(auto buffer, device.Allocate(content.size()));
    ATTUNE_RETURN_IF_ERROR(device.Upload(content, buffer->View(0)));
    views.push_back(buffer->View(0));
    buffers.push_back(std::move(buffer));
  }
  Arguments arguments;
  arguments.operands = views;
  arguments.alpha = alpha_;
  arguments.beta = beta_;
  if (executable.workspace_bytes() > 0) {
    ATTUNE_ASSIGN_OR_RETURN(auto workspace, device.Allocate(executable.workspace_bytes()));
    arguments.workspace = workspace->View(0);
    buffers.push_back(std::move(workspace));
  }
  ATTUNE_RETURN_IF_ERROR(executable.Run(arguments));
  ATTUNE_RETURN_IF_ERROR(device.Synchronize());
  std::vector<std::byte> c(contents[2].size());
  ATTUNE_RETURN_IF_ERROR(device.Download(views[2], c));
  return Compare(c);
}

std::optional<std::string> SpecialProduct::Compare(const std::vector<std::byte>& c) const {
  const double least =
      LeastNormal(gemm_.type) * (gemm_.type == DataType::kF32 ? FLT_EPSILON : DBL_EPSILON);
  for (int64_t j = 0; j < gemm_.n; ++j) {
    for (int64_t i = 0; i < gemm_.m; ++i) {
      // In extended precision and range: denormal products of f64 are not rounded.
      long double right = 0;
      for (int64_t l = 0; l < gemm_.k; ++l) {
        right += static_cast<long double>(AtA(i, l)) * static_cast<long double>(AtB(l, j));
      }
      right *= static_cast<long double>(alpha_);
      if (beta_ != 0) {
        right += static_cast<long double>(beta_) *
                 static_cast<long double>(c_[static_cast<size_t>(i + j * gemm_.ldc)]);
      }
      const double actual = DecodeElement(gemm_.type, c.data(), i + j * gemm_.ldc);
      bool is_right = actual == static_cast<double>(right);
      if (std::isnan(right)) is_right = std::isnan(actual);
      if (std::isfinite(right)) {
        const auto slack =
            static_cast<double>(std::abs(right)) * 1e-4 +
            (content_ == SpecialContent::kDenormal ? 2 * least * static_cast<double>(gemm_.k)
                                                   : 1e-9);
        is_right = std::abs(actual - static_cast<double>(right)) <= slack;
      }
      if (is_right) continue;
      return fmt::format("{} with alpha {} and beta {}: C({}, {}) is {:.9g} instead of {:.9g}",
                         Text(Problem(gemm_)), alpha_, beta_, i, j, actual,
                         static_cast<double>(right));
    }
  }
  return std::nullopt;
}

}  // namespace attune
