// host.onednn-softmax against the reference: every choice of every form.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/ops/softmax/softmax.h"
#include "backends/onednn/choice_test.h"

namespace attune::onednn {
namespace {

using ::testing::HasSubstr;

class OneDnnSoftmax : public ChoiceTest {
 protected:
  OneDnnSoftmax() : ChoiceTest("host.onednn-softmax") {}

  // Tests the types that the library takes.
  void ExpectRight(Softmax softmax) {
    for (const DataType type : {DataType::kF32, DataType::kBf16, DataType::kF16}) {
      softmax.type = type;
      if (type != DataType::kF32 && !solver_->IsApplicable(softmax, target_).ok()) continue;
      // oneDNN's logarithm has an error of 1.4e-6, and it rounds exponentials to a result of 16
      // bits.
      const bool is_exact = softmax.backward || (type == DataType::kF32 && !softmax.logarithm);
      if (is_exact) {
        ExpectAllRight(softmax);
      } else {
        EXPECT_GT(CountRight(softmax), 0) << Text(Problem(softmax));
      }
    }
  }

  // Both directions, with and without logarithm and factor.
  void ExpectAllFormsRight(Softmax softmax) {
    for (int form = 0; form < 8; ++form) {
      softmax.backward = (form & 1) != 0;
      softmax.logarithm = (form & 2) != 0;
      softmax.scaled = (form & 4) != 0;
      ExpectRight(softmax);
    }
  }
};

TEST_F(OneDnnSoftmax, ContiguousLinesAreRight) {
  for (const int64_t length : {15, 16, 33, 1000}) {
    ExpectAllFormsRight({.outer = 5, .length = length});
  }
}

TEST_F(OneDnnSoftmax, TwoThreadsAreRight) {
  threads_ = 2;
  ExpectAllFormsRight({.outer = 5, .length = 33});
  ExpectAllFormsRight({.outer = 5, .length = 33, .inner = 3});
}

// The tolerance of a logarithm is less than the error of oneDNN's.
TEST_F(OneDnnSoftmax, ShortLinesAreRightWithoutALogarithm) {
  for (const int64_t length : {1, 2, 3}) {
    ExpectRight({.outer = 5, .length = length});
    ExpectRight({.outer = 5, .length = length, .backward = true});
  }
}

TEST_F(OneDnnSoftmax, LinesSideBySideAreRight) {
  for (const int64_t inner : {2, 16, 49}) {
    ExpectAllFormsRight({.outer = 3, .length = 19, .inner = inner});
  }
  ExpectAllFormsRight({.outer = 1, .length = 64, .inner = 7});
}

TEST_F(OneDnnSoftmax, OperandsThatAreAlignedToTheirElementsAreRight) {
  Softmax softmax{.outer = 7, .length = 37, .inner = 3};
  softmax.alignment_bytes = 4;
  ExpectAllFormsRight(softmax);
}

// Otherwise every choice would round twice.
TEST_F(OneDnnSoftmax, ResultsOf16BitsAreRightIfThePrimitiveWritesF32) {
  Softmax softmax{.outer = 40, .length = 100};
  softmax.type = DataType::kBf16;
  if (!solver_->IsApplicable(softmax, target_).ok()) GTEST_SKIP();
  for (const int64_t inner : {1, 5}) {
    softmax.inner = inner;
    int wide = 0;
    for (const ChoiceOutcome& outcome : VerifyAll(softmax)) {
      if (!StringAt(outcome.config, "layout").ends_with("_f32")) continue;

      EXPECT_EQ(outcome.wrong, "") << Text(outcome.config);
      ++wide;
    }
    EXPECT_GT(wide, 0);
  }
}

TEST_F(OneDnnSoftmax, LinesThatAreNotContiguousCanBeReordered) {
  const Softmax softmax{.outer = 3, .length = 19, .inner = 5};

  const auto space = solver_->Space(softmax, target_);

  ASSERT_TRUE(space.ok()) << space.status().ToString();
  EXPECT_EQ(StringAt(space->At(0), "layout"), "axis_last");
}

TEST_F(OneDnnSoftmax, DefaultIsTheFirstConfigOfTheSpace) {
  for (const int64_t inner : {1, 5}) {
    const Softmax softmax{.outer = 3, .length = 19, .inner = inner};
    const auto space = solver_->Space(softmax, target_);
    ASSERT_TRUE(space.ok()) << space.status().ToString();

    const auto config = solver_->DefaultConfig(softmax, target_);

    ASSERT_TRUE(config.ok()) << config.status().ToString();
    EXPECT_EQ(*config, space->At(0));
  }
}

TEST_F(OneDnnSoftmax, HugeTensorsAreAnsweredAtOnce) {
  constexpr int64_t kMost = (int64_t{1} << 31) - 1;
  for (const Softmax& softmax :
       {Softmax{.outer = kMost, .length = 500}, Softmax{.outer = 500, .length = kMost},
        Softmax{.outer = 1, .length = 500, .inner = kMost}}) {
    ASSERT_TRUE(Validate(softmax).ok());

    const Status status = solver_->IsApplicable(softmax, target_);

    EXPECT_TRUE(status.ok()) << status.ToString();
    EXPECT_TRUE(solver_->Space(softmax, target_).ok());
  }
}

TEST_F(OneDnnSoftmax, MasksAreRefused) {
  Softmax softmax{.outer = 4, .length = 4};
  softmax.queries = 4;
  for (const SoftmaxMask mask : {SoftmaxMask::kCausal, SoftmaxMask::kAdditive}) {
    softmax.mask = mask;

    const Status refused = solver_->IsApplicable(softmax, target_);

    EXPECT_EQ(refused.code(), StatusCode::kUnsupported);
    EXPECT_THAT(refused.message(), HasSubstr("no mask"));
  }
}

TEST_F(OneDnnSoftmax, UnknownImplementationFailsToLoadByName) {
  const Softmax softmax{.outer = 4, .length = 4};
  Config config = solver_->Space(softmax, target_)->At(0);
  config["impl"] = std::string("jit:imagined");

  const auto loaded = solver_->Load({}, softmax, config, *device_);

  ASSERT_FALSE(loaded.ok());
  EXPECT_THAT(loaded.status().message(), HasSubstr("jit:imagined"));
}

}  // namespace
}  // namespace attune::onednn
