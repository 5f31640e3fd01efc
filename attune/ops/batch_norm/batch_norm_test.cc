#include "attune/ops/batch_norm/batch_norm.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/random.h"
#include "attune/ops/batch_norm.h"
#include "attune/problem/problem.h"
#include "attune/problem/reference.h"

namespace attune {
namespace {

using ::testing::HasSubstr;

BatchNorm RandomBatchNorm(Random& random) {
  const auto size = [&](uint64_t most) { return 1 + static_cast<int64_t>(random.Below(most)); };
  const auto flag = [&] { return random.Below(2) == 1; };
  BatchNorm norm;
  norm.pass = static_cast<BatchNormPass>(random.Below(3));
  norm.mode = static_cast<BatchNormMode>(random.Below(2));
  norm.batch = 1 + size(4);
  norm.channels = size(11);
  norm.height = size(4);
  norm.width = size(3);
  norm.layout = static_cast<BatchNormLayout>(random.Below(4));
  if (HasDepth(norm.layout)) norm.depth = 1 + size(2);
  norm.affine = flag();
  norm.running = flag() && norm.pass == BatchNormPass::kTraining;
  norm.saved = flag() && norm.pass != BatchNormPass::kInference;
  norm.fusion = static_cast<BatchNormFusion>(random.Below(4));
  const bool is_backward = norm.pass == BatchNormPass::kBackward;
  if (is_backward && norm.fusion == BatchNormFusion::kAdd) norm.fusion = BatchNormFusion::kNone;
  const DataType types[] = {DataType::kF32, DataType::kF16, DataType::kBf16};
  norm.type = types[random.Below(3)];
  return norm;
}

TEST(BatchNormTest, ATextReadsBackAsTheSameProblem) {
  Random random(1);
  for (int i = 0; i < 1000; ++i) {
    const Problem problem = RandomBatchNorm(random);
    ASSERT_TRUE(Validate(problem).ok()) << Text(problem);
    const auto read = ParseProblem(Text(problem));
    ASSERT_TRUE(read.ok()) << Text(problem) << ": " << read.error().message();
    EXPECT_EQ(*read, problem);
  }
}

TEST(BatchNormTest, ATextHasNeitherDefaultsNorPropertiesThatDoNotMatter) {
  const auto text = [](const char* given) { return Text(*ParseProblem(given)); };
  EXPECT_EQ(text("batch_norm@1{n=8,c=3,h=5,w=5}"), "batch_norm@1{n=8,c=3,h=5,w=5}");
  EXPECT_EQ(text("batch_norm@1{n=8,c=3,d=2,layout=ncdhw}"), "batch_norm@1{n=8,c=3,d=2}");
  EXPECT_EQ(text("batch_norm@1{n=8,c=3,w=5,layout=ndhwc}"),
            "batch_norm@1{n=8,c=3,w=5,layout=nhwc}");
  EXPECT_EQ(text("batch_norm@1{dir=infer,n=8,c=3,running=1,saved=1}"),
            "batch_norm@1{dir=infer,n=8,c=3}");
  EXPECT_EQ(text("batch_norm@1{dir=bwd,n=8,c=3,fuse=add}"), "batch_norm@1{dir=bwd,n=8,c=3}");
  EXPECT_EQ(text("batch_norm@1{n=8,c=3,layout=nhwc,affine=0,fuse=add_relu,type=bf16,mode=act}"),
            "batch_norm@1{mode=act,n=8,c=3,layout=nhwc,affine=0,fuse=add_relu,type=bf16}");
}

TEST(BatchNormTest, AWrongProblemIsNamed) {
  const auto reason = [](const char* text) { return ParseProblem(text).status().message(); };
  EXPECT_THAT(reason("batch_norm@1{c=3}"), HasSubstr("needs the key n"));
  EXPECT_THAT(reason("batch_norm@1{n=0,c=3}"), HasSubstr("Key n has the value"));
  EXPECT_THAT(reason("batch_norm@1{n=1,c=3}"), HasSubstr("one value for each mean"));
  EXPECT_THAT(reason("batch_norm@1{dir=bwd,mode=act,n=1,c=3,h=9}"), HasSubstr("direction bwd"));
  EXPECT_TRUE(ParseProblem("batch_norm@1{dir=infer,n=1,c=3}").ok());
  EXPECT_THAT(reason("batch_norm@1{n=2,c=3,d=4,layout=nhwc}"), HasSubstr("layout nhwc"));
  EXPECT_THAT(reason("batch_norm@1{n=2,c=3,type=f64}"), HasSubstr("f32, f16 and bf16"));
  EXPECT_THAT(reason("batch_norm@1{n=2,c=3,type=f16,align=2}"), HasSubstr("lignment"));
  EXPECT_THAT(reason("batch_norm@1{n=2000000000,c=2000000000}"), HasSubstr("more than"));
  EXPECT_THAT(reason("batch_norm@1{n=2147483647,c=2147483647,d=2147483647,h=2147483647}"),
              HasSubstr("more than"));
}

TEST(BatchNormTest, ACallOfCIsTheProblemItSays) {
  attune_batch_norm call = {};
  call.batch = 6;
  call.channels = 10;
  call.height = 7;
  call.layout = ATTUNE_NHWC;
  call.affine = 1;
  call.running = 1;
  call.fusion = ATTUNE_BATCH_NORM_ADD_RELU;
  call.type = ATTUNE_F16;
  const auto problem = BatchNormOperator().ReadCall(&call, {2, 2, 1});
  ASSERT_TRUE(problem.ok()) << problem.error().message();
  EXPECT_EQ(Text(*problem),
            "batch_norm@1{n=6,c=10,h=7,layout=nhwc,running=1,fuse=add_relu,type=f16}");
  call.fusion = 4;
  EXPECT_THAT(BatchNormOperator().ReadCall(&call, {}).status().message(),
              HasSubstr("'fusion' is 4; it has to be from 0 to 3"));
  call.pass = 3;
  EXPECT_THAT(BatchNormOperator().ReadCall(&call, {}).status().message(),
              HasSubstr("'pass' is 3; it has to be from 0 to 2"));
}

TEST(BatchNormTest, OperandsAreThoseThatTheProblemAsksFor) {
  const auto names = [](const char* text) {
    std::string all;
    for (const Operand& operand : Operands(*ParseProblem(text))) {
      const char* const role = operand.role == OperandRole::kIn    ? ""
                               : operand.role == OperandRole::kOut ? ">"
                                                                   : "*";
      all += (all.empty() ? "" : " ") + (role + operand.name);
    }
    return all;
  };
  EXPECT_EQ(names("batch_norm@1{n=2,c=3,affine=0}"), "x >y");
  EXPECT_EQ(names("batch_norm@1{n=2,c=3,running=1,saved=1,fuse=add}"),
            "x residual gamma beta *running_mean *running_variance >saved_mean "
            ">saved_inverse_deviation >y");
  EXPECT_EQ(names("batch_norm@1{dir=infer,n=2,c=3,fuse=relu}"), "x gamma beta mean variance >y");
  EXPECT_EQ(names("batch_norm@1{dir=bwd,n=2,c=3,saved=1,fuse=add_relu}"),
            "x dy y gamma saved_mean saved_inverse_deviation >dgamma >dbeta >dresidual >dx");
  EXPECT_EQ(names("batch_norm@1{dir=bwd,n=2,c=3,affine=0}"), "x dy >dx");
  const auto statistics = Operands(*ParseProblem("batch_norm@1{mode=act,n=2,c=3,h=4,w=5}"));
  EXPECT_EQ(statistics[1].tensor.extents, std::vector<int64_t>{60});
}

// The offset of an element, by strides.
size_t At(const TensorDesc& tensor, const std::vector<int64_t>& position) {
  int64_t offset = 0;
  for (size_t i = 0; i < position.size(); ++i) offset += position[i] * tensor.strides[i];
  return static_cast<size_t>(offset);
}

// Calls visit(offset, group) for each element, in the logical order n, c, [d,] h, w.
void ForEachElement(const BatchNorm& norm, const std::function<void(size_t, size_t)>& visit) {
  const TensorDesc tensor = Operands(Problem(norm)).front().tensor;
  std::vector<int64_t> position(tensor.extents.size());
  for (int64_t i = 0; i < ElementCount(tensor); ++i) {
    int64_t rest = i;
    for (size_t axis = position.size(); axis-- > 0;) {
      position[axis] = rest % tensor.extents[axis];
      rest /= tensor.extents[axis];
    }
    const size_t offset = At(tensor, position);
    std::vector<int64_t> in_image = position;
    in_image[0] = 0;
    const bool is_spatial = norm.mode == BatchNormMode::kSpatial;
    visit(offset, is_spatial ? static_cast<size_t>(position[1]) : At(tensor, in_image));
  }
}

struct Computed {
  std::vector<OperandValues> inputs;  // By operand; empty if it is not read.
  std::vector<OperandValues> results;
};

Computed ComputeReference(const Problem& problem, Random& random) {
  Computed computed;
  std::vector<OperandValues> read;
  const std::vector<Operand> operands = Operands(problem);
  size_t written = 0;
  for (size_t i = 0; i < operands.size(); ++i) {
    const auto count = static_cast<size_t>(ElementCount(operands[i].tensor));
    computed.inputs.emplace_back();
    if (operands[i].role != OperandRole::kIn) written += count;
    if (operands[i].role == OperandRole::kOut) continue;
    OperandValues values(count);
    for (double& value : values) value = random.Uniform() * 2 - 1;
    const Reference& reference = *problem.op().reference();
    if (reference.AdjustsInput(problem, i)) reference.AdjustInput(problem, i, 0, values);
    computed.inputs.back() = values;
    read.push_back(std::move(values));
  }
  std::vector<double> results(written, -7);
  const GoOn always;
  WorkWatch watch(always, 1);
  problem.op().reference()->Compute(problem, read, results, watch);
  size_t at = 0;
  for (const Operand& operand : operands) {
    computed.results.emplace_back();
    if (operand.role == OperandRole::kIn) continue;
    const auto count = static_cast<size_t>(ElementCount(operand.tensor));
    computed.results.back().assign(results.begin() + static_cast<ptrdiff_t>(at),
                                   results.begin() + static_cast<ptrdiff_t>(at + count));
    at += count;
  }
  return computed;
}

// The definition, element by element through strides.
class Definition {
 public:
  Definition(const BatchNorm& norm, const std::vector<OperandValues>& inputs)
      : norm_(norm),
        at_(OperandsOf(norm)),
        inputs_(inputs),
        groups_(static_cast<size_t>(ShapeOf(norm).groups)) {
    const bool is_backward = norm.pass == BatchNormPass::kBackward;
    const bool is_given = norm.pass == BatchNormPass::kInference || (is_backward && norm.saved);
    mean = is_given ? inputs[static_cast<size_t>(at_.mean)]
                    : Means([&](size_t i, size_t) { return In(at_.x, i, 0); });
    variance =
        at_.variance >= 0
            ? inputs[static_cast<size_t>(at_.variance)]
            : Means([&](size_t i, size_t g) { return std::pow(In(at_.x, i, 0) - mean[g], 2); });
    for (const double each : variance) inverse.push_back(1 / std::sqrt(each + 1e-5));
    if (!is_backward) return;
    if (is_given) inverse = inputs[static_cast<size_t>(at_.inverse_deviation)];
    dbeta = Means([&](size_t i, size_t) { return Gradient(i); });
    dgamma = Means([&](size_t i, size_t g) { return Gradient(i) * Normal(i, g); });
    for (size_t g = 0; g < groups_; ++g) {
      dbeta[g] *= count();
      dgamma[g] *= count();
    }
  }

