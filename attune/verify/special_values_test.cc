#include "attune/verify/special_values.h"

#include <cfloat>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/element.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/verify/heap_device.h"

namespace attune {
namespace {

using testing::HasSubstr;

// One term a * b of a sum, and its place.
struct Term {
  int64_t row, column, depth;
  double a, b;
};
using TermOf = std::function<double(const Term&)>;
using ActivationOf = std::function<double(double)>;

double Plainly(const Term& term) { return term.a * term.b; }
double ReluKeepingNan(double x) { return x < 0 ? 0 : x; }

// A naive GEMM with given terms and activation.
class NaiveProduct final : public Executable {
 public:
  NaiveProduct(const Gemm& gemm, TermOf term, ActivationOf activation)
      : gemm_(gemm), term_(std::move(term)), activation_(std::move(activation)) {}
  size_t workspace_bytes() const override { return 0; }
  Status Run(const Arguments& arguments) override {
    for (int64_t item = 0; item < gemm_.batch_count; ++item) Multiply(arguments, item);
    return Status::Ok();
  }

 private:
  void Multiply(const Arguments& arguments, int64_t item) const {
    const auto* a = static_cast<const std::byte*>(arguments.operands[0].handle);
    const auto* b = static_cast<const std::byte*>(arguments.operands[1].handle);
    auto* c = static_cast<std::byte*>(arguments.operands.back().handle);
    for (int64_t i = 0; i < gemm_.m; ++i) {
      for (int64_t j = 0; j < gemm_.n; ++j) {
        double sum = 0;
        for (int64_t l = 0; l < gemm_.k; ++l) {
          const int64_t at_a =
              gemm_.trans_a == Transpose::kNo ? i + l * gemm_.lda : l + i * gemm_.lda;
          const int64_t at_b =
              gemm_.trans_b == Transpose::kNo ? l + j * gemm_.ldb : j + l * gemm_.ldb;
          sum += term_({i, j, l, DecodeElement(gemm_.type, a, item * gemm_.stride_a + at_a),
                        DecodeElement(gemm_.type, b, item * gemm_.stride_b + at_b)});
        }
        const int64_t at_c = item * gemm_.stride_c + i + j * gemm_.ldc;
        double value = arguments.alpha * sum;
        if (gemm_.beta != ScalarClass::kZero) {
          value += arguments.beta * DecodeElement(gemm_.c_type, c, at_c);
        }
        Encode(gemm_.c_type, activation_(value),
               c + at_c * static_cast<int64_t>(SizeBytes(gemm_.c_type)));
      }
    }
  }

