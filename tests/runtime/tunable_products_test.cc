// The tunable layer serves right results on the processor: doubles of every small shape and layout,
// and the shape that crashed under PyTorch's wildcards.
#include <algorithm>
#include <cstdint>
#include <fstream>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "attune/base/random.h"
#include "tests/runtime/tunable_world.h"

namespace attune {
namespace {

using testing::Each;
using testing::HasSubstr;

struct Form {
  int32_t trans_a = 0;
  int32_t trans_b = 0;
  int64_t gap = 0;  // Rows between the columns of every matrix.
  int64_t batch_count = 1;
  double beta = 0;
};

// A product of whole numbers, so that it is exact in any order of summation.
class DoubleProduct {
 public:
  DoubleProduct(int64_t m, int64_t n, int64_t k, const Form& form) : form_(form) {
    gemm_.m = m;
    gemm_.n = n;
    gemm_.k = k;
    gemm_.trans_a = form.trans_a;
    gemm_.trans_b = form.trans_b;
    gemm_.lda = (form.trans_a != 0 ? k : m) + form.gap;
    gemm_.ldb = (form.trans_b != 0 ? n : k) + form.gap;
    gemm_.ldc = m + form.gap;
    gemm_.batch_count = form.batch_count;
    gemm_.stride_a = gemm_.lda * (form.trans_a != 0 ? m : k);
    gemm_.stride_b = gemm_.ldb * (form.trans_b != 0 ? k : n);
    gemm_.stride_c = gemm_.ldc * n;
    gemm_.type = ATTUNE_F64;
    gemm_.alignment_bytes = sizeof(double);  // One problem wherever the memory happens to be.
    a_ = Numbers(gemm_.stride_a * form.batch_count, 7);
    b_ = Numbers(gemm_.stride_b * form.batch_count, 5);
    before_ = Numbers(gemm_.stride_c * form.batch_count, 3);
    expected_ = before_;
    for (int64_t batch = 0; batch < form.batch_count; ++batch) {
      for (int64_t j = 0; j < n; ++j) {
        for (int64_t i = 0; i < m; ++i) Expect(batch, i, j);
      }
    }
  }

  // The problem's text; several structs may stand for it where a size is 1.
  std::string Text() const {
    char* text = nullptr;
    const int beta_class = form_.beta == 0 ? 0 : form_.beta == 1 ? 1 : 2;
    EXPECT_EQ(attune_gemm_text(&gemm_, 1, beta_class, &text), ATTUNE_OK) << attune_last_message();
    const std::string copy = text == nullptr ? "" : text;
    attune_free(text);
    return copy;
  }
  const std::vector<double>& expected() const { return expected_; }
  // The whole of C, gaps included.
  std::vector<double> Run(attune_runtime* runtime) const {
    std::vector<double> c = before_;
    attune_arguments arguments = ATTUNE_ARGUMENTS_INIT;
    arguments.a = a_.data();
    arguments.b = b_.data();
    arguments.c = c.data();
    arguments.beta = form_.beta;
    EXPECT_EQ(attune_run_gemm(runtime, &gemm_, &arguments), ATTUNE_OK) << attune_last_message();
    return c;
  }

 private:
  static std::vector<double> Numbers(int64_t count, int64_t period) {
    std::vector<double> numbers;
    for (int64_t i = 0; i < count; ++i) {
      numbers.push_back(static_cast<double>(i % period - period / 2));
    }
    return numbers;
  }

  void Expect(int64_t batch, int64_t i, int64_t j) {
    double sum = 0;
    for (int64_t l = 0; l < gemm_.k; ++l) {
      const int64_t a = form_.trans_a != 0 ? l + i * gemm_.lda : i + l * gemm_.lda;
      const int64_t b = form_.trans_b != 0 ? j + l * gemm_.ldb : l + j * gemm_.ldb;
      sum += a_[static_cast<size_t>(batch * gemm_.stride_a + a)] *
             b_[static_cast<size_t>(batch * gemm_.stride_b + b)];
    }
    const auto c = static_cast<size_t>(batch * gemm_.stride_c + i + j * gemm_.ldc);
    expected_[c] = sum + form_.beta * before_[c];
    // With beta 0 the output is not read.
    if (form_.beta == 0) before_[c] = std::numeric_limits<double>::quiet_NaN();
  }

