#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "attune/base/element.h"
#include "attune/base/never_destroyed.h"
#include "attune/base/parallel_for.h"
#include "attune/ops/batch_norm/batch_norm.h"
#include "attune/ops/batch_norm/batch_norm_operator.h"
#include "attune/problem/problem.h"

namespace attune {
namespace {

constexpr double kUnit = 0x1p-24;  // The unit round-off of f32, in which candidates sum.
// Adjacent groups of a task if inner is 1. A task of one group would use one number of each cache
// line.
constexpr int64_t kTaskGroups = 16;
// The cost of an element in multiply-adds.
constexpr double kCostOfElement = 8;

// Inputs. A group has the values mean +- spread * [0.25, 1], with alternating signs, so that two
// values differ. Four of eight kinds of groups are hard: large means, a constant that f32 does not
// hold exactly, and a variance far below epsilon. Sums in one order lose the largest mean in f32,
// because all of their roundings have the same direction.
struct GroupKind {
  double mean = 0;
  double spread = 1;

  // The variance of many values.
  double variance() const { return 0.4375 * spread * spread; }
};

GroupKind KindOf(DataType type, size_t kind) {
  switch (kind) {
    case 1:
      return type == DataType::kF32 ? GroupKind{777777, 0.5} : GroupKind{};
    case 3:
      return {type == DataType::kF32 ? 256.0 : 16.0, 0.5};
    case 5:
      return {0.1, 0};
    case 7:
      return {0, 0x1p-14};
    default:
      return {};
  }
}

// Values of the groups [begin, end), group by group.
class GroupValues {
 public:
  GroupValues(const BatchNorm& norm, int64_t begin, int64_t end)
      : shape_(ShapeOf(norm)), begin_(begin), end_(end) {}

  // Calls visit(group, offset) for each element, in the order of memory.
  template <class Visit>
  void ForEach(const Visit& visit) const {
    for (int64_t outer = 0; outer < shape_.outer; ++outer) {
      for (int64_t group = begin_; group < end_; ++group) {
        const int64_t first = (outer * shape_.groups + group) * shape_.inner;
        for (int64_t i = 0; i < shape_.inner; ++i) {
          visit(static_cast<size_t>(group - begin_), static_cast<size_t>(first + i));
        }
      }
    }
  }
  size_t size() const { return static_cast<size_t>(end_ - begin_); }
  size_t begin() const { return static_cast<size_t>(begin_); }
  double count() const { return static_cast<double>(shape_.count()); }

 private:
  const BatchNormShape shape_;
  const int64_t begin_;
  const int64_t end_;
};

// The operands of a problem: values that are read, and places of results.
class Values {
 public:
  Values(const Problem& problem, std::span<const OperandValues> inputs, std::span<double> results) {
    size_t input = 0;
    for (const Operand& operand : Operands(problem)) {
      const bool is_read = operand.role != OperandRole::kOut;
      read_.push_back(is_read ? inputs[input++].data() : nullptr);
      const bool is_written = operand.role != OperandRole::kIn;
      written_.push_back(is_written ? results.data() : nullptr);
      if (is_written) {
        results = results.subspan(static_cast<size_t>(SpanElements(operand.tensor)));
      }
    }
  }

  // Null for an operand that the problem does not have, or that is not read.
  const double* read(int position) const {
    return position < 0 ? nullptr : read_[static_cast<size_t>(position)];
  }
  double* written(int position) const {
    return position < 0 ? nullptr : written_[static_cast<size_t>(position)];
  }

