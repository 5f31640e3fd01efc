#include "extensions/models/seer/kernel_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "extensions/models/seer/synthetic.h"

namespace attune::seer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(KernelRecords, ReadBackWhatWasWritten) {
  const std::vector<KernelRecord> records =
      MakeRecords(*FindVariant("algo2_64x128"), {},
                  {{128, 3, 10, 64, 8, 3, 1, 0}, {64, 16, 40, 3, 20, 3, 2, 1}}, 0.1, 1);

  const auto read = ReadKernelRecords(Csv(records), AlgorithmOrder::kCudnn);

  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(*read, records);
}

TEST(KernelRecords, TheOrderOfTheReadmeHasTheFftsBehindWinograd) {
  const std::string line = "128,3,10,64,10,3,1,1,4,2.5,1,2,3,60,120,2,9,1\n";

  EXPECT_EQ((*ReadKernelRecords(line, AlgorithmOrder::kCudnn))[0].algorithm, 4);
  EXPECT_EQ((*ReadKernelRecords(line, AlgorithmOrder::kReadme))[0].algorithm, 6);
  std::vector<int> numbers;
  for (int i = 0; i < kAlgorithms; ++i) numbers.push_back(CudnnNumber(i, AlgorithmOrder::kReadme));
  EXPECT_THAT(numbers, ElementsAre(0, 1, 2, 3, 6, 7, 4, 5));
}

TEST(KernelRecords, ErrorsNameTheLine) {
  const auto message = [](const std::string& second) {
    const std::string first = "128,3,10,64,10,3,1,1,0,2.5,1,2,3,60,120,2,9,1\n";
    return ReadKernelRecords(first + second, AlgorithmOrder::kCudnn).status().message();
  };
  EXPECT_EQ(message(""), "");
  EXPECT_THAT(message("128,3,10,64,10,3,1,1,0,2.5\n"), HasSubstr("Line 2: 10 columns"));
  EXPECT_THAT(message("128,3,10,64,9,3,1,1,0,2.5,1,2,3,60,120,2,9,1\n"), HasSubstr("10 wide"));
  EXPECT_THAT(message("128,3,10,64,10,3,1,1,8,2.5,1,2,3,60,120,2,9,1\n"), HasSubstr("Line 2"));
  EXPECT_THAT(message("128,3,10,64,10,3,1,1,0,-1,1,2,3,60,120,2,9,1\n"), HasSubstr("not above 0"));
  EXPECT_THAT(message("128,3,10,64,10,3,0,1,0,2.5,1,2,3,60,120,2,9,1\n"), HasSubstr("below 1"));
  EXPECT_THAT(message("128,3,2,64,10,9,1,1,0,2.5,1,2,3,60,120,2,9,1\n"), HasSubstr("wider"));
  EXPECT_THAT(message("1e300,3,10,64,10,3,1,1,0,2.5,1,2,3,60,120,2,9,1\n"), HasSubstr("Line 2"));
  EXPECT_THAT(message("128,3,10,64,10,3,1,1,0,2.5,1,2,3,0,120,2,9,1\n"), HasSubstr("column 14"));
  EXPECT_THAT(message("128,3,10,64,10,3,1,1,0,2.5,1,2,3,60,120,2,9,11\n"),
              HasSubstr("Line 2: column 18: 11 is above 10"));
}

TEST(KernelRecords, ClassesFollowTheTwoUtilisations) {
  KernelRecord record;
  record.fp_utilisation = 8;
  record.dram_utilisation = 9;
  EXPECT_EQ(ClassOf(record), KernelClass::kCompute);
  record.fp_utilisation = 7;
  EXPECT_EQ(ClassOf(record), KernelClass::kDram);
  record.dram_utilisation = 7.9;
  EXPECT_EQ(ClassOf(record), KernelClass::kUnderUtilised);
}

TEST(AlgorithmTimes, HaveThePickOrNot) {
  const std::string line = "1,3,10,64,10,3,1,1,5,4,-1,-1,9,8,7,6";

  const auto without = ReadAlgorithmTimes(line + "\n", AlgorithmOrder::kReadme);
  const auto with = ReadAlgorithmTimes(line + ",4\n", AlgorithmOrder::kReadme);

  ASSERT_TRUE(without.ok() && with.ok());
  EXPECT_EQ((*without)[0].vendor_pick, -1);
  EXPECT_EQ((*with)[0].vendor_pick, 6);
  EXPECT_EQ((*with)[0].times_ms[6], 9);
  EXPECT_FALSE((*with)[0].IsSupported(2));
  EXPECT_EQ(*ReadAlgorithmTimes(Csv(*with), AlgorithmOrder::kCudnn), *with);
}

TEST(Configurations, AreReadInThePublishedForm) {
  const auto layers =
      ReadConfigurations("# N C W K P f s p\n2\n1 3 10 64 0 3 1 0\n1 3 9 8 7 3 2 1\n");

  ASSERT_TRUE(layers.ok()) << layers.status().ToString();
  EXPECT_EQ((*layers)[0].p, 8);
  EXPECT_EQ((*layers)[1].p, 5);
  EXPECT_THAT(ReadConfigurations("3\n1 3 10 64 0 3 1 0\n").status().message(), HasSubstr("3 are"));
  EXPECT_THAT(ReadConfigurations("1\n1 3 10 x 0 3 1 0\n").status().message(), HasSubstr("Line 2"));
  EXPECT_THAT(ReadConfigurations("1\n1 3 10\n").status().message(), HasSubstr("Line 2"));
}

}  // namespace
}  // namespace attune::seer
