#include "backends/cuda/conv/unfolded_product.h"

#include <string>

#include <gmock/gmock.h>

#include "attune/ops/conv/conv_operands.h"
#include "backends/cuda/layout/tensor_layout.h"
#include "backends/cuda/layout/tensor_layout_on_host_test.h"
#include "backends/cuda/problem_on_host_test.h"

namespace attune::cuda {
namespace {

using testing::HasSubstr;

using Elements = std::vector<HostElement>;
using Sums = std::vector<HostSum>;

constexpr HostElement kPoison = 77;

template <class Task>
Task WithPlaces(Task task, const void* from, void* to) {
  task.from = from;
  task.to = to;
  return task;
}

Elements Unfolded(const Unfold& task, const HostElement* from) {
  Elements to(static_cast<size_t>(task.matrices * task.to_matrix), kPoison);
  if (task.to_matrix == 0) {
    to.assign(static_cast<size_t>(task.to_leading * task.pixels), kPoison);
  }
  UnfoldOnHost(WithPlaces(task, from, to.data()));
  return to;
}

// The solver's steps on the host: copies by the same kernels, products by loops.
class OnHost {
 public:
  OnHost(const Conv& conv, const UnfoldedProduct& plan, const std::vector<OperandValues>& operands)
      : plan_(plan), images_(ImagesOf(conv)) {
    for (const OperandValues& values : operands) operands_.push_back(Narrowed(values));
    if (conv.bias) bias_ = operands_[RolesOf(conv).bias];
  }

  OperandValues Output() {
    const Elements& weights = operands_[images_.weights_operand];
    weights_ = Widened(weights);
    if (plan_.copy_weights) weights_ = Widened(Unfolded(*plan_.copy_weights, weights.data()));
    if (plan_.round_sums) weights_.assign(plan_.sums_bytes / sizeof(HostSum), kPoison);
    for (int64_t round = 0; round < plan_.rounds; ++round) RunRound(round);
    if (plan_.computed == ConvTensor::kLarge) return Widened(operands_[images_.large.operand]);
    if (plan_.computed == ConvTensor::kSmall) return small_output_;
    if (!plan_.round_sums) return weights_;
    const Sums sums(weights_.begin(), weights_.end());
    Elements output(weights.size(), kPoison);
    AddPartsOnHost(WithPlaces(*plan_.round_sums, sums.data(), output.data()));
    return Widened(output);
  }

 private:
  void RunRound(int64_t round) {
    HostElement* const large = operands_[images_.large.operand].data() + round * plan_.large_step;
    Elements& all_small = operands_[images_.small.operand];
    windows_.assign(plan_.windows_bytes / sizeof(HostElement), kPoison);
    if (plan_.unfold) windows_ = Widened(Unfolded(*plan_.unfold, large));
    OperandValues small(all_small.begin() + round * plan_.small_step, all_small.end());
    if (plan_.copy_small) {
      small = Widened(Unfolded(*plan_.copy_small, all_small.data() + round * plan_.small_step));
    }
    Multiply(small, round);
    if (plan_.fold) {
      const Sums sums(windows_.begin(), windows_.end());
      Fold fold = *plan_.fold;
      fold.bias = bias_.empty() ? nullptr : bias_.data();
      FoldOnHost(WithPlaces(fold, sums.data(), large));
    }
    if (plan_.computed == ConvTensor::kSmall) {
      small_output_.insert(small_output_.end(), small.begin(), small.begin() + plan_.small_step);
    }
  }

  void Multiply(OperandValues& small, int64_t round) {
    const auto at = [&](size_t which) {
      const ConvTensor tensor = plan_.product.tensors[which];
      if (tensor == ConvTensor::kWeights) return weights_.data();
      return tensor == ConvTensor::kLarge ? windows_.data() : small.data();
    };
    ASSERT_EQ(plan_.product.count, 1);
    const OperandValues bias = Widened(bias_);
    const bool adds = plan_.computed == ConvTensor::kWeights && round > 0;
    MultiplyOnHost(plan_.product.gemm, {at(0), at(1), bias.data(), at(2), adds ? 1.0 : 0.0});
  }