 private:
  std::vector<const double*> read_;
  std::vector<double*> written_;
};

double Or(const double* values, size_t i, double otherwise) {
  return values == nullptr ? otherwise : values[i];
}
void Write(double* values, size_t i, double value) {
  if (values != nullptr) values[i] = value;
}

struct Statistics {
  std::vector<double> mean;
  std::vector<double> variance;
};

Statistics StatisticsOf(const GroupValues& groups, const double* x) {
  Statistics of;
  of.mean.resize(groups.size());
  of.variance.resize(groups.size());
  groups.ForEach([&](size_t g, size_t at) { of.mean[g] += x[at]; });
  for (double& mean : of.mean) mean /= groups.count();
  groups.ForEach([&](size_t g, size_t at) {
    const double difference = x[at] - of.mean[g];
    of.variance[g] += difference * difference;
  });
  for (double& variance : of.variance) variance /= groups.count();
  return of;
}

std::vector<double> InverseDeviations(const std::vector<double>& variances) {
  std::vector<double> inverses;
  for (const double variance : variances) {
    inverses.push_back(1 / std::sqrt(variance + kBatchNormEpsilon));
  }
  return inverses;
}

void ComputeForward(const BatchNorm& norm, const GroupValues& groups, const Values& values) {
  const BatchNormOperands at = OperandsOf(norm);
  const double* const x = values.read(at.x);
  const bool is_training = norm.pass == BatchNormPass::kTraining;
  Statistics statistics;
  if (is_training) {
    statistics = StatisticsOf(groups, x);
  } else {
    const auto given = [&](int position) {
      const double* const first = values.read(position) + groups.begin();
      return std::vector<double>(first, first + groups.size());
    };
    statistics = {given(at.mean), given(at.variance)};
  }
  const std::vector<double> inverse = InverseDeviations(statistics.variance);
  for (size_t g = 0; g < groups.size() && is_training; ++g) {
    const size_t group = groups.begin() + g;
    const double unbiased = statistics.variance[g] * groups.count() / (groups.count() - 1);
    const auto blend = [&](int position, double value) {
      const double old = Or(values.read(position), group, 0);
      Write(values.written(position), group,
            (1 - kBatchNormMomentum) * old + kBatchNormMomentum * value);
    };
    blend(at.running_mean, statistics.mean[g]);
    blend(at.running_variance, unbiased);
    Write(values.written(at.mean), group, statistics.mean[g]);
    Write(values.written(at.inverse_deviation), group, inverse[g]);
  }
  const double* const residual = values.read(at.residual);
  const double* const gamma = values.read(at.gamma);
  const double* const beta = values.read(at.beta);
  double* const y = values.written(at.y);
  const bool has_relu = HasRelu(norm.fusion);
  groups.ForEach([&](size_t g, size_t i) {
    const size_t group = groups.begin() + g;
    const double normal = (x[i] - statistics.mean[g]) * inverse[g];
    double value = Or(gamma, group, 1) * normal + Or(beta, group, 0) + Or(residual, i, 0);
    if (has_relu && value < 0) value = 0;
    y[i] = value;
  });
}

void ComputeBackward(const BatchNorm& norm, const GroupValues& groups, const Values& values) {
  const BatchNormOperands at = OperandsOf(norm);
  const double* const x = values.read(at.x);
  const double* const dy = values.read(at.dy);
  const double* const y = values.read(at.y);
  std::vector<double> mean;
  std::vector<double> inverse;
  if (norm.saved) {
    const double* const first = values.read(at.mean) + groups.begin();
    const double* const second = values.read(at.inverse_deviation) + groups.begin();
    mean.assign(first, first + groups.size());
    inverse.assign(second, second + groups.size());
  } else {
    Statistics statistics = StatisticsOf(groups, x);
    inverse = InverseDeviations(statistics.variance);
    mean = std::move(statistics.mean);
  }
  const auto gradient = [&](size_t i) { return y == nullptr || !(y[i] <= 0) ? dy[i] : 0; };
  std::vector<double> sum(groups.size());
  std::vector<double> product(groups.size());
  groups.ForEach([&](size_t g, size_t i) {
    sum[g] += gradient(i);
    product[g] += gradient(i) * (x[i] - mean[g]) * inverse[g];
  });
  for (size_t g = 0; g < groups.size(); ++g) {
    Write(values.written(at.dbeta), groups.begin() + g, sum[g]);
    Write(values.written(at.dgamma), groups.begin() + g, product[g]);
  }
  const double* const gamma = values.read(at.gamma);
  double* const dresidual = values.written(at.dresidual);
  double* const dx = values.written(at.dx);
  groups.ForEach([&](size_t g, size_t i) {
    const double normal = (x[i] - mean[g]) * inverse[g];
    Write(dresidual, i, gradient(i));
    dx[i] = Or(gamma, groups.begin() + g, 1) * inverse[g] *
            (gradient(i) - sum[g] / groups.count() - normal * product[g] / groups.count());
  });
}

// Bounds for the errors of candidates in one kind of groups. Candidates compute in f32 with the
// unit round-off u. The condition of the variance is c = |mean| / deviation (Chan, Golub, LeVeque,
// "Algorithms for computing the sample variance", The American Statistician 37, 1983). The relative
// error of a good algorithm grows with c. That of the textbook algorithm grows with c^2 and exceeds
// the bound. Sums in blocks have an error of u n / 16 over zero-mean data, and the first terms of a
// random walk. The bounds of statistics are 2.5 to 8 times the errors of PyTorch's kernel, which
// batch_norm_test.cc repeats on such data.
class KindErrors {
 public:
  KindErrors(const BatchNorm& norm, size_t kind)
      : of_(KindOf(norm.type, kind)),
        count_(static_cast<double>(ShapeOf(norm).count())),
        has_given_statistics_(norm.pass == BatchNormPass::kInference ||
                              (norm.pass == BatchNormPass::kBackward && norm.saved)) {
    // Few values have a deviation of at least 0.25 spread.
    const bool is_few = count_ < 64 && !has_given_statistics_;
    const double least = is_few ? of_.spread * of_.spread / 16 : 0.9 * of_.variance();
    inverse_ = 1 / std::sqrt(least + kBatchNormEpsilon);
    normal_ = std::min(2.5, 1.5 * of_.spread * inverse_);
  }