  const Form form_;
  attune_gemm gemm_{};
  std::vector<double> a_;
  std::vector<double> b_;
  std::vector<double> before_;
  std::vector<double> expected_;
};

TEST_F(TunableRuntime, MatmulSmallBruteForceInDoubles) {
  world_.Set("ATTUNE_DEVICE", "cpu");
  attune_options options = ATTUNE_OPTIONS_INIT;
  options.policy = ATTUNE_INLINE;
  options.per_problem_ms = 50;
  EventLog log;
  const RuntimeHandle runtime = MakeRuntime(options);
  ASSERT_NE(runtime, nullptr) << attune_last_message();
  log.Listen(runtime.get());
  std::set<std::string> problems;
  for (const int64_t m : {1, 3}) {
    for (const int64_t n : {1, 4}) {
      for (const int64_t k : {1, 5}) {
        for (const Form& form : {Form{}, Form{1, 0}, Form{0, 1}, Form{1, 1}, Form{.gap = 2},
                                 Form{.batch_count = 2}, Form{.beta = 1}, Form{.beta = 3}}) {
          const DoubleProduct product(m, n, k, form);
          problems.insert(product.Text());

          // Tuned first, then a hit.
          EXPECT_EQ(product.Run(runtime.get()), product.expected());
          EXPECT_EQ(product.Run(runtime.get()), product.expected());
        }
      }
    }
  }

  EXPECT_EQ(CountersOf(runtime.get()).tunings, problems.size())
      << log.Message(ATTUNE_EVENT_TUNING_FAILED);
  EXPECT_EQ(CountersOf(runtime.get()).by_provenance[ATTUNE_FROM_RECORD],
            CountersOf(runtime.get()).misses);
  EXPECT_FALSE(KeysIn(Results()).empty());
  EXPECT_THAT(KeysIn(Results()), Each(HasSubstr("TunableOp_double_")));
}

// TunableOp's test compares a scaled product, which nothing here computes; this is a plain one.
TEST_F(TunableRuntime, RowwiseScaledGemmNumericsOfAPlainProduct) {
  world_.Set("ATTUNE_DEVICE", "cpu");
  Set({{"TUNING", "0"}});
  std::ofstream(world_.folder() / "results0.csv") << "GemmTunableOp_float_NN,nn_37_29_53,Default\n";
  attune_gemm gemm{};
  gemm.m = 37;
  gemm.n = 29;
  gemm.k = 53;
  std::vector<float> a(static_cast<size_t>(gemm.m * gemm.k));
  std::vector<float> b(static_cast<size_t>(gemm.k * gemm.n));
  Random random(5);
  for (std::vector<float>* operand : {&a, &b}) {
    for (float& value : *operand) value = static_cast<float>(random.Uniform() - 0.5);
  }
  const auto product = [&](attune_provenance provenance) {
    std::vector<float> c(static_cast<size_t>(gemm.m * gemm.n));
    const RuntimeHandle runtime = MakeRuntime(ATTUNE_NEVER);
    attune_arguments arguments = ATTUNE_ARGUMENTS_INIT;
    arguments.a = a.data();
    arguments.b = b.data();
    arguments.c = c.data();
    EXPECT_EQ(attune_run_gemm(runtime.get(), &gemm, &arguments), ATTUNE_OK)
        << attune_last_message();
    EXPECT_EQ(CountersOf(runtime.get()).by_provenance[provenance], 1u);
    return c;
  };

  const std::vector<float> overridden = product(ATTUNE_FROM_FORCE);
  Set({{"ENABLED", "0"}});
  const std::vector<float> plain = product(ATTUNE_FROM_DEFAULT);

  // Bit for bit.
  EXPECT_EQ(overridden, plain);
}

// K is 11088, and the wildcard is of 11089: PyTorch served its result all the same.
TEST_F(TunableRuntime, TheShapeThatCrashedInProductionIsServedByDefault) {
  world_.Set("ATTUNE_DEVICE", "cpu");
  Set({{"TUNING", "0"}, {"WILDCARD_FALLBACK", "1"}});
  std::ofstream(world_.folder() / "results0.csv")
      << "GemmTunableOp_float_TN,tn_2048_*_11089_ld_11089_11089_2048,Default\n";
  const RuntimeHandle runtime = MakeRuntime(ATTUNE_NEVER);
  ASSERT_NE(runtime, nullptr) << attune_last_message();
  attune_gemm gemm{};
  gemm.m = gemm.n = 2048;
  gemm.k = 11'088;
  gemm.trans_a = 1;
  const std::vector<float> ones(static_cast<size_t>(gemm.m * gemm.k), 1);
  std::vector<float> c(static_cast<size_t>(gemm.m * gemm.n), -1);
  attune_arguments arguments = ATTUNE_ARGUMENTS_INIT;
  arguments.a = arguments.b = ones.data();
  arguments.c = c.data();

  ASSERT_EQ(attune_run_gemm(runtime.get(), &gemm, &arguments), ATTUNE_OK) << attune_last_message();

  EXPECT_TRUE(std::all_of(c.begin(), c.end(), [](float value) { return value == 11'088; }));
  EXPECT_EQ(CountersOf(runtime.get()).by_provenance[ATTUNE_FROM_DEFAULT], 1u);
  EXPECT_EQ(TunableCountersOf(runtime.get()).misses, 1);
  // The line serves its own problem.
  attune_plan* plan = nullptr;
  ASSERT_EQ(
      attune_plan_text(runtime.get(), "gemm@1{m=2048,n=2048,k=11089,ta=t}", ATTUNE_NO_LIMIT, &plan),
      ATTUNE_OK)
      << attune_last_message();
  attune_plan_release(plan);
  EXPECT_EQ(CountersOf(runtime.get()).by_provenance[ATTUNE_FROM_FORCE], 1u);
  EXPECT_EQ(TunableCountersOf(runtime.get()).hits_by_wildcard, 1);
}

}  // namespace
}  // namespace attune