  double In(int position, size_t i, double otherwise) const {
    return position < 0 ? otherwise : inputs_[static_cast<size_t>(position)][i];
  }
  double count() const { return static_cast<double>(ShapeOf(norm_).count()); }
  double Normal(size_t i, size_t group) const {
    return (In(at_.x, i, 0) - mean[group]) * inverse[group];
  }
  double Y(size_t i, size_t group) const {
    const double y = In(at_.gamma, group, 1) * Normal(i, group) + In(at_.beta, group, 0) +
                     In(at_.residual, i, 0);
    return HasRelu(norm_.fusion) ? std::max(y, 0.0) : y;
  }
  double Gradient(size_t i) const { return In(at_.y, i, 1) > 0 ? In(at_.dy, i, 0) : 0; }
  double Dx(size_t i, size_t group) const {
    return In(at_.gamma, group, 1) * inverse[group] *
           (Gradient(i) - dbeta[group] / count() - Normal(i, group) * dgamma[group] / count());
  }

  std::vector<double> mean, variance, inverse, dbeta, dgamma;

 private:
  // The mean of value(offset, group) over each group.
  std::vector<double> Means(const std::function<double(size_t, size_t)>& value) const {
    std::vector<double> means(groups_);
    ForEachElement(norm_, [&](size_t i, size_t g) { means[g] += value(i, g) / count(); });
    return means;
  }