  double inverse() const { return inverse_; }
  // The error of the mean.
  double mean() const { return 8 * kUnit * (std::abs(of_.mean) + of_.spread); }
  // The relative error of the variance.
  double variance() const { return kUnit * (8 + 4 * std::abs(of_.mean) * inverse_); }
  double absolute_variance() const { return (of_.variance() + kUnit) * 2 * variance(); }
  // The error of (x - mean) / deviation.
  double normal() const {
    const double of_statistics =
        has_given_statistics_ ? 0 : inverse_ * mean() + normal_ * variance() / 2;
    return of_statistics + 2 * kUnit * ((std::abs(of_.mean) + of_.spread) * inverse_ + normal_);
  }
  // The error of a sum of gradients.
  double sum() const { return kUnit * (16 + 8 * std::sqrt(count_) + count_ / 16); }
  // The error of a sum of gradients times normalised values.
  double product() const { return normal_ * sum() + 3 * std::sqrt(count_) * normal(); }
  // The error of an element of dx.
  double dx() const {
    const double of_means = sum() / count_ + normal_ * product() / count_ +
                            normal() * normal_ * std::min(1.0, 4 / std::sqrt(count_));
    return inverse_ * (4 * kUnit + of_means + (has_given_statistics_ ? 0 : variance()));
  }

 private:
  const GroupKind of_;
  const double count_;
  const bool has_given_statistics_;
  double inverse_ = 1;  // The largest inverse deviation.
  double normal_ = 1;   // The largest |x - mean| / deviation.
};

// NaN or infinity in the first value of the last group, of x, or of dy in the backward pass. It
// spreads to every value of the group and to its statistics and gradients.
class SpecialGroup final : public SpecialValues {
 public:
  SpecialGroup(const BatchNorm& norm, const ReferenceData& data, double value)
      : norm_(norm), at_(OperandsOf(norm)), shape_(ShapeOf(norm)), value_(value) {
    const std::vector<Operand> operands = Operands(Problem(norm));
    output_ = operands.size() - 1;
    for (const int position : {at_.running_mean, at_.running_variance, at_.mean,
                               at_.inverse_deviation, at_.dgamma, at_.dbeta}) {
      if (position < 0) continue;
      const Operand& operand = operands[static_cast<size_t>(position)];
      if (operand.role != OperandRole::kIn) of_group_.emplace_back(position, operand.name);
    }
    tolerance_ = BatchNormReference().ToleranceOf(Problem(norm), output_);
    right_ = data.reference.last(static_cast<size_t>(shape_.elements()));
    gamma_ = at_.gamma < 0
                 ? 1
                 : DecodeElement(DataType::kF32, data.inputs[static_cast<size_t>(at_.gamma)].data(),
                                 shape_.groups - 1);
  }

  std::vector<PlantedElement> planted() const override {
    const bool is_backward = norm_.pass == BatchNormPass::kBackward;
    const int operand = is_backward ? at_.dy : at_.x;
    std::vector<PlantedElement> elements = {
        {static_cast<size_t>(operand), Planted(), norm_.type, value_}};
    // A positive y lets the gradient pass.
    if (is_backward && at_.y >= 0) {
      elements.push_back({static_cast<size_t>(at_.y), Planted(), norm_.type, 1});
    }
    return elements;
  }

