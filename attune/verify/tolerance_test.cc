// The tolerance must accept every honest algorithm and nothing else. "Honest" is tested with the
// least accurate algorithms of libraries, "nothing else" with the smallest mistakes that they make.
#include "attune/verify/tolerance.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "attune/base/element.h"
#include "attune/ops/conv/conv.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/verify/poison.h"
#include "attune/verify/problem_data.h"
#include "attune/verify/verifier.h"

namespace attune {
namespace {

std::vector<double> Input(const Problem& problem, const ProblemData& data, size_t i) {
  const DataType type = Operands(problem)[i].tensor.type;
  std::vector<double> values(data.input(i).size() / SizeBytes(type));
  Decode(type, data.input(i), values);
  return values;
}

Verdict Judge(const Problem& problem, const ProblemData& data, const std::vector<double>& output) {
  const DataType type = OutputType(problem);
  std::vector<std::byte> bytes(output.size() * SizeBytes(type));
  for (size_t i = 0; i < output.size(); ++i) {
    Encode(type, output[i], bytes.data() + i * SizeBytes(type));
  }
  return CompareOutput(bytes, data, problem);
}

// Rounds an intermediate result.
using Round = double (*)(double);
double ToF32(double value) { return static_cast<float>(value); }
double ToF16(double value) { return FloatFromF16(F16FromFloat(static_cast<float>(value))); }
double ToBf16(double value) { return FloatFromBf16(Bf16FromFloat(static_cast<float>(value))); }

// The next f32 on the side of zero, unless `value` is one.
double TowardZero(double value) {
  const float nearest = static_cast<float>(value);
  return std::abs(nearest) > std::abs(value) ? std::nextafter(nearest, 0.0F) : nearest;
}

// A packed GEMM, summed term by term with every product and sum rounded, without the last `dropped`
// terms.
std::vector<double> SumTermByTerm(const Problem& problem, const ProblemData& data, Round round,
                                  int64_t dropped = 0) {
  const Gemm& gemm = problem.Get<Gemm>();
  const std::vector<double> a = Input(problem, data, 0);
  const std::vector<double> b = Input(problem, data, 1);
  std::vector<double> c(static_cast<size_t>(gemm.m * gemm.n));
  for (int64_t j = 0; j < gemm.n; ++j) {
    for (int64_t i = 0; i < gemm.m; ++i) {
      double sum = 0;
      for (int64_t l = 0; l < gemm.k - dropped; ++l) {
        const double product =
            a[static_cast<size_t>(i + l * gemm.m)] * b[static_cast<size_t>(l + j * gemm.k)];
        sum = round(sum + round(product));
      }
      c[static_cast<size_t>(i + j * gemm.m)] = sum;
    }
  }
  return c;
}

Problem Product(int64_t size, int64_t k, DataType type) {
  Gemm gemm = PackedGemm(size, size, k, type);
  gemm.c_type = type;
  return Normalized(gemm);
}

class LengthTest : public testing::TestWithParam<int64_t> {};
INSTANTIATE_TEST_SUITE_P(K, LengthTest, testing::Values(1, 2, 7, 64, 576, 4608, 20'000));

TEST_P(LengthTest, SumsTermByTermInF32AreAccepted) {
  const Problem problem = Product(24, GetParam(), DataType::kF32);
  const ProblemData data = *ProblemData::Create(problem, 1);

  const Verdict verdict = Judge(problem, data, SumTermByTerm(problem, data, ToF32));

  EXPECT_FALSE(verdict.failure.has_value()) << verdict.failure->message;
  EXPECT_LT(verdict.max_error, 0.8);
}

TEST_P(LengthTest, Bf16WithF32AccumulationIsAccepted) {
  const Problem problem = Product(24, GetParam(), DataType::kBf16);
  const ProblemData data = *ProblemData::Create(problem, 2);

  const Verdict verdict = Judge(problem, data, SumTermByTerm(problem, data, ToF32));

  EXPECT_FALSE(verdict.failure.has_value()) << verdict.failure->message;
}

// Eight products at a time are added to the sum exactly, and bits beyond f32 are truncated.
TEST_P(LengthTest, SumsThatTensorCoresCutOffAreAccepted) {
  Gemm gemm = PackedGemm(24, 24, GetParam(), DataType::kBf16);
  gemm.c_type = DataType::kF32;  // No rounding at the end that would hide the loss of the sum.
  const Problem problem = Normalized(gemm);
  const ProblemData data = *ProblemData::Create(problem, 1);
  const std::vector<double> a = Input(problem, data, 0);
  const std::vector<double> b = Input(problem, data, 1);
  std::vector<double> c(static_cast<size_t>(gemm.m * gemm.n));

  for (int64_t place = 0; place < gemm.m * gemm.n; ++place) {
    const int64_t i = place % gemm.m;
    const int64_t j = place / gemm.m;
    double sum = 0;
    for (int64_t l = 0; l < gemm.k; ++l) {
      sum += a[static_cast<size_t>(i + l * gemm.m)] * b[static_cast<size_t>(l + j * gemm.k)];
      if (l % 8 == 7) sum = TowardZero(sum);
    }
    c[static_cast<size_t>(place)] = TowardZero(sum);
  }

  const Verdict verdict = Judge(problem, data, c);
  EXPECT_FALSE(verdict.failure.has_value()) << verdict.failure->message;
  EXPECT_LT(verdict.max_error, 0.8);
}

// One step of a tensor core of Hopper: truncates bits more than 13 places below the leading bit of
// the largest.
double AddedInAStep(double sum, const std::vector<double>& products) {
  double largest = std::abs(sum);
  for (const double product : products) largest = std::max(largest, std::abs(product));
  const double unit = std::ldexp(1, std::ilogb(largest) - 13);
  double units = std::trunc(sum / unit);
  for (const double product : products) units += std::trunc(product / unit);
  return units * unit;
}

// Sums of 32 products at a time, added in f32 after every `promoted` products.
std::vector<double> SumOfF8(const Problem& problem, const ProblemData& data, int64_t promoted) {
  const Gemm& gemm = problem.Get<Gemm>();
  const std::vector<double> a = Input(problem, data, 0);
  const std::vector<double> b = Input(problem, data, 1);
  std::vector<double> c(static_cast<size_t>(gemm.m * gemm.n));
  for (size_t place = 0; place < c.size(); ++place) {
    const int64_t i = static_cast<int64_t>(place) % gemm.m;
    const int64_t j = static_cast<int64_t>(place) / gemm.m;
    double sum = 0;
    for (int64_t first = 0; first < gemm.k; first += 32) {
      std::vector<double> products;
      for (int64_t l = first; l < std::min(first + 32, gemm.k); ++l) {
        products.push_back(a[static_cast<size_t>(i + l * gemm.m)] *
                           b[static_cast<size_t>(l + j * gemm.k)]);
      }
      sum = AddedInAStep(sum, products);
      if ((first + 32) % promoted != 0) continue;
      c[place] = ToF32(c[place] + sum);
      sum = 0;
    }
    c[place] = ToF32(c[place] + sum);
  }
  return c;
}

Problem ProductOfF8(int64_t k) {
  Gemm gemm = PackedGemm(24, 24, k, DataType::kF8E4M3);
  gemm.c_type = DataType::kF32;
  return Normalized(gemm);
}

TEST_P(LengthTest, SumsOfF8ThatTensorCoresCutOffAreAccepted) {
  const Problem problem = ProductOfF8(GetParam());
  const ProblemData data = *ProblemData::Create(problem, 1);

  const Verdict verdict = Judge(problem, data, SumOfF8(problem, data, 128));

  EXPECT_FALSE(verdict.failure.has_value()) << verdict.failure->message;
  EXPECT_LT(verdict.max_error, 0.8);
  RecordProperty("max_error", std::to_string(verdict.max_error));
}

TEST(ToleranceTest, FastAccumulationOfLongSumsOfF8IsRejected) {
  const Problem problem = ProductOfF8(20'000);
  const ProblemData data = *ProblemData::Create(problem, 1);

  EXPECT_TRUE(Judge(problem, data, SumOfF8(problem, data, 1 << 20)).failure.has_value());
}

TEST_P(LengthTest, DroppedLastTermOfF8IsRejected) {
  const Problem problem = ProductOfF8(GetParam());
  const ProblemData data = *ProblemData::Create(problem, 3);

  const Verdict verdict = Judge(problem, data,
                                SumTermByTerm(
                                    problem, data, [](double x) { return x; }, 1));

  EXPECT_TRUE(verdict.failure.has_value());
}

TEST_P(LengthTest, DroppedLastTermIsRejected) {
  for (const DataType type : {DataType::kF32, DataType::kF64, DataType::kBf16, DataType::kF16}) {
    const Problem problem = Product(24, GetParam(), type);
    const ProblemData data = *ProblemData::Create(problem, 3);

    const Verdict verdict = Judge(problem, data,
                                  SumTermByTerm(
                                      problem, data, [](double x) { return x; }, 1));

    EXPECT_TRUE(verdict.failure.has_value()) << Name(type);
  }
}

TEST_P(LengthTest, F16AccumulationOfAnF32ProblemIsRejected) {
  const Problem problem = Product(24, GetParam(), DataType::kF32);
  const ProblemData data = *ProblemData::Create(problem, 4);

  EXPECT_TRUE(Judge(problem, data, SumTermByTerm(problem, data, ToF16)).failure.has_value());
}

TEST(ToleranceTest, Bf16AccumulationOfABf16ProblemIsRejected) {
  const Problem problem = Product(24, 64, DataType::kBf16);
  const ProblemData data = *ProblemData::Create(problem, 5);

  EXPECT_TRUE(Judge(problem, data, SumTermByTerm(problem, data, ToBf16)).failure.has_value());
}

TEST(ToleranceTest, RoundedInputsPassInTheModeThatAllowsThemOnly) {
  Gemm gemm = PackedGemm(24, 24, 300);
  gemm.math = MathMode::kBf16;
  const Problem fast = Normalized(gemm);
  gemm.math = MathMode::kStrict;
  const Problem strict = Normalized(gemm);
  const ProblemData data = *ProblemData::Create(strict, 6);
  std::vector<double> a = Input(strict, data, 0);
  std::vector<double> b = Input(strict, data, 1);
  std::vector<double> c(24 * 24, 0.0);

  for (size_t i = 0; i < c.size(); ++i) {
    for (size_t l = 0; l < 300; ++l) {
      c[i] += ToBf16(a[i % 24 + l * 24]) * ToBf16(b[l + i / 24 * 300]);
    }
  }

  const ProblemData fast_data = *ProblemData::Create(fast, 6);
  EXPECT_TRUE(Judge(strict, data, c).failure.has_value());
  EXPECT_FALSE(Judge(fast, fast_data, c).failure.has_value());
}

TEST(ToleranceTest, IntermediateRoundingBeforeABiasIsAccepted) {
  Gemm gemm = PackedGemm(24, 24, 64, DataType::kBf16);
  gemm.c_type = DataType::kBf16;
  gemm.bias = Bias::kPerRow;
  const Problem problem = Normalized(gemm);
  const ProblemData data = *ProblemData::Create(problem, 7);
  std::vector<double> c = SumTermByTerm(problem, data, ToF32);
  const std::vector<double> bias = Input(problem, data, 2);

  for (size_t i = 0; i < c.size(); ++i) c[i] = ToBf16(c[i]) + bias[i % 24];

  EXPECT_FALSE(Judge(problem, data, c).failure.has_value());
}

// Winograd's F(4x4, 3x3) in f32 with the matrices of Lavin and Gray, all sums in f32.
class Winograd {
 public:
  using Tile = std::array<std::array<float, 6>, 6>;

  static Tile TransformInput(const Tile& d) {
    static constexpr float kB[6][6] = {{4, 0, -5, 0, 1, 0},  {0, -4, -4, 1, 1, 0},
                                       {0, 4, -4, -1, 1, 0}, {0, -2, -1, 2, 1, 0},
                                       {0, 2, -1, -2, 1, 0}, {0, 4, 0, -5, 0, 1}};
    return Sandwich<6, 6>(kB, d);
  }
  static Tile TransformFilter(const Tile& g) {
    static constexpr float kG[6][3] = {{1 / 4.f, 0, 0},
                                       {-1 / 6.f, -1 / 6.f, -1 / 6.f},
                                       {-1 / 6.f, 1 / 6.f, -1 / 6.f},
                                       {1 / 24.f, 1 / 12.f, 1 / 6.f},
                                       {1 / 24.f, -1 / 12.f, 1 / 6.f},
                                       {0, 0, 1}};
    return Sandwich<6, 3>(kG, g);
  }
  static Tile TransformOutput(const Tile& m) {
    static constexpr float kA[4][6] = {
        {1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}};
    return Sandwich<4, 6>(kA, m);
  }

 private:
  // matrix * tile * transpose(matrix).
  template <size_t kRows, size_t kColumns>
  static Tile Sandwich(const float (&matrix)[kRows][kColumns], const Tile& tile) {
    Tile left = {}, result = {};
    for (size_t i = 0; i < kRows; ++i) {
      for (size_t j = 0; j < kColumns; ++j) {
        for (size_t l = 0; l < kColumns; ++l) left[i][j] += matrix[i][l] * tile[l][j];
      }
    }
    for (size_t i = 0; i < kRows; ++i) {
      for (size_t j = 0; j < kRows; ++j) {
        for (size_t l = 0; l < kColumns; ++l) result[i][j] += left[i][l] * matrix[j][l];
      }
    }
    return result;
  }
};

constexpr size_t kImage = 18;  // Input extent; the output is 16 x 16, four tiles each way.
constexpr size_t kOutput = 16;

Problem ThreeByThree(int64_t channels) {
  return *ParseProblem("conv@1{dir=fwd,n=1,c=" + std::to_string(channels) +
                       ",h=18,w=18,k=4,fh=3,fw=3}");
}

Winograd::Tile Cut(const std::vector<double>& from, size_t begin, size_t row, size_t size) {
  Winograd::Tile tile = {};
  for (size_t i = 0; i < size; ++i) {
    for (size_t j = 0; j < size; ++j) tile[i][j] = static_cast<float>(from[begin + i * row + j]);
  }
  return tile;
}

std::vector<double> ConvolveByWinograd(const Problem& problem, const ProblemData& data) {
  const auto channels = static_cast<size_t>(problem.Get<Conv>().in_channels);
  const std::vector<double> x = Input(problem, data, 0);
  const std::vector<double> w = Input(problem, data, 1);
  std::vector<double> y(4 * kOutput * kOutput);
  for (size_t k = 0; k < 4; ++k) {
    for (size_t t = 0; t < 16; ++t) {
      const size_t h = t / 4 * 4, column = t % 4 * 4;
      Winograd::Tile sum = {};
      for (size_t c = 0; c < channels; ++c) {
        const auto v =
            Winograd::TransformInput(Cut(x, (c * kImage + h) * kImage + column, kImage, 6));
        const auto u = Winograd::TransformFilter(Cut(w, (k * channels + c) * 9, 3, 3));
        for (size_t i = 0; i < 36; ++i) sum[i / 6][i % 6] += u[i / 6][i % 6] * v[i / 6][i % 6];
      }
      const auto out = Winograd::TransformOutput(sum);
      for (size_t i = 0; i < 16; ++i) {
        y[(k * kOutput + h + i / 4) * kOutput + column + i % 4] = out[i / 4][i % 4];
      }
    }
  }
  return y;
}

TEST(ToleranceTest, WinogradInF32IsAccepted) {
  for (const int64_t channels : {1, 3, 16, 64, 256, 512}) {
    const Problem problem = ThreeByThree(channels);
    const ProblemData data = *ProblemData::Create(problem, 8);

    const Verdict verdict = Judge(problem, data, ConvolveByWinograd(problem, data));

    EXPECT_FALSE(verdict.failure.has_value()) << channels << ": " << verdict.failure->message;
    RecordProperty("max_error_" + std::to_string(channels), std::to_string(verdict.max_error));
  }
}

TEST(ToleranceTest, WrongTapOfAConvolutionIsRejected) {
  const Problem problem = ThreeByThree(512);
  const ProblemData data = *ProblemData::Create(problem, 9);
  const std::vector<double> x = Input(problem, data, 0);
  const std::vector<double> w = Input(problem, data, 1);
  std::vector<double> y(data.reference().begin(), data.reference().end());

  // In the last channel only, the tap (2, 2) reads the pixel of its left neighbour.
  for (size_t i = 0; i < kOutput * kOutput; ++i) {
    const size_t pixel = (511 * kImage + i / kOutput + 2) * kImage + i % kOutput + 2;
    y[i] += w[511 * 9 + 8] * (x[pixel - 1] - x[pixel]);
  }

  EXPECT_TRUE(Judge(problem, data, y).failure.has_value());
}

TEST(ToleranceTest, IsTighterThanTheEffectOfOneTermUpToRealReductionLengths) {
  // Backward weights of the first layer of ResNet-50 at batch 8: the longest reduction of the
  // default list.
  const Problem problem = *ParseProblem(
      "conv@1{dir=bwd_weights,n=8,c=3,h=224,w=224,k=64,fh=7,fw=7,sh=2,sw=2,ph=3,pw=3}");

  EXPECT_LT(ToleranceOf(problem, 2).At(0).absolute, 0.05);
}

TEST(ToleranceTest, AnIntegerIsRightOrWrong) {
  const Problem problem = *ParseProblem("gemm@1{m=40,n=24,k=560,type=i8,ctype=i32,ldc=43}");
  const ProblemData data = *ProblemData::Create(problem, 1);
  std::vector<std::byte> output(data.reference().size() * sizeof(int32_t));
  FillWithPoison(output);
  const auto write = [&](size_t at, double value) {
    Encode(DataType::kI32, value, output.data() + at * sizeof(int32_t));
  };
  for (size_t i = 0; i < data.reference().size(); ++i) {
    if (!std::isnan(data.reference()[i])) write(i, data.reference()[i]);
  }

  const Verdict right = CompareOutput(output, data, problem);
  write(43, data.reference()[43] + 1);
  const Verdict wrong = CompareOutput(output, data, problem);

  EXPECT_FALSE(right.failure.has_value()) << right.failure->message;
  EXPECT_EQ(right.max_error, 0);
  ASSERT_TRUE(wrong.failure.has_value());
  EXPECT_EQ(wrong.failure->kind, FailureKind::kWrongResult);
  EXPECT_NE(wrong.failure->message.find("1 of 960 elements"), std::string::npos)
      << wrong.failure->message;
}

}  // namespace
}  // namespace attune
