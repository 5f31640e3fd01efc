// Products of i8 into i32: exact, and scaled with whole numbers only.
#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/runtime_world.h"

namespace attune {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr int64_t kRows = 33;
constexpr int64_t kColumns = 17;
// Sums exceed 2^24, which f32 does not hold exactly.
constexpr int64_t kDepth = 2100;

struct Product {
  std::vector<int8_t> a = std::vector<int8_t>(kRows * kDepth);
  std::vector<int8_t> b = std::vector<int8_t>(kDepth * kColumns);
  std::vector<int32_t> c = std::vector<int32_t>(kRows * kColumns);
  attune_gemm gemm{};
  attune_arguments call = ATTUNE_ARGUMENTS_INIT;

  Product() {
    for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<int8_t>(127 - static_cast<int>(i % 2));
    for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<int8_t>(127 - static_cast<int>(i % 3));
    for (size_t i = 0; i < c.size(); ++i) c[i] = (1 << 24) + 2 * static_cast<int32_t>(i) + 1;
    gemm.m = kRows;
    gemm.n = kColumns;
    gemm.k = kDepth;
    gemm.type = ATTUNE_I8;
    call.a = a.data();
    call.b = b.data();
    call.c = c.data();
  }
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;

  std::vector<int32_t> Right(int64_t alpha, int64_t beta) const {
    std::vector<int32_t> right(c.size());
    for (size_t i = 0; i < static_cast<size_t>(kRows); ++i) {
      for (size_t j = 0; j < static_cast<size_t>(kColumns); ++j) {
        int64_t sum = 0;
        for (size_t p = 0; p < static_cast<size_t>(kDepth); ++p) {
          sum += int64_t{a[i + p * kRows]} * b[p + j * kDepth];
        }
        right[i + j * kRows] = static_cast<int32_t>(alpha * sum + beta * c[i + j * kRows]);
      }
    }
    return right;
  }
};

class IntegerProducts : public ::testing::Test {
 protected:
  void SetUp() override {
    world_.Set("ATTUNE_PLUGINS", std::nullopt);
    attune_options options = ATTUNE_OPTIONS_INIT;
    options.device = "cpu";
    options.policy = ATTUNE_NEVER;
    options.deterministic = 1;  // The preferred solver serves the first call.
    runtime_ = MakeRuntime(options);
    ASSERT_NE(runtime_, nullptr) << attune_last_message();
  }

  RuntimeWorld world_;
  RuntimeHandle runtime_;
};

// oneDNN, which serves untuned shapes, rounds all but the plain sum to f32.
TEST_F(IntegerProducts, AreExactWhateverTheyAreScaledWith) {
  for (const int alpha : {1, -1, 2, 7}) {
    for (const int beta : {0, 1, -2, 5}) {
      Product product;
      const std::vector<int32_t> right = product.Right(alpha, beta);
      product.call.alpha = alpha;
      product.call.beta = beta;

      ASSERT_EQ(attune_run_gemm(runtime_.get(), &product.gemm, &product.call), ATTUNE_OK)
          << attune_last_message();

      EXPECT_EQ(product.c, right) << alpha << " " << beta;
    }
  }
}

TEST_F(IntegerProducts, AFractionIsRefusedByEveryKindOfCall) {
  Product product;
  const std::vector<int32_t> before = product.c;
  attune_plan* made = nullptr;
  attune_plan* named = nullptr;
  ASSERT_EQ(attune_plan_gemm(runtime_.get(), &product.gemm, 2, 0, ATTUNE_NO_LIMIT, &made),
            ATTUNE_OK)
      << attune_last_message();
  ASSERT_EQ(attune_plan_text(runtime_.get(),
                             "gemm@1{m=33,n=17,k=2100,type=i8,ctype=i32,alpha=other,beta=other}",
                             ATTUNE_NO_LIMIT, &named),
            ATTUNE_OK)
      << attune_last_message();

  product.call.alpha = 0.5;
  EXPECT_EQ(attune_run_gemm(runtime_.get(), &product.gemm, &product.call), ATTUNE_INVALID_ARGUMENT);
  EXPECT_THAT(attune_last_message(),
              AllOf(HasSubstr("cannot run gemm@1{m=33"), HasSubstr("alpha is 0.5"),
                    HasSubstr("take whole numbers from -2147483648 to 2147483647")));
  EXPECT_EQ(attune_plan_run(made, &product.call), ATTUNE_INVALID_ARGUMENT);
  EXPECT_THAT(attune_last_message(), HasSubstr("alpha is 0.5"));
  product.call.alpha = 2;
  EXPECT_EQ(attune_plan_run(made, &product.call), ATTUNE_OK) << attune_last_message();
  product.c = before;
  product.call.beta = 1e10;
  EXPECT_EQ(attune_plan_run(named, &product.call), ATTUNE_INVALID_ARGUMENT);
  EXPECT_THAT(attune_last_message(), HasSubstr("beta is 10000000000"));

  EXPECT_EQ(product.c, before);
  attune_plan_release(made);
  attune_plan_release(named);
}

TEST_F(IntegerProducts, ACallThatIsRefusedIsNoMiss) {
  Product product;
  product.call.beta = 0.25;

  EXPECT_EQ(attune_run_gemm(runtime_.get(), &product.gemm, &product.call), ATTUNE_INVALID_ARGUMENT);

  EXPECT_EQ(CountersOf(runtime_.get()).misses, 0u);
}

}  // namespace
}  // namespace attune