  Result<std::optional<std::string>> FindWrong(const ElementReader& read) const override {
    const int64_t last = shape_.elements() - 1;  // In the group of the planted element.
    for (const int64_t offset : {int64_t{0}, Planted(), last}) {
      ATTUNE_ASSIGN_OR_RETURN(const double actual, Read(read, output_, offset, norm_.type));
      const double right = RightAt(offset);
      // An infinite gradient makes both sums infinite. Their difference is NaN or infinite,
      // depending on the signs.
      const bool may_be_infinite = norm_.pass == BatchNormPass::kBackward && std::isinf(value_);
      const bool is_right =
          std::isnan(right)   ? std::isnan(actual) || (may_be_infinite && std::isinf(actual))
          : std::isinf(right) ? actual == right
                              : std::abs(actual - right) <= tolerance_.At(offset).Of(right);
      if (is_right) continue;
      return std::optional(fmt::format("element {} of {} is {}, but should be {}", offset,
                                       norm_.pass == BatchNormPass::kBackward ? "dx" : "y", actual,
                                       right));
    }
    if (at_.dresidual >= 0) {
      ATTUNE_ASSIGN_OR_RETURN(const double passed, Read(read, static_cast<size_t>(at_.dresidual),
                                                        Planted(), norm_.type));
      if (!IsSame(passed, value_)) return Wrong("dresidual", passed);
    }
    for (const auto& [position, name] : of_group_) {
      ATTUNE_ASSIGN_OR_RETURN(const double actual, Read(read, static_cast<size_t>(position),
                                                        shape_.groups - 1, DataType::kF32));
      // The statistics of an infinite value are infinite or NaN; the inverse may then be 0.
      const bool may_be_zero = position == at_.inverse_deviation && !std::isnan(value_);
      const bool is_right = std::isnan(value_)
                                ? std::isnan(actual)
                                : !std::isfinite(actual) || (may_be_zero && actual == 0);
      if (!is_right) return Wrong(name, actual);
    }
    return std::optional<std::string>();
  }

 private:
  static bool IsSame(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }
  static Result<double> Read(const ElementReader& read, size_t operand, int64_t offset,
                             DataType type) {
    ATTUNE_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes, read(operand, offset, 1));
    return DecodeElement(type, bytes.data(), 0);
  }
  std::optional<std::string> Wrong(std::string_view operand, double actual) const {
    return fmt::format("{} of a group with {} is {}", operand, value_, actual);
  }

  int64_t Planted() const { return (shape_.groups - 1) * shape_.inner; }

  double RightAt(int64_t offset) const {
    const bool is_of_group = offset / shape_.inner % shape_.groups == shape_.groups - 1;
    const bool is_inference = norm_.pass == BatchNormPass::kInference;
    if (!is_of_group || (is_inference && offset != Planted())) {
      return right_[static_cast<size_t>(offset)];
    }
    if (!is_inference || std::isnan(value_)) return std::numeric_limits<double>::quiet_NaN();
    const bool is_cut = gamma_ * value_ < 0 && HasRelu(norm_.fusion);
    return is_cut ? 0 : gamma_ * value_;
  }

  const BatchNorm norm_;
  const BatchNormOperands at_;
  const BatchNormShape shape_;
  const double value_;
  size_t output_ = 0;
  std::vector<std::pair<int, std::string>> of_group_;  // Written operands with a value for each.
  GroupTolerance tolerance_;
  std::span<const double> right_;
  double gamma_ = 1;
};

class BatchNormRef final : public Reference {
 public:
  Status CheckVerifiable(const Problem&) const override { return Status::Ok(); }

  double MultiplyAdds(const Problem& problem) const override {
    return kCostOfElement * static_cast<double>(ShapeOf(problem.Get<BatchNorm>()).elements());
  }

  void Compute(const Problem& problem, std::span<const OperandValues> inputs,
               std::span<double> results, WorkWatch& watch) const override {
    const auto& norm = problem.Get<BatchNorm>();
    const Values values(problem, inputs, results);
    const BatchNormShape shape = ShapeOf(norm);
    const int64_t each = shape.inner == 1 ? kTaskGroups : 1;
    ParallelFor((shape.groups + each - 1) / each, [&](int64_t task) {
      const int64_t end = std::min(shape.groups, (task + 1) * each);
      if (!watch.Note(kCostOfElement * static_cast<double>(each * shape.count()))) return;
      const GroupValues groups(norm, task * each, end);
      if (norm.pass == BatchNormPass::kBackward) {
        ComputeBackward(norm, groups, values);
      } else {
        ComputeForward(norm, groups, values);
      }
    });
  }

