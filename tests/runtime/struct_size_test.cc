// Structs of programs that were compiled with an older or a later header, and structs without a
// size.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/runtime_world.h"

namespace attune {
namespace {

using testing::Each;
using testing::HasSubstr;

constexpr size_t kCapacity = 2;
constexpr auto kCanary = std::byte{0x5a};

// An array of solutions for a program with structs of `struct_size` bytes, with canaries behind it.
class Solutions {
 public:
  explicit Solutions(size_t struct_size)
      : struct_size_(struct_size),
        bytes_(kCapacity * struct_size + 2 * sizeof(attune_solution), kCanary) {
    std::memcpy(bytes_.data(), &struct_size, sizeof struct_size);
  }

  attune_code Ask(attune_runtime* runtime, const attune_gemm& gemm) {
    size_t count = 0;
    return attune_gemm_solutions(
        runtime, &gemm, 1, 0, reinterpret_cast<attune_solution*>(bytes_.data()), kCapacity, &count);
  }

  size_t StructSize(size_t i) const {
    size_t size = 0;
    std::memcpy(&size, bytes_.data() + i * struct_size_, sizeof size);
    return size;
  }
  std::string CandidateOf(size_t i) const {
    return reinterpret_cast<const char*>(bytes_.data() + i * struct_size_ +
                                         offsetof(attune_solution, candidate));
  }
  std::vector<std::byte> Behind() const {
    return {bytes_.begin() + static_cast<std::ptrdiff_t>(kCapacity * struct_size_), bytes_.end()};
  }

 private:
  const size_t struct_size_;
  std::vector<std::byte> bytes_;
};

attune_gemm Square(int64_t size) {
  attune_gemm gemm{};
  gemm.m = gemm.n = gemm.k = size;
  return gemm;
}

// Arguments of a product of ones, 8x8x8: all its elements are 8.
struct ProductOfOnes {
  attune_gemm gemm = Square(8);
  std::vector<float> ones = std::vector<float>(64, 1);
  std::vector<float> c = std::vector<float>(64);
  attune_arguments arguments = ATTUNE_ARGUMENTS_INIT;