  const BatchNorm norm_;
  const BatchNormOperands at_;
  const std::vector<OperandValues>& inputs_;
  const size_t groups_;
};

TEST(BatchNormTest, TheReferenceIsTheDefinition) {
  Random random(2);
  for (int i = 0; i < 200; ++i) {
    BatchNorm norm = RandomBatchNorm(random);
    norm.channels = std::min<int64_t>(norm.channels, 4);
    const Problem problem = norm;
    const Computed computed = ComputeReference(problem, random);
    const BatchNormOperands at = OperandsOf(norm);
    const Definition right(norm, computed.inputs);
    double mean = 0;  // Mean of the group. Errors grow with it.
    const auto expect = [&](int position, size_t element, double wanted) {
      if (position < 0 || computed.results[static_cast<size_t>(position)].empty()) return;
      EXPECT_NEAR(computed.results[static_cast<size_t>(position)][element], wanted,
                  1e-9 * (1 + std::abs(wanted) + std::abs(mean)))
          << Text(problem) << " operand " << position << " at " << element;
    };
    const bool is_backward = norm.pass == BatchNormPass::kBackward;
    ForEachElement(norm, [&](size_t element, size_t group) {
      mean = right.mean[group];
      if (!is_backward) return expect(at.y, element, right.Y(element, group));
      expect(at.dresidual, element, right.Gradient(element));
      expect(at.dx, element, right.Dx(element, group));
    });
    for (size_t group = 0; group < right.mean.size(); ++group) {
      mean = right.mean[group];
      if (is_backward) {
        expect(at.dbeta, group, right.dbeta[group]);
        expect(at.dgamma, group, right.dgamma[group]);
        continue;
      }
      expect(at.mean, group, right.mean[group]);
      expect(at.inverse_deviation, group, right.inverse[group]);
      expect(at.running_mean, group,
             0.9 * right.In(at.running_mean, group, 0) + 0.1 * right.mean[group]);
      const double unbiased = right.variance[group] * right.count() / (right.count() - 1);
      expect(at.running_variance, group,
             0.9 * right.In(at.running_variance, group, 0) + 0.1 * unbiased);
    }
    if (HasFailure()) return;
  }
}

// The statistics of a group in f32.
struct GroupStatistics {
  float mean = 0;
  float variance = 0;
};

// In two passes, or by the difference of two sums. Each of `lanes` sums adds every lanes-th value.
GroupStatistics SummedStatistics(const std::vector<float>& x, bool in_two_passes, size_t lanes) {
  const auto sum_of = [&](const auto& term) {
    std::vector<float> sums(lanes);
    for (size_t i = 0; i < x.size(); ++i) sums[i % lanes] += term(x[i]);
    float sum = 0;
    for (const float each : sums) sum += each;
    return sum / static_cast<float>(x.size());
  };
  const float mean = sum_of([](float value) { return value; });
  const float squares = sum_of(
      [&](float value) { return in_two_passes ? (value - mean) * (value - mean) : value * value; });
  return {mean, std::max(squares - (in_two_passes ? 0 : mean * mean), 0.0f)};
}

// As PyTorch's kernel for GPUs computes them: Welford's algorithm in 512 threads, then a tree
// (batch_norm_collect_statistics_kernel in aten/src/ATen/native/cuda/Normalization.cuh).
GroupStatistics WelfordStatistics(const std::vector<float>& x) {
  constexpr size_t kThreads = 512;
  struct Part {
    float count = 0, mean = 0, squares = 0;
  };
  std::vector<Part> parts(kThreads);
  for (size_t i = 0; i < x.size(); ++i) {
    Part& part = parts[i % kThreads];
    const float difference = x[i] - part.mean;
    part.count += 1;
    part.mean += difference / part.count;
    part.squares += difference * (x[i] - part.mean);
  }
  for (size_t distance = 1; distance < kThreads; distance *= 2) {
    for (size_t i = 0; i + distance < kThreads; i += 2 * distance) {
      Part& a = parts[i];
      const Part& b = parts[i + distance];
      const float factor = 1 / std::max(1.0f, a.count + b.count);
      a.squares += b.squares + (a.mean - b.mean) * (a.mean - b.mean) * a.count * b.count * factor;
      a.mean = (a.count * a.mean + b.count * b.mean) * factor;
      a.count += b.count;
    }
  }
  return {parts[0].mean, parts[0].squares / static_cast<float>(x.size())};
}

// Groups of a problem, with the errors of statistics as parts of the tolerance.
class ToleratedStatistics {
 public:
  ToleratedStatistics(const BatchNorm& norm, uint64_t seed)
      : problem_(norm), at_(OperandsOf(norm)), values_(static_cast<size_t>(norm.channels)) {
    Random random(seed);
    computed_ = ComputeReference(problem_, random);
    ForEachElement(norm, [&](size_t i, size_t group) {
      values_[group].push_back(static_cast<float>(computed_.inputs[0][i]));
    });
  }

