// attune_run() and the functions of attune/ops, on softmax.
#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/ops/softmax.hpp"
#include "tests/runtime/runtime_world.h"

namespace attune {
namespace {

using testing::HasSubstr;

struct Call {
  std::vector<float> x = {0, 1, 2, 3, -1, 0, 5, 5};
  std::vector<float> y = std::vector<float>(8, -7);
  std::vector<void*> data = {x.data(), y.data()};
  attune_softmax softmax{};
  attune_operands operands = ATTUNE_OPERANDS_INIT;

  Call() {
    softmax.outer = 2;
    softmax.length = 4;
    operands.data = data.data();
    operands.count = data.size();
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // Expects y to be the softmax of scale * x.
  void ExpectRight(double scale) const {
    for (size_t row = 0; row < 2; ++row) {
      double sum = 0;
      for (size_t i = 0; i < 4; ++i) sum += std::exp(scale * double{x[4 * row + i]});
      for (size_t i = 0; i < 4; ++i) {
        const double share = std::exp(scale * double{x[4 * row + i]}) / sum;
        EXPECT_NEAR(double{y[4 * row + i]}, share, 1e-6) << row << " " << i;
      }
    }
  }
};

class OperatorCalls : public ::testing::Test {
 protected:
  void SetUp() override {
    world_.Set("ATTUNE_PLUGINS", std::nullopt);
    attune_options options = ATTUNE_OPTIONS_INIT;
    options.device = "cpu";
    options.policy = ATTUNE_NEVER;
    runtime_ = MakeRuntime(options);
    ASSERT_NE(runtime_, nullptr) << attune_last_message();
  }

