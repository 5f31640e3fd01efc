#include "attune/verify/fill.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "attune/base/element.h"
#include "attune/verify/problem_data.h"
#include "attune/verify/reference_maker.h"

namespace attune {
namespace {

std::vector<double> Filled(const BufferFill& fill, DataType type, int64_t count) {
  std::vector<std::byte> bytes(static_cast<size_t>(count) * SizeBytes(type));
  // In two slices, as threads would.
  FillElements(fill, type, 5, {0, count / 3}, bytes.data());
  FillElements(fill, type, 5, {count / 3, count - count / 3}, bytes.data());
  std::vector<double> values(static_cast<size_t>(count));
  Decode(type, bytes, values);
  return values;
}

TEST(FillTest, UniformStaysWithinItsBoundsAndFillsThem) {
  const auto values = Filled({BufferFill::Kind::kUniform, 100, 300}, DataType::kF32, 10000);

  EXPECT_GE(*std::min_element(values.begin(), values.end()), 100);
  EXPECT_LE(*std::max_element(values.begin(), values.end()), 300);
  EXPECT_NEAR(std::accumulate(values.begin(), values.end(), 0.0) / 10000, 200, 3);
}

TEST(FillTest, UniformIntegersTakeBothBoundsAndNothingBeyond) {
  const auto values = Filled({BufferFill::Kind::kUniform, 0, 3}, DataType::kI32, 4000);

  for (int wanted = 0; wanted <= 3; ++wanted) {
    EXPECT_NEAR(std::count(values.begin(), values.end(), wanted), 1000, 150) << wanted;
  }
}

TEST(FillTest, NormalHasItsMeanAndDeviation) {
  const auto values = Filled({BufferFill::Kind::kNormal, 2, 3}, DataType::kF64, 20000);

  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / 20000;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  EXPECT_NEAR(mean, 2, 0.1);
  EXPECT_NEAR(std::sqrt(squares / 20000), 3, 0.1);
}

TEST(FillTest, ConstantAndIotaAreExactAndIntegersSaturate) {
  EXPECT_EQ(Filled({BufferFill::Kind::kConstant, 2.5, 0}, DataType::kF16, 3),
            (std::vector<double>{2.5, 2.5, 2.5}));
  EXPECT_EQ(Filled({BufferFill::Kind::kIota, 1, 2}, DataType::kI32, 4),
            (std::vector<double>{1, 3, 5, 7}));
  EXPECT_EQ(Filled({BufferFill::Kind::kIota, 126, 1}, DataType::kI8, 4),
            (std::vector<double>{126, 127, 127, 127}));
}

Problem TwoOutputs() {
  OwnKernelProblem own;
  own.name = "two";
  own.buffers = {
      {"x", OperandRole::kIn, DataType::kI32, {4}, {BufferFill::Kind::kIota, 10, 1}},
      {"y", OperandRole::kOut, DataType::kF32, {4}, {}},
      {"z", OperandRole::kInOut, DataType::kF64, {2}, {BufferFill::Kind::kConstant, 3, 0}}};
  return ToProblem(own);
}

// Makes element i of the reference `first` + i.
class CountingMaker final : public ReferenceMaker {
 public:
  explicit CountingMaker(double first) : first_(first) {}
  Status Make(const Problem& problem, int data_fd, const std::function<bool()>&) override {
    ATTUNE_ASSIGN_OR_RETURN(ReferenceDraft draft, ReferenceDraft::Map(problem, data_fd));
    const std::span<double> reference = draft.reference();
    std::iota(reference.begin(), reference.end(), first_);
    return Status::Ok();
  }
  void Distrust(const Status&) override {}

 private:
  const double first_;
};

TEST(FillTest, DataOfAUsersKernelHaveItsFillsAndAReferenceForEachOutput) {
  CountingMaker maker(1);
  const auto data = ProblemData::Create(TwoOutputs(), 1, {nullptr, &maker});

  ASSERT_TRUE(data.ok()) << data.error().message();
  EXPECT_EQ(DecodeElement(DataType::kI32, data->input(0).data(), 3), 13);
  EXPECT_TRUE(data->input(1).empty());
  EXPECT_EQ(DecodeElement(DataType::kF64, data->input(2).data(), 1), 3);
  EXPECT_TRUE(data->reference(0).empty());
  EXPECT_EQ(data->reference(1)[0], 1);
  EXPECT_EQ(data->reference(2)[1], 6);
  EXPECT_EQ(data->reference().size(), 6u);
}

TEST(FillTest, AReferenceThatIsNotFiniteOrThatNobodyMakesIsAnError) {
  CountingMaker maker(std::nan(""));

  const Status bad = ProblemData::Create(TwoOutputs(), 1, {nullptr, &maker}).status();
  EXPECT_NE(bad.message().find("leaves nan in element 0 of y"), std::string::npos) << bad.message();
  const Status none = ProblemData::Create(TwoOutputs(), 1).status();
  EXPECT_NE(none.message().find("Nobody here computes"), std::string::npos) << none.message();
}

}  // namespace
}  // namespace attune