  const std::vector<float>& values(size_t group) const { return values_[group]; }
  double OfMean(size_t group, const GroupStatistics& statistics) const {
    return Part(at_.mean, group, statistics.mean);
  }
  double OfInverse(size_t group, const GroupStatistics& statistics) const {
    return Part(at_.inverse_deviation, group, 1 / std::sqrt(statistics.variance + 1e-5f));
  }

 private:
  double Part(int position, size_t group, double actual) const {
    const auto operand = static_cast<size_t>(position);
    const double right = computed_.results[operand][group];
    const GroupTolerance tolerance = problem_.op().reference()->ToleranceOf(problem_, operand);
    return std::abs(actual - right) / tolerance.At(static_cast<int64_t>(group)).Of(right);
  }

  const Problem problem_;
  const BatchNormOperands at_;
  Computed computed_;
  std::vector<std::vector<float>> values_;
};

BatchNorm SavingNorm(DataType type, int64_t size) {
  BatchNorm norm{.batch = 4, .channels = 8, .height = size, .width = size};
  norm.saved = true;
  norm.type = type;
  return norm;
}

constexpr size_t kLargestMean = 1;  // Groups with a large mean; of f32 alone.
constexpr size_t kLargeMean = 3;

TEST(BatchNormTest, TheToleranceTellsAStableVarianceFromTheTextbookOne) {
  for (const DataType type : {DataType::kF32, DataType::kF16, DataType::kBf16}) {
    const ToleratedStatistics groups(SavingNorm(type, 16), 3);
    for (size_t group = 0; group < 8; ++group) {
      if (group == kLargestMean) continue;  // No serial sum is good enough for it.
      EXPECT_LE(groups.OfInverse(group, SummedStatistics(groups.values(group), true, 1)), 1)
          << Name(type) << " group " << group;
    }
    EXPECT_GT(groups.OfInverse(kLargeMean, SummedStatistics(groups.values(kLargeMean), false, 1)),
              1)
        << Name(type);
  }
}

TEST(BatchNormTest, TheToleranceIsOneToTenTimesTheErrorOfPyTorch) {
  for (const int64_t size : {8, 28, 56, 112}) {
    double mean = 0;
    double inverse = 0;
    for (uint64_t seed = 0; seed < 8; ++seed) {
      const ToleratedStatistics groups(SavingNorm(DataType::kF32, size), seed);
      for (size_t group = 0; group < 8; ++group) {
        const GroupStatistics statistics = WelfordStatistics(groups.values(group));
        EXPECT_LE(groups.OfMean(group, statistics), 1) << size << " group " << group;
        EXPECT_LE(groups.OfInverse(group, statistics), 1) << size << " group " << group;
        mean = std::max(mean, groups.OfMean(group, statistics));
        inverse = std::max(inverse, groups.OfInverse(group, statistics));
      }
    }
    EXPECT_GE(mean, 0.1) << size;
    EXPECT_GE(inverse, 0.1) << size;
  }
}

TEST(BatchNormTest, AMeanThatIsSummedInFewLanesIsNotTolerated) {
  const ToleratedStatistics groups(SavingNorm(DataType::kF32, 60), 1);
  const auto& values = groups.values(kLargestMean);
  EXPECT_GT(groups.OfMean(kLargestMean, SummedStatistics(values, true, 16)), 1);
}

TEST(BatchNormTest, TheSmallestProblemHasTwoValuesForEachMean) {
  const BatchNorm norm{.batch = 64, .channels = 128, .height = 56, .width = 56};
  const auto smallest = [&](std::vector<std::string> kept) {
    const Problem problem = BatchNormOperator().SmallestLike(norm, [&](std::string_view name) {
      return std::find(kept.begin(), kept.end(), name) != kept.end();
    });
    EXPECT_TRUE(Validate(problem).ok()) << Text(problem);
    return Text(problem);
  };
  EXPECT_EQ(smallest({}), "batch_norm@1{n=2,c=1}");
  EXPECT_EQ(smallest({"channels"}), "batch_norm@1{n=2,c=128}");
  EXPECT_EQ(smallest({"height"}), "batch_norm@1{n=1,c=1,h=56}");
}

TEST(BatchNormTest, NeighboursDifferInSizesAlone) {
  const Problem a = BatchNorm{.batch = 64, .channels = 128, .height = 7, .width = 7};
  const Problem b = BatchNorm{.batch = 32, .channels = 256, .height = 14, .width = 14};
  BatchNorm other{.batch = 64, .channels = 128, .height = 7, .width = 7};
  other.fusion = BatchNormFusion::kRelu;
  EXPECT_EQ(a.op().FamilyOf(a), a.op().FamilyOf(b));
  EXPECT_NE(a.op().FamilyOf(a), a.op().FamilyOf(Problem(other)));
  EXPECT_NE(a.op().PositionOf(a), a.op().PositionOf(b));
  EXPECT_EQ(a.op().FeatureNames().size(), a.op().FeatureValues(a).size());
  EXPECT_EQ(a.op().LabelOf(Problem(other)), "batch_norm n=64 c=128 h=7 w=7 relu");
}

}  // namespace
}  // namespace attune
