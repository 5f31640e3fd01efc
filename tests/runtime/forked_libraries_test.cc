// The libraries of the processor keep threads, which no child has after a fork: a child computes
// with any library that its parent used, and does not wait for them.
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/runtime/forked_child.h"
#include "tests/runtime/product_of_ones.h"
#include "tests/runtime/runtime_world.h"

namespace attune {
namespace {

constexpr std::chrono::seconds kDeadline{40};
// Large enough for every library to use all of its threads.
constexpr int64_t kSize = 256;
constexpr int64_t kOtherSize = 192;
constexpr int64_t kChannels = 16;
constexpr int64_t kExtent = 32;

struct PlanDeleter {
  void operator()(attune_plan* plan) const { attune_plan_release(plan); }
};
using PlanHandle = std::unique_ptr<attune_plan, PlanDeleter>;

attune_gemm ProductOfSize(int64_t size) {
  attune_gemm gemm{};
  gemm.m = gemm.n = gemm.k = size;
  gemm.alignment_bytes = 4;
  return gemm;
}

attune_conv Convolution(int64_t filter) {
  attune_conv conv{};
  conv.batch = 2;
  conv.in_channels = conv.out_channels = kChannels;
  conv.in[1] = conv.in[2] = kExtent;
  conv.filter[1] = conv.filter[2] = filter;
  conv.alignment_bytes = 4;
  return conv;
}

bool Convolve(attune_runtime* runtime, int64_t filter) {
  const attune_conv conv = Convolution(filter);
  const auto count = [](int64_t extent) {
    return static_cast<size_t>(2 * kChannels * extent * extent);
  };
  const std::vector<float> x(count(kExtent), 1);
  const std::vector<float> w(static_cast<size_t>(kChannels * kChannels * filter * filter), 1);
  std::vector<float> y(count(kExtent - filter + 1), -1);
  attune_arguments arguments = ATTUNE_ARGUMENTS_INIT;
  arguments.a = x.data();
  arguments.b = w.data();
  arguments.c = y.data();
  if (attune_run_conv(runtime, &conv, &arguments) != ATTUNE_OK) return false;
  return y == std::vector<float>(y.size(), static_cast<float>(kChannels * filter * filter));
}

// Names of the solvers of the processor that compute a problem, "host.openblas-gemm".
template <class Ask>
std::vector<std::string> SolversOf(const Ask& ask) {
  std::vector<attune_solution> solutions(64);
  solutions[0].struct_size = sizeof(attune_solution);
  size_t count = 0;
  EXPECT_EQ(ask(solutions.data(), solutions.size(), &count), ATTUNE_OK) << attune_last_message();
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(count, solutions.size()); ++i) {
    const std::string text = solutions[i].candidate;
    names.push_back(text.substr(0, text.find('@')));
  }
  return names;
}

class ForkedLibraries : public ::testing::Test {
 protected:
  ForkedLibraries() {
    world_.Set("ATTUNE_DEVICE", "cpu");
    world_.Set("ATTUNE_DB", "");
  }

  // All that this parent and its child do is to compute with `solver`. Null if it is not here.
  RuntimeHandle RuntimeOf(const std::string& solver) {
    world_.Set("ATTUNE_FORCE", solver.empty() ? std::nullopt : std::optional(solver));
    return MakeRuntime(ATTUNE_NEVER);
  }