  const UnfoldedProduct& plan_;
  const ConvImages images_;
  std::vector<Elements> operands_;
  Elements bias_;
  OperandValues weights_;
  OperandValues windows_;
  OperandValues small_output_;
};

const char* const kDirections[] = {"fwd", "bwd_data", "bwd_weights"};
const char* const kShapes[] = {
    "n=2,c=5,h=9,w=7,k=4,fh=3,fw=3,ph=1,pw=1",
    "n=2,c=8,h=9,w=7,k=4,fh=3,fw=3,ph=1,pw=1",
    "n=3,c=5,h=14,w=13,k=7,fh=3,fw=5,ph=1,pw=2,sh=2,sw=3",
    "n=2,c=3,h=12,w=12,k=4,fh=3,fw=2,dh=2,dw=3,ph=2,pw=1",
    "n=2,c=4,h=8,w=7,k=6,fh=1,fw=1,sh=2,sw=2",
    "n=2,c=4,h=5,w=5,k=6,fh=1,fw=1,ph=1,pw=1",
    "n=1,c=2,h=5,w=5,k=3,fh=5,fw=5",
    "n=3,c=1,h=9,w=9,k=5,fh=3,fw=3",
    "n=3,c=3,h=9,w=9,k=1,fh=3,fw=3",
    "n=2,c=2,d=3,h=5,w=6,k=3,fd=2,fh=3,fw=2,sd=2,pd=1,ph=1",
    "n=2,c=16,h=6,w=6,k=8,fh=2,fw=2,sh=2,sw=2",
};
const char* const kLayouts2d[] = {"",
                                  ",layout=nhwc",
                                  ",layout=nchw,wlayout=nhwc",
                                  ",layout=nhwc,wlayout=nchw",
                                  ",layout=nchw,ylayout=nhwc",
                                  ",layout=nhwc,ylayout=nchw"};
const char* const kLayouts3d[] = {"", ",layout=ndhwc", ",layout=ndhwc,wlayout=ncdhw",
                                  ",layout=ncdhw,ylayout=ndhwc"};

std::vector<std::string> Texts() {
  std::vector<std::string> texts;
  for (const std::string shape : kShapes) {
    const bool is_3d = shape.find(",fd=") != std::string::npos;
    const std::vector<std::string> layouts =
        is_3d ? std::vector<std::string>(std::begin(kLayouts3d), std::end(kLayouts3d))
              : std::vector<std::string>(std::begin(kLayouts2d), std::end(kLayouts2d));
    for (const std::string& layout : layouts) {
      for (const std::string direction : kDirections) {
        texts.push_back("conv@1{dir=" + direction + "," + shape + layout + ",type=f16}");
      }
    }
  }
  // Pointwise, and summed over images.
  texts.emplace_back("conv@1{dir=bwd_weights,n=3,c=5,h=7,w=3,k=4,fh=1,fw=1,type=f16}");
  // The transposed mode swaps the images.
  for (const std::string direction : kDirections) {
    texts.push_back("conv@1{dir=" + direction +
                    ",mode=trans,n=2,c=6,h=5,w=4,k=4,fh=2,fw=3,sh=2,sw=3,oph=1,opw=2,type=f16}");
  }
  texts.emplace_back(
      "conv@1{dir=fwd,mode=trans,n=2,c=6,h=5,w=4,k=4,fh=3,fw=3,sh=2,sw=2,bias=1,type=f16}");
  texts.emplace_back("conv@1{dir=fwd,n=2,c=5,h=9,w=7,k=4,fh=3,fw=3,bias=1,layout=nhwc,type=f16}");
  return texts;
}

TEST(UnfoldedProductTest, ProductsOfWindowsAreTheConvolution) {
  for (const std::string& text : Texts()) {
    const Conv conv = ConvOf(text);
    const std::vector<OperandValues> operands = OperandsOnHost(conv);
    const auto plan = UnfoldedProductOf(conv);
    ASSERT_TRUE(plan.ok()) << text << ": " << plan.status().message();
    ASSERT_EQ(plan->rounds, 1) << text;

    EXPECT_EQ(OnHost(conv, *plan, operands).Output(), ExpectedOf(conv, operands)) << text;
  }
}

TEST(UnfoldedProductTest, ImagesThatDoNotFitTogetherAreComputedInRounds) {
  for (const char* layout : {"", ",layout=nhwc", ",layout=nhwc,ylayout=nchw"}) {
    for (const std::string direction : kDirections) {
      for (const char* type : {"f16", "f32"}) {
        const std::string text = "conv@1{dir=" + direction + ",n=6,c=5,h=9,w=7,k=4,fh=3,fw=2" +
                                 layout + ",type=" + type + "}";
        const Conv conv = ConvOf(text);
        const std::vector<OperandValues> operands = OperandsOnHost(conv);
        const UnfoldedProduct whole = *UnfoldedProductOf(conv);
        const size_t grows_bytes = whole.windows_bytes + whole.small_bytes;
        const auto limit_bytes = static_cast<int64_t>(whole.WorkspaceBytes() - grows_bytes / 4);
        const auto plan = UnfoldedProductOf(conv, limit_bytes);
        ASSERT_TRUE(plan.ok()) << text << ": " << plan.status().message();
        EXPECT_GT(plan->rounds, 1) << text;
        EXPECT_EQ(plan->rounds * plan->images, 6) << text;
        EXPECT_LE(plan->WorkspaceBytes(), static_cast<size_t>(limit_bytes)) << text;
        // The host's elements are of two bytes.
        if (conv.type == DataType::kF16) {
          EXPECT_EQ(OnHost(conv, *plan, operands).Output(), ExpectedOf(conv, operands)) << text;
        }
      }
    }
  }
}

TEST(UnfoldedProductTest, ColumnsBeginAtWholeWordsAndSumsAreNotRounded) {
  const auto plan = [](const std::string& text) {
    const auto found = UnfoldedProductOf(ConvOf(text));
    EXPECT_TRUE(found.ok()) << text << ": " << found.status().message();
    return found.ok() ? *found : UnfoldedProduct();
  };
  // A first layer: 147 values for each of 12544 pixels.
  const std::string first = "n=4,c=3,h=224,w=224,k=64,fh=7,fw=7,ph=3,pw=3,sh=2,sw=2,type=bf16}";
  const UnfoldedProduct forward = plan("conv@1{dir=fwd," + first);
  EXPECT_EQ(forward.product.gemm.m, 12544);
  EXPECT_EQ(forward.product.gemm.k, 147);
  EXPECT_EQ(forward.product.gemm.batch_count, 4);
  EXPECT_EQ(forward.product.gemm.lda, 12544);
  EXPECT_EQ(forward.product.gemm.ldb, 152);
  EXPECT_EQ(forward.windows_bytes, 2u * 4 * 12544 * 147);
  EXPECT_TRUE(forward.copy_weights.has_value());

  const UnfoldedProduct data = plan("conv@1{dir=bwd_data," + first);
  EXPECT_EQ(data.product.gemm.c_type, DataType::kF32);
  EXPECT_EQ(data.windows_bytes, 4u * 4 * 12544 * 147);

  const UnfoldedProduct weights = plan("conv@1{dir=bwd_weights," + first);
  EXPECT_EQ(weights.product.gemm.k, 4 * 12544);
  EXPECT_EQ(weights.product.gemm.batch_count, 1);
  EXPECT_EQ(weights.product.gemm.c_type, DataType::kF32);
  EXPECT_EQ(weights.product.gemm.ldc, 148);
  EXPECT_TRUE(weights.copy_small.has_value());
  EXPECT_TRUE(weights.round_sums.has_value());

  const UnfoldedProduct last =
      plan("conv@1{dir=fwd,n=4,c=64,h=14,w=14,k=32,fh=3,fw=3,ph=1,pw=1,layout=nhwc,type=f16}");
  EXPECT_EQ(last.product.gemm.m, 32);
  EXPECT_EQ(last.product.gemm.n, 4 * 196);
  EXPECT_EQ(last.product.gemm.k, 576);
  EXPECT_EQ(last.product.gemm.batch_count, 1);
  EXPECT_FALSE(last.copy_weights.has_value());
  Unfold words = *last.unfold;
  words.from = reinterpret_cast<const void*>(256);
  EXPECT_TRUE(HasWideWords(words, DataType::kF16));
}

TEST(UnfoldedProductTest, CopiesOfWeightsAndSumsAreWithinTheLimitToo) {
  // A copy of 79 MB of weights, and sums of 158 MB, beside windows of 19 MB.
  const std::string wide = "n=64,c=1025,h=4,w=4,k=4272,fh=3,fw=3,ph=1,pw=1,type=f16}";
  const Conv forward = ConvOf("conv@1{dir=fwd," + wide);
  const Conv weights = ConvOf("conv@1{dir=bwd_weights," + wide);
  for (const Conv& conv : {forward, weights}) {
    const auto plan = UnfoldedProductOf(conv);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    const auto lasting_bytes = static_cast<int64_t>(plan->weights_bytes + plan->sums_bytes);
    ASSERT_GT(lasting_bytes, 70'000'000);

    for (const int64_t room_bytes : {1'000'000, 4'000'000, 40'000'000}) {
      const auto within = UnfoldedProductOf(conv, lasting_bytes + room_bytes);
      ASSERT_TRUE(within.ok()) << within.status().message();
      EXPECT_LE(static_cast<int64_t>(within->WorkspaceBytes()), lasting_bytes + room_bytes);
    }

    const Status refused = UnfoldedProductOf(conv, lasting_bytes - 1).status();
    EXPECT_EQ(refused.code(), StatusCode::kUnsupported);
    EXPECT_THAT(refused.message(), HasSubstr("may take " + std::to_string(lasting_bytes - 1)));
  }
}

TEST(UnfoldedProductTest, WhatIsNotUnfoldedIsRefusedWithTheReason) {
  const auto reason = [](const char* text) {
    const Status status = UnfoldedProductOf(ConvOf(text)).status();
    EXPECT_EQ(status.code(), StatusCode::kUnsupported) << text;
    return status.message();
  };
  EXPECT_THAT(reason("conv@1{dir=fwd,n=1,c=4,h=7,w=3,k=4,fh=3,fw=1,g=2}"), HasSubstr("2 groups"));
  EXPECT_THAT(reason("conv@1{dir=fwd,n=1,c=4,h=7,w=3,k=4,fh=1,fw=1}"), HasSubstr("as they are"));
  EXPECT_THAT(reason("conv@1{dir=fwd,n=1,c=4,h=7,w=3,k=4,fh=3,fw=1,bias=1}"),
              HasSubstr("channels-first"));
  EXPECT_THAT(reason("conv@1{dir=fwd,n=1,c=4,h=7,w=3,k=4,fh=3,fw=1,type=i8}"), HasSubstr("i8"));
  EXPECT_THAT(reason("conv@1{dir=fwd,n=1,c=512,h=512,w=512,k=4,fh=3,fw=3}"),
              HasSubstr("windows of one image"));
  EXPECT_THAT(reason("conv@1{dir=fwd,n=1,c=1,h=9,w=9,k=1,fh=2,fw=2,ph=1073741824,sh=2147483640}"),
              HasSubstr("position"));
}

}  // namespace
}  // namespace attune::cuda