  GroupTolerance ToleranceOf(const Problem& problem, size_t operand) const override;

  bool AdjustsInput(const Problem& problem, size_t operand) const override {
    const BatchNormOperands at = OperandsOf(problem.Get<BatchNorm>());
    const auto position = static_cast<int>(operand);
    return position == at.x || position == at.mean || position == at.variance ||
           position == at.inverse_deviation || position == at.running_variance;
  }
  void AdjustInput(const Problem& problem, size_t operand, int64_t first,
                   std::span<double> values) const override;

  std::vector<std::unique_ptr<SpecialValues>> SpecialValuesOf(
      const Problem& problem, const ReferenceData& data) const override {
    std::vector<std::unique_ptr<SpecialValues>> tests;
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    for (const double value : {std::numeric_limits<double>::quiet_NaN(), kInfinity, -kInfinity}) {
      tests.push_back(std::make_unique<SpecialGroup>(problem.Get<BatchNorm>(), data, value));
    }
    return tests;
  }
};

void BatchNormRef::AdjustInput(const Problem& problem, size_t operand, int64_t first,
                               std::span<double> values) const {
  const auto& norm = problem.Get<BatchNorm>();
  const BatchNormOperands at = OperandsOf(norm);
  const BatchNormShape shape = ShapeOf(norm);
  const auto position = static_cast<int>(operand);
  for (size_t i = 0; i < values.size(); ++i) {
    const int64_t offset = first + static_cast<int64_t>(i);
    const double uniform = values[i];
    const bool is_x = position == at.x;
    const int64_t group = is_x ? offset / shape.inner % shape.groups : offset;
    const GroupKind kind = KindOf(norm.type, static_cast<size_t>(group) % GroupTolerance::kKinds);
    if (is_x) {
      const int64_t outer = offset / (shape.groups * shape.inner);
      const bool is_odd = (outer * shape.inner + offset % shape.inner) % 2 == 1;
      const double distance = kind.spread * (0.25 + 0.75 * std::abs(uniform));
      values[i] = kind.mean + (is_odd ? -distance : distance);
    } else if (position == at.mean) {
      values[i] = kind.mean + 0.25 * kind.spread * uniform;
    } else if (position == at.variance) {
      values[i] = kind.variance() * (1 + 0.1 * uniform);
    } else if (position == at.inverse_deviation) {
      values[i] = (1 + 0.1 * uniform) / std::sqrt(kind.variance() + kBatchNormEpsilon);
    } else {
      values[i] = 1 + 0.5 * uniform;
    }
  }
}

GroupTolerance BatchNormRef::ToleranceOf(const Problem& problem, size_t operand) const {
  const auto& norm = problem.Get<BatchNorm>();
  const BatchNormOperands at = OperandsOf(norm);
  const BatchNormShape shape = ShapeOf(norm);
  const auto position = static_cast<int>(operand);
  GroupTolerance tolerance;
  tolerance.groups = shape.groups;
  // The gradient is copied or dropped.
  if (position == at.dresidual) return tolerance;
  const bool is_tensor = position == at.y || position == at.dx;
  if (is_tensor) tolerance.run = shape.inner;
  tolerance.relative = (is_tensor ? UnitRoundoff(norm.type) : kUnit) + 4 * kUnit;
  // Half of the smallest subnormal f16.
  const double subnormal = is_tensor && norm.type == DataType::kF16 ? 0x1p-25 : 0;
  for (size_t kind = 0; kind < GroupTolerance::kKinds; ++kind) {
    const KindErrors errors(norm, kind);
    double error = 0;
    if (position == at.y) error = errors.normal() + 4 * kUnit;
    if (position == at.dx) error = errors.dx();
    if (position == at.dbeta) error = errors.sum();
    if (position == at.dgamma) error = errors.product();
    if (position == at.mean) error = errors.mean();
    if (position == at.running_mean) error = kBatchNormMomentum * errors.mean() + 2 * kUnit;
    if (position == at.running_variance) error = errors.absolute_variance();
    if (position == at.inverse_deviation) error = errors.inverse() * errors.variance();
    tolerance.absolute[kind] = error + subnormal;
  }
  return tolerance;
}

}  // namespace

const Reference& BatchNormReference() {
  static const NeverDestroyed<BatchNormRef> reference{BatchNormRef()};
  return *reference;
}

}  // namespace attune