  RuntimeWorld world_;
};

TEST_F(ForkedLibraries, AChildMultipliesWithEachThatItsParentMultipliedWith) {
  const attune_gemm gemm = ProductOfSize(kSize);
  const RuntimeHandle any = RuntimeOf("");
  const auto solvers = SolversOf([&](attune_solution* solutions, size_t capacity, size_t* count) {
    return attune_gemm_solutions(any.get(), &gemm, 1, 0, solutions, capacity, count);
  });
  ASSERT_GE(solvers.size(), 2U);

  for (const std::string& solver : solvers) {
    SCOPED_TRACE(solver);
    RuntimeHandle runtime = RuntimeOf(solver);
    ASSERT_NE(runtime, nullptr) << attune_last_message();
    ASSERT_TRUE(Multiply(runtime.get(), kSize)) << attune_last_message();

    const int child = InChild(
        [&] {
          if (!Multiply(runtime.get(), kSize)) return 1;
          if (!Multiply(runtime.get(), kOtherSize)) return 2;
          runtime = nullptr;
          return 0;
        },
        kDeadline);

    EXPECT_EQ(child, 0);
    EXPECT_TRUE(Multiply(runtime.get(), kSize));
  }
}

TEST_F(ForkedLibraries, AChildConvolvesWithEachThatItsParentConvolvedWith) {
  const RuntimeHandle any = RuntimeOf("");
  for (const int64_t filter : {1, 3}) {
    const attune_conv conv = Convolution(filter);
    const auto solvers = SolversOf([&](attune_solution* solutions, size_t capacity, size_t* count) {
      return attune_conv_solutions(any.get(), &conv, solutions, capacity, count);
    });
    ASSERT_GE(solvers.size(), 2U);
    for (const std::string& solver : solvers) {
      SCOPED_TRACE(fmt::format("{} {}", solver, filter));
      const RuntimeHandle runtime = RuntimeOf(solver);
      ASSERT_NE(runtime, nullptr) << attune_last_message();
      ASSERT_TRUE(Convolve(runtime.get(), filter)) << attune_last_message();

      EXPECT_EQ(InChild([&] { return Convolve(runtime.get(), filter) ? 0 : 1; }, kDeadline), 0);
    }
  }
}

// The parent has used every library, so the child's choice may be of any.
TEST_F(ForkedLibraries, AChildOfAParentThatUsedAllServesWhatNobodyForced) {
  const attune_gemm gemm = ProductOfSize(kSize);
  const RuntimeHandle any = RuntimeOf("");
  for (const std::string& solver :
       SolversOf([&](attune_solution*solutions, size_t capacity, size_t*count) {
         return attune_gemm_solutions(any.get(), &gemm, 1, 0, solutions, capacity, count);
       })) {
    ASSERT_TRUE(Multiply(RuntimeOf(solver).get(), kSize));
  }
  const RuntimeHandle runtime = RuntimeOf("");
  ASSERT_TRUE(Multiply(runtime.get(), kSize) && Convolve(runtime.get(), 3));
  ASSERT_TRUE(IsIdle(runtime.get()));

  const int child = InChild(
      [&] {
        for (int round = 0; round < 2; ++round) {
          if (!Multiply(runtime.get(), kSize) || !Multiply(runtime.get(), kOtherSize)) return 1;
          if (!Convolve(runtime.get(), 1) || !Convolve(runtime.get(), 3)) return 2;
          if (!IsIdle(runtime.get())) return 3;
        }
        return 0;
      },
      kDeadline);

  EXPECT_EQ(child, 0);
}

TEST_F(ForkedLibraries, APlanOfItsParentIsBoundAnew) {
  const RuntimeHandle runtime = RuntimeOf("host.onednn-gemm");
  if (runtime == nullptr) GTEST_SKIP() << "oneDNN is not here.";
  const attune_gemm gemm = ProductOfSize(kSize);
  attune_plan* made = nullptr;
  ASSERT_EQ(attune_plan_gemm(runtime.get(), &gemm, 1, 0, ATTUNE_NO_LIMIT, &made), ATTUNE_OK);
  PlanHandle plan(made);
  const std::vector<float> ones(kSize * kSize, 1);
  const auto runs = [&] {
    std::vector<float> product(ones.size(), -1);
    attune_arguments arguments = ATTUNE_ARGUMENTS_INIT;
    arguments.a = arguments.b = ones.data();
    arguments.c = product.data();
    return attune_plan_run(plan.get(), &arguments) == ATTUNE_OK &&
           product == std::vector<float>(product.size(), static_cast<float>(kSize));
  };
  ASSERT_TRUE(runs());

  const int child = InChild(
      [&] {
        if (!runs() || !runs()) return 1;
        // And its own child, in turn.
        if (InChild([&] { return runs() ? 0 : 1; }, kDeadline / 2) != 0) return 2;
        plan = nullptr;
        return 0;
      },
      kDeadline);

  EXPECT_EQ(child, 0);
  EXPECT_TRUE(runs());
}

TEST_F(ForkedLibraries, WhatCannotRunInAChildIsRefusedByNameIfItIsForced) {
  const RuntimeHandle any = RuntimeOf("host.onednn-gemm");
  if (any == nullptr) GTEST_SKIP() << "oneDNN is not here.";
  const attune_gemm gemm = ProductOfSize(kSize);
  attune_solution solution{};
  solution.struct_size = sizeof solution;
  size_t count = 0;
  ASSERT_EQ(attune_gemm_solutions(any.get(), &gemm, 1, 0, &solution, 1, &count), ATTUNE_OK);
  if (std::string(solution.candidate).find("threads=1}") != std::string::npos) {
    GTEST_SKIP() << "This machine has one processor.";
  }
  const RuntimeHandle runtime = RuntimeOf(solution.candidate);
  ASSERT_TRUE(Multiply(runtime.get(), kSize));

  const int child = InChild(
      [&] {
        if (Multiply(runtime.get(), kSize)) return 1;
        const std::string message = attune_last_message();
        return message.find("waits for threads that stayed in the process") != message.npos ? 0 : 2;
      },
      kDeadline);

  EXPECT_EQ(child, 0);
}

TEST_F(ForkedLibraries, ARunTimeThatAChildCreatesIsAsCareful) {
  const RuntimeHandle runtime = RuntimeOf("host.onednn-gemm");
  if (runtime == nullptr) GTEST_SKIP() << "oneDNN is not here.";
  ASSERT_TRUE(Multiply(runtime.get(), kSize));

  const int child = InChild(
      [&] {
        const RuntimeHandle own = MakeRuntime(ATTUNE_NEVER);
        return own != nullptr && Multiply(own.get(), kSize) ? 0 : 1;
      },
      kDeadline);

  EXPECT_EQ(child, 0);
}

}  // namespace
}  // namespace attune