  const Gemm gemm_;
  const TermOf term_;
  const ActivationOf activation_;
};

std::optional<Failure> Check(
    const std::string& text, const TermOf& term,
    const ActivationOf& activation = [](double x) { return x; }) {
  const Problem problem = *ParseProblem(text);
  HeapDevice device;
  const ProblemData data = *ProblemData::Create(problem, 1);
  BoundOperands operands = *BoundOperands::Create(device, problem, data);
  NaiveProduct product(problem.Get<Gemm>(), term, activation);
  auto failure = CheckSpecialValues(product, device, operands, data, problem);
  // The operands are restored.
  EXPECT_FALSE(operands.CheckInputs()->has_value()) << text;
  EXPECT_FALSE(operands.CheckRedzones()->has_value()) << text;
  return failure;
}

// Many or few rows and columns, one of either, every transposition, batches and types.
const std::vector<std::string> kPlantedProblems = {
    "gemm@1{m=9,n=8,k=7}",
    "gemm@1{m=8,n=20,k=1,ta=t,beta=other}",
    "gemm@1{m=33,n=17,k=70,tb=t,alpha=other,beta=one}",
    "gemm@1{m=40,n=12,k=5,ta=t,tb=t,type=f64,beta=other}",
    "gemm@1{m=31,n=1,k=51}",
    "gemm@1{m=1,n=31,k=51,tb=t,type=f64}",
    "gemm@1{m=1,n=1,k=3}",
    "gemm@1{m=3,n=200,k=9,lda=5,ldc=7}",
    "gemm@1{m=12,n=13,k=14,type=bf16,ctype=f32}",
    "gemm@1{m=12,n=13,k=14,type=f16,beta=other}",
    "gemm@1{m=10,n=9,k=8,batch=3,beta=one}",
};

TEST(SpecialValuesTest, ProductsThatFollowTheStandardPass) {
  for (const std::string& text : kPlantedProblems) {
    const auto failure = Check(text, Plainly);
    EXPECT_FALSE(failure.has_value()) << text << ": " << failure->message;
  }
  const auto relu = Check("gemm@1{m=9,n=8,k=7,act=relu}", Plainly, ReluKeepingNan);
  EXPECT_FALSE(relu.has_value()) << relu->message;
}

TEST(SpecialValuesTest, SkippingZerosOfEitherMatrixIsFound) {
  for (const std::string& text : kPlantedProblems) {
    const auto of_a = Check(text, [](const Term& t) { return t.a == 0 ? 0 : t.a * t.b; });
    const auto of_b = Check(text, [](const Term& t) { return t.b == 0 ? 0 : t.a * t.b; });

    ASSERT_TRUE(of_a.has_value()) << text;
    ASSERT_TRUE(of_b.has_value()) << text;
    EXPECT_EQ(of_a->kind, FailureKind::kWrongResult);
    EXPECT_THAT(of_a->message, HasSubstr("expected nan"));
  }
}

TEST(SpecialValuesTest, SkippingZerosOnlyInTheLastLinesIsFound) {
  for (const std::string& text : kPlantedProblems) {
    const auto gemm = ParseProblem(text)->Get<Gemm>();
    const auto in_last_row = Check(text, [&](const Term& t) {
      const bool skips = t.a == 0 && t.row == gemm.m - 1 && t.depth == gemm.k - 1;
      return skips ? 0 : t.a * t.b;
    });
    const auto in_last_column = Check(text, [&](const Term& t) {
      const bool skips = t.b == 0 && t.column == gemm.n - 1 && t.depth == gemm.k - 1;
      return skips ? 0 : t.a * t.b;
    });

    EXPECT_TRUE(in_last_row.has_value()) << text;
    EXPECT_TRUE(in_last_column.has_value()) << text;
  }
}

TEST(SpecialValuesTest, SpreadingNanToNeighboursIsFound) {
  // A kernel may multiply the element behind the end of a column by zero.
  double before = 0;
  const auto failure = Check("gemm@1{m=9,n=8,k=7}", [&](const Term& t) {
    const double spoiled = t.a * t.b + 0 * before;
    before = t.depth == 6 ? t.b : 0;
    return spoiled;
  });

  EXPECT_TRUE(failure.has_value());
}

TEST(SpecialValuesTest, FlushingDenormalsIsFound) {
  const auto of_f32 = Check("gemm@1{m=9,n=8,k=7}",
                            [](const Term& t) { return std::abs(t.a) < FLT_MIN ? 0 : t.a * t.b; });
  const auto of_f64 = Check("gemm@1{m=20,n=20,k=300,type=f64}",
                            [](const Term& t) { return std::abs(t.a) < DBL_MIN ? 0 : t.a * t.b; });

  EXPECT_TRUE(of_f32.has_value());
  EXPECT_TRUE(of_f64.has_value());
}

TEST(SpecialValuesTest, AnActivationThatLosesNanIsFound) {
  const auto failure =
      Check("gemm@1{m=9,n=8,k=7,act=relu}", Plainly, [](double x) { return std::fmax(x, 0); });

  EXPECT_TRUE(failure.has_value());
}

TEST(SpecialValuesTest, IntegersAndAlphaZeroAreNotChecked) {
  const auto lose = [](const Term&) { return 0.0; };

  EXPECT_FALSE(Check("gemm@1{m=9,n=8,k=7,type=i8,ctype=i32}", lose).has_value());
  EXPECT_FALSE(Check("gemm@1{m=9,n=8,k=7,alpha=zero,beta=one}", lose).has_value());
}

}  // namespace
}  // namespace attune