  ProductOfOnes() {
    arguments.a = arguments.b = ones.data();
    arguments.c = c.data();
  }
  ProductOfOnes(const ProductOfOnes&) = delete;
  ProductOfOnes& operator=(const ProductOfOnes&) = delete;
};

TEST(StructSize, SolutionsOfAnySizeCanBeAskedForTwiceWithTheSameArray) {
  RuntimeWorld world;
  const RuntimeHandle runtime = MakeRuntime(ATTUNE_NEVER);
  ASSERT_NE(runtime, nullptr) << attune_last_message();
  constexpr size_t kOldest = offsetof(attune_solution, is_dynamic);

  for (const size_t size : {kOldest, sizeof(attune_solution), sizeof(attune_solution) + 64}) {
    Solutions solutions(size);
    for (int call = 0; call < 2; ++call) {
      ASSERT_EQ(solutions.Ask(runtime.get(), Square(16)), ATTUNE_OK) << attune_last_message();
      for (size_t i = 0; i < kCapacity; ++i) {
        EXPECT_EQ(solutions.StructSize(i), size) << i;
        EXPECT_THAT(solutions.CandidateOf(i), HasSubstr("fake.")) << i;
      }
      EXPECT_THAT(solutions.Behind(), Each(kCanary));
    }
  }
}

TEST(StructSize, OfSolutionsHasToBeASize) {
  RuntimeWorld world;
  const RuntimeHandle runtime = MakeRuntime(ATTUNE_NEVER);
  ASSERT_NE(runtime, nullptr) << attune_last_message();
  attune_solution solutions[kCapacity] = {};
  size_t count = 0;
  const attune_gemm gemm = Square(16);

  for (const size_t size : {size_t{0}, size_t{8}, sizeof(attune_solution) + 1, size_t{1} << 40}) {
    solutions[0].struct_size = size;
    EXPECT_EQ(attune_gemm_solutions(runtime.get(), &gemm, 1, 0, solutions, kCapacity, &count),
              ATTUNE_INVALID_ARGUMENT);
    EXPECT_THAT(attune_last_message(), HasSubstr("'struct_size'"));
  }
}

TEST(StructSize, OfArgumentsIsLookedAtBeforeTheyAreRead) {
  RuntimeWorld world;
  const RuntimeHandle runtime = MakeRuntime(ATTUNE_NEVER);
  ASSERT_NE(runtime, nullptr) << attune_last_message();
  ProductOfOnes product;
  const attune_conv conv{};
  attune_plan* plan = nullptr;
  ASSERT_EQ(attune_plan_gemm(runtime.get(), &product.gemm, 1, 0, ATTUNE_NO_LIMIT, &plan),
            ATTUNE_OK);
  const std::unique_ptr<attune_plan, decltype(&attune_plan_release)> held(plan,
                                                                          attune_plan_release);

  constexpr size_t kFirstRelease = offsetof(attune_arguments, queue);
  for (const size_t size : {size_t{0}, size_t{8}, kFirstRelease - 8}) {
    product.arguments.struct_size = size;
    EXPECT_EQ(attune_run_gemm(runtime.get(), &product.gemm, &product.arguments),
              ATTUNE_INVALID_ARGUMENT);
    EXPECT_THAT(attune_last_message(), HasSubstr("'struct_size' of the arguments"));
    EXPECT_EQ(attune_run_conv(runtime.get(), &conv, &product.arguments), ATTUNE_INVALID_ARGUMENT);
    EXPECT_THAT(attune_last_message(), HasSubstr("'struct_size' of the arguments"));
    EXPECT_EQ(attune_plan_run(plan, &product.arguments), ATTUNE_INVALID_ARGUMENT);
    EXPECT_THAT(attune_last_message(), HasSubstr("'struct_size' of the arguments"));
  }
  for (const size_t size : {kFirstRelease, sizeof product.arguments + 8}) {
    product.arguments.struct_size = size;
    product.c[0] = 0;
    EXPECT_EQ(attune_run_gemm(runtime.get(), &product.gemm, &product.arguments), ATTUNE_OK);
    EXPECT_EQ(product.c[0], 8);
  }
}

TEST(StructSize, AQueueIsReadOnlyWhereTheStructHasOne) {
  RuntimeWorld world;
  attune_options options = ATTUNE_OPTIONS_INIT;
  options.device = "cpu";  // Which takes no queues.
  options.policy = ATTUNE_NEVER;
  const RuntimeHandle runtime = MakeRuntime(options);
  ASSERT_NE(runtime, nullptr) << attune_last_message();
  ProductOfOnes product;
  product.arguments.queue = &product;

  EXPECT_EQ(attune_run_gemm(runtime.get(), &product.gemm, &product.arguments), ATTUNE_UNSUPPORTED);
  EXPECT_THAT(attune_last_message(), HasSubstr("'queue' has to be null"));
  EXPECT_EQ(product.c[0], 0);
  product.arguments.struct_size = offsetof(attune_arguments, queue);
  EXPECT_EQ(attune_run_gemm(runtime.get(), &product.gemm, &product.arguments), ATTUNE_OK);
  EXPECT_EQ(product.c[0], 8);
}

TEST(StructSize, CountersOfAnOlderReleaseAreWrittenAsFarAsTheyGo) {
  RuntimeWorld world;
  const RuntimeHandle runtime = MakeRuntime(ATTUNE_NEVER);
  ASSERT_NE(runtime, nullptr) << attune_last_message();
  ASSERT_TRUE(Multiply(runtime.get(), 8)) << attune_last_message();
  constexpr size_t kBefore = offsetof(attune_counters, none);
  attune_counters counters = ATTUNE_COUNTERS_INIT;
  counters.struct_size = kBefore;
  counters.none = counters.tunings_dropped = 77;

  ASSERT_EQ(attune_get_counters(runtime.get(), &counters), ATTUNE_OK) << attune_last_message();

  EXPECT_EQ(counters.struct_size, kBefore);
  EXPECT_EQ(counters.misses, 1u);
  EXPECT_EQ(counters.none, 77u);
  EXPECT_EQ(counters.tunings_dropped, 77u);
}

TEST(StructSize, CountersSayWhatNothingCouldServe) {
  RuntimeWorld world;
  world.Set("ATTUNE_FORCE", "gemm@1{m=8,n=8,k=8} -> fake.tiled@1{broken=1}");
  const RuntimeHandle runtime = MakeRuntime(ATTUNE_NEVER);
  ASSERT_NE(runtime, nullptr) << attune_last_message();

  EXPECT_FALSE(Multiply(runtime.get(), 8));

  EXPECT_EQ(CountersOf(runtime.get()).misses, 1u);
  EXPECT_EQ(CountersOf(runtime.get()).none, 1u);
  EXPECT_EQ(CountersOf(runtime.get()).tunings_dropped, 0u);
}

}  // namespace
}  // namespace attune
