// Products with NaN, infinities, matching zeros and a denormal number, mainly at the borders of A
// and B, and in C if beta is not 0.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "attune/base/element.h"
#include "attune/ops/gemm/gemm_operator.h"

namespace attune {
namespace {

constexpr double kPlusInfinity = std::numeric_limits<double>::infinity();
constexpr std::array<double, 3> kSpecial = {std::numeric_limits<double>::quiet_NaN(), kPlusInfinity,
                                            -kPlusInfinity};
// From this many lines on, one run can plant all lines of A and B.
constexpr int64_t kManyLines = 8;
// The number of rows of C that are compared at either end.
constexpr int64_t kRowsAtAnEnd = 1024;
// Rounding of a larger change would hide the sum of the other terms, which are at most 1.
constexpr double kLargeChange = 1e6;

// Last lines first: kernels that compute several lines at a time treat the remainder differently.
std::vector<int64_t> Sample(int64_t extent) {
  std::vector<int64_t> sample;
  for (const int64_t at : {extent - 1, extent / 2, int64_t{0}, extent - 2, int64_t{1}}) {
    const bool is_new = std::find(sample.begin(), sample.end(), at) == sample.end();
    if (at >= 0 && at < extent && is_new) sample.push_back(at);
  }
  return sample;
}

// One of op(A), op(B) and C of the last item of a batch, and the elements planted in it.
class PlantedMatrix {
 public:
  struct Layout {
    size_t operand = 0;
    int64_t first = 0;  // Offset of element (0, 0).
    int64_t row_step = 1, column_step = 1;
    DataType type = DataType::kF32;
  };
  PlantedMatrix(const Layout& layout, std::span<const std::byte> content)
      : layout_(layout), content_(content) {}

  void Plant(int64_t row, int64_t column, double value) { planted_[OffsetOf(row, column)] = value; }
  double Original(int64_t row, int64_t column) const {
    if (content_.empty()) return 0;  // C is not read.
    return DecodeElement(layout_.type, content_.data(), OffsetOf(row, column));
  }
  double Now(int64_t row, int64_t column) const {
    const auto found = planted_.find(OffsetOf(row, column));
    return found == planted_.end() ? Original(row, column) : found->second;
  }
  int64_t OffsetOf(int64_t row, int64_t column) const {
    return layout_.first + row * layout_.row_step + column * layout_.column_step;
  }
  void AppendTo(std::vector<PlantedElement>& elements) const {
    for (const auto& [offset, value] : planted_) {
      elements.push_back({layout_.operand, offset, layout_.type, value});
    }
  }

 private:
  Layout layout_;
  std::span<const std::byte> content_;
  std::map<int64_t, double> planted_;  // By offset.
};

// Rows of A or columns of B. A special line holds one special number. A zero line is zero wherever
// it meets a special number of the other matrix.
struct Lines {
  std::vector<int64_t> special, zero;
};

struct Planting {
  Lines rows, columns;
};

std::vector<Planting> PlantingsOf(const Gemm& gemm) {
  const std::vector<int64_t> rows = Sample(gemm.m), columns = Sample(gemm.n);
  if (gemm.m < kManyLines || gemm.n < kManyLines) {
    return {{{rows, {}}, {{}, columns}}, {{{}, rows}, {columns, {}}}};
  }
  const auto split = [](int64_t extent) {
    return Lines{{extent - 2, extent / 2, 0}, {extent - 1, extent / 2 - 1, 1}};
  };
  return {{split(gemm.m), split(gemm.n)}};
}

class SpecialProduct final : public SpecialValues {
 public:
  SpecialProduct(const Gemm& gemm, const ReferenceData& data, Planting planting);

  std::vector<PlantedElement> planted() const override;
  Result<std::optional<std::string>> FindWrong(const ElementReader& read) const override;

 private:
  void PlantDenormal();
  std::vector<int64_t> ComparedColumns() const;
  std::optional<std::string> WrongAt(int64_t row, int64_t column, double actual) const;