  RuntimeWorld world_;
  RuntimeHandle runtime_;
};

TEST_F(OperatorCalls, AnUnseenShapeIsServedAndServedAgain) {
  for (int i = 0; i < 3; ++i) {
    Call call;
    ASSERT_EQ(attune_run_softmax(runtime_.get(), &call.softmax, &call.operands), ATTUNE_OK)
        << attune_last_message();
    call.ExpectRight(1);
  }
}

TEST_F(OperatorCalls, AnAxisOfUpToFiveDimensionsIsOuterLengthInner) {
  const std::vector<int64_t> extents = {2, 3, 4, 5, 6};
  for (int axis = 0; axis < 5; ++axis) {
    const attune_softmax softmax = attune_softmax_along(extents.data(), 5, axis);
    EXPECT_EQ(softmax.length, extents[static_cast<size_t>(axis)]);
    EXPECT_EQ(softmax.outer * softmax.length * softmax.inner, 720);
    EXPECT_EQ(softmax.inner, (std::vector<int64_t>{360, 120, 30, 6, 1}[static_cast<size_t>(axis)]));
    EXPECT_EQ(SoftmaxProblem::Along(extents, axis).inner, softmax.inner);
  }
  Call call;
  call.softmax = attune_softmax_along(extents.data(), 5, 5);
  EXPECT_EQ(attune_run_softmax(runtime_.get(), &call.softmax, &call.operands),
            ATTUNE_INVALID_ARGUMENT);
  EXPECT_THAT(attune_last_message(), HasSubstr("length"));
}

TEST_F(OperatorCalls, AlphaIsAnArgumentOfTheCall) {
  for (const double alpha : {0.5, -2.0}) {
    Call call;
    call.softmax.scaled = 1;
    call.operands.alpha = alpha;
    ASSERT_EQ(attune_run_softmax(runtime_.get(), &call.softmax, &call.operands), ATTUNE_OK)
        << attune_last_message();
    call.ExpectRight(alpha);
  }
}

TEST_F(OperatorCalls, AWrongCallIsNamedAndWritesNothing) {
  const auto message_of = [&](auto change) {
    Call call;
    change(call);
    EXPECT_NE(attune_run_softmax(runtime_.get(), &call.softmax, &call.operands), ATTUNE_OK);
    for (const float value : call.y) EXPECT_EQ(value, -7);
    return std::string(attune_last_message());
  };
  EXPECT_THAT(message_of([](Call& call) { call.operands.count = 1; }),
              HasSubstr("needs 2 operands (x, y), none of them null; the call passes 1"));
  EXPECT_THAT(message_of([](Call& call) { call.data[0] = nullptr; }),
              HasSubstr("none of them null"));
  EXPECT_THAT(message_of([](Call& call) { call.operands.count = 17; }),
              HasSubstr("17 operands; the limit is 16"));
  EXPECT_THAT(message_of([](Call& call) { call.operands.data = nullptr; }),
              HasSubstr("the list of operands (data) is null"));
  EXPECT_THAT(message_of([](Call& call) { call.operands.struct_size = 8; }),
              HasSubstr("ATTUNE_OPERANDS_INIT"));
  EXPECT_THAT(message_of([](Call& call) { call.softmax.type = 9; }), HasSubstr("'type' is 9"));
  EXPECT_THAT(message_of([](Call& call) { call.softmax.length = -1; }), HasSubstr("length"));
  EXPECT_THAT(message_of([](Call& call) { call.softmax.alignment_bytes = 64 + (1LL << 32); }),
              HasSubstr("'alignment_bytes' is 4294967360; it has to be a power of two"));
}

TEST_F(OperatorCalls, MisalignedOperandsAreNamedAndNotWritten) {
  for (const size_t position : {size_t{0}, size_t{1}}) {
    for (const int bytes : {1, 2, 3}) {
      Call call;
      call.data[position] = static_cast<char*>(call.data[position]) + bytes;
      // Also where the plan exists.
      for (int round = 0; round < 2; ++round) {
        EXPECT_EQ(attune_run_softmax(runtime_.get(), &call.softmax, &call.operands),
                  ATTUNE_INVALID_ARGUMENT);
        EXPECT_THAT(attune_last_message(),
                    HasSubstr(position == 0 ? "operand x starts at" : "operand y starts at"));
        EXPECT_THAT(attune_last_message(), HasSubstr("not a multiple of 4 bytes"));
        for (const float value : call.y) EXPECT_EQ(value, -7);
      }
    }
  }
}

TEST_F(OperatorCalls, OperandsAreAlignedAsTheStructStates) {
  alignas(64) float x[16] = {};
  alignas(64) float y[16] = {};
  Call call;
  call.softmax.alignment_bytes = 64;
  call.data = {x, y};
  call.operands.data = call.data.data();
  EXPECT_EQ(attune_run_softmax(runtime_.get(), &call.softmax, &call.operands), ATTUNE_OK)
      << attune_last_message();
  EXPECT_EQ(y[0], 0.25f);
  call.data[1] = y + 4;
  EXPECT_EQ(attune_run_softmax(runtime_.get(), &call.softmax, &call.operands),
            ATTUNE_INVALID_ARGUMENT);
  EXPECT_THAT(attune_last_message(), HasSubstr("not a multiple of 64 bytes"));
}

TEST_F(OperatorCalls, AnOperatorThatIsNotKnownIsNamed) {
  Call call;
  EXPECT_EQ(
      attune_run(runtime_.get(), "softmin", &call.softmax, sizeof call.softmax, &call.operands),
      ATTUNE_NOT_FOUND);
  EXPECT_THAT(attune_last_message(), HasSubstr("'softmin'"));
  EXPECT_EQ(attune_run(runtime_.get(), "softmax", &call.softmax, 8, &call.operands),
            ATTUNE_INVALID_ARGUMENT);
  EXPECT_THAT(attune_last_message(), HasSubstr("has 64 bytes, but the call passes 8"));
  EXPECT_EQ(attune_run(runtime_.get(), nullptr, &call.softmax, 8, &call.operands),
            ATTUNE_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace attune