  const Gemm gemm_;
  const ReferenceData data_;
  const Tolerance tolerance_;
  const Planting planting_;
  const std::vector<int64_t> depths_;
  PlantedMatrix a_, b_, c_;
};

PlantedMatrix MatrixOf(const ReferenceData& data, size_t operand, DataType type, int64_t first,
                       std::pair<int64_t, int64_t> steps) {
  return PlantedMatrix({operand, first, steps.first, steps.second, type}, data.inputs[operand]);
}

std::pair<int64_t, int64_t> StepsOf(Transpose transpose, int64_t leading) {
  return transpose == Transpose::kNo ? std::pair{int64_t{1}, leading}
                                     : std::pair{leading, int64_t{1}};
}

SpecialProduct::SpecialProduct(const Gemm& gemm, const ReferenceData& data, Planting planting)
    : gemm_(gemm),
      data_(data),
      tolerance_(GemmReference().ToleranceOf(gemm, 0).At(0)),
      planting_(std::move(planting)),
      depths_(Sample(gemm.k)),
      a_(MatrixOf(data, 0, gemm.type, (gemm.batch_count - 1) * gemm.stride_a,
                  StepsOf(gemm.trans_a, gemm.lda))),
      b_(MatrixOf(data, 1, gemm.type, (gemm.batch_count - 1) * gemm.stride_b,
                  StepsOf(gemm.trans_b, gemm.ldb))),
      c_(MatrixOf(data, gemm.bias == Bias::kNone ? 2 : 3, gemm.c_type,
                  (gemm.batch_count - 1) * gemm.stride_c, {1, gemm.ldc})) {
  for (const int64_t depth : depths_) {
    for (const int64_t row : planting_.rows.zero) a_.Plant(row, depth, 0);
    for (const int64_t column : planting_.columns.zero) b_.Plant(depth, column, 0);
  }
  for (size_t i = 0; i < planting_.rows.special.size(); ++i) {
    a_.Plant(planting_.rows.special[i], depths_[i % depths_.size()], kSpecial[i % 3]);
  }
  for (size_t i = 0; i < planting_.columns.special.size(); ++i) {
    b_.Plant(depths_[i % depths_.size()], planting_.columns.special[i], kSpecial[i % 3]);
  }
  PlantDenormal();
  if (gemm.beta == ScalarClass::kZero) return;
  c_.Plant(gemm.m / 3, gemm.n / 3, kSpecial[0]);
  c_.Plant((gemm.m / 3 + 1) % gemm.m, gemm.n / 3, kSpecial[1]);
}

// Plants a denormal number and a factor that makes their product 1/2.
void SpecialProduct::PlantDenormal() {
  const bool is_real = gemm_.type == DataType::kF32 || gemm_.type == DataType::kF64;
  if (!is_real || gemm_.c_type != gemm_.type || gemm_.math != MathMode::kStrict) return;
  if (gemm_.m < kManyLines || gemm_.n < kManyLines) return;
  const int least = gemm_.type == DataType::kF32 ? std::numeric_limits<float>::min_exponent
                                                 : std::numeric_limits<double>::min_exponent;
  a_.Plant(2, depths_[0], std::ldexp(1.0, least - 2));
  b_.Plant(depths_[0], 2, std::ldexp(1.0, 1 - least));
}

std::vector<PlantedElement> SpecialProduct::planted() const {
  std::vector<PlantedElement> elements;
  a_.AppendTo(elements);
  b_.AppendTo(elements);
  c_.AppendTo(elements);
  return elements;
}

std::vector<int64_t> SpecialProduct::ComparedColumns() const {
  std::vector<int64_t> columns = planting_.columns.special;
  columns.insert(columns.end(), planting_.columns.zero.begin(), planting_.columns.zero.end());
  columns.push_back(gemm_.n / 3);
  if (gemm_.n >= kManyLines) columns.push_back(2);
  std::sort(columns.begin(), columns.end());
  columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
  return columns;
}

Result<std::optional<std::string>> SpecialProduct::FindWrong(const ElementReader& read) const {
  const size_t operand = gemm_.bias == Bias::kNone ? 2 : 3;
  for (const int64_t column : ComparedColumns()) {
    ATTUNE_ASSIGN_OR_RETURN(const std::vector<std::byte> values,
                            read(operand, c_.OffsetOf(0, column), gemm_.m));
    for (int64_t row = 0; row < gemm_.m; ++row) {
      if (row == kRowsAtAnEnd) row = std::max(row, gemm_.m - kRowsAtAnEnd);
      auto wrong = WrongAt(row, column, DecodeElement(gemm_.c_type, values.data(), row));
      if (wrong.has_value()) return wrong;
    }
  }
  return std::optional<std::string>();
}

std::optional<std::string> SpecialProduct::WrongAt(int64_t row, int64_t column,
                                                   double actual) const {
  double now = 0, before = 0;
  for (const int64_t depth : depths_) {
    now += a_.Now(row, depth) * b_.Now(depth, column);
    before += a_.Original(row, depth) * b_.Original(depth, column);
  }
  const double change_of_c =
      gemm_.beta == ScalarClass::kZero
          ? 0
          : BetaValue(gemm_) * (c_.Now(row, column) - c_.Original(row, column));
  const double change = AlphaValue(gemm_) * (now - before) + change_of_c;
  const bool is_relu = gemm_.activation == Activation::kRelu;
  const bool is_plain = gemm_.activation == Activation::kNone;
  double right = data_.reference[static_cast<size_t>(c_.OffsetOf(row, column))] + change;
  bool is_right = std::isfinite(actual);
  if (std::isnan(change)) {
    is_right = std::isnan(actual);
  } else if (std::isinf(change)) {
    if (is_relu) right = std::max(right, 0.0);
    is_right = actual == right || (!is_plain && !is_relu);
  } else if (is_plain && std::abs(change) < kLargeChange) {
    is_right = std::abs(actual - right) <= tolerance_.Of(right);
  }
  if (is_right) return std::nullopt;
  // Print NaN without its sign.
  return fmt::format("C({}, {}) is {:.9g}, expected {:.9g}", row, column, actual,
                     std::isnan(right) ? std::abs(right) : right);
}

bool HasSpecialValues(DataType type) {
  return type == DataType::kF64 || type == DataType::kF32 || type == DataType::kF16 ||
         type == DataType::kBf16;
}

}  // namespace

std::vector<std::unique_ptr<SpecialValues>> SpecialValuesOf(const Gemm& gemm,
                                                            const ReferenceData& data) {
  std::vector<std::unique_ptr<SpecialValues>> tests;
  if (gemm.alpha == ScalarClass::kZero || !HasSpecialValues(gemm.type) ||
      !HasSpecialValues(gemm.c_type)) {
    return tests;
  }
  for (Planting& planting : PlantingsOf(gemm)) {
    tests.push_back(std::make_unique<SpecialProduct>(gemm, data, std::move(planting)));
  }
  return tests;
}

}  // namespace attune
