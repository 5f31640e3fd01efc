#include "attune/measure/powercap_counter.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

namespace attune {
namespace {

namespace fs = std::filesystem;

class PowercapCounterTest : public ::testing::Test {
 protected:
  PowercapCounterTest()
      : root_(fs::path(testing::TempDir()) / ("powercap_" + std::to_string(::getpid()))) {
    fs::create_directories(root_);
  }
  ~PowercapCounterTest() override { fs::remove_all(root_); }

  void Write(const std::string& file, const std::string& text) {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text << "\n";
  }
  void MakeZone(const std::string& folder, const std::string& name, const std::string& energy_uj) {
    Write(folder + "/name", name);
    Write(folder + "/max_energy_range_uj", "1000000");
    Write(folder + "/energy_uj", energy_uj);
  }

  const fs::path root_;
};

TEST_F(PowercapCounterTest, CountsFromWhereItWasOpened) {
  MakeZone("intel-rapl:0", "package-0", "400000");
  const auto counter = OpenPowercapCounter(root_);
  ASSERT_TRUE(counter.ok()) << counter.error().message();
  Write("intel-rapl:0/energy_uj", "650000");

  EXPECT_DOUBLE_EQ(*(*counter)->ReadJoules(), 0.25);
  EXPECT_EQ((*counter)->name(), "intel-rapl:0 (package-0)");
}

TEST_F(PowercapCounterTest, GoesOnWhereTheCounterWrapsAtItsRange) {
  MakeZone("intel-rapl:0", "package-0", "900000");
  const auto counter = OpenPowercapCounter(root_);
  ASSERT_TRUE(counter.ok()) << counter.error().message();

  Write("intel-rapl:0/energy_uj", "100000");
  EXPECT_DOUBLE_EQ(*(*counter)->ReadJoules(), 0.2);
  Write("intel-rapl:0/energy_uj", "50000");
  EXPECT_DOUBLE_EQ(*(*counter)->ReadJoules(), 1.15);
}

TEST_F(PowercapCounterTest, AddsPackagesAndCountsNothingTwice) {
  MakeZone("intel-rapl:0", "package-0", "0");
  MakeZone("intel-rapl:0:0", "core", "0");
  MakeZone("intel-rapl:1", "package-1", "0");
  MakeZone("intel-rapl:2", "psys", "0");
  MakeZone("intel-rapl-mmio:0", "package-0", "0");
  const auto counter = OpenPowercapCounter(root_);
  ASSERT_TRUE(counter.ok()) << counter.error().message();
  for (const char* zone :
       {"intel-rapl:0", "intel-rapl:0:0", "intel-rapl:1", "intel-rapl:2", "intel-rapl-mmio:0"}) {
    Write(std::string(zone) + "/energy_uj", "300000");
  }

  EXPECT_DOUBLE_EQ(*(*counter)->ReadJoules(), 0.6);
}

TEST_F(PowercapCounterTest, AMachineWithoutCountersIsToldSo) {
  const auto counter = OpenPowercapCounter(root_);

  ASSERT_FALSE(counter.ok());
  EXPECT_EQ(counter.error().code(), StatusCode::kUnsupported);
  EXPECT_NE(counter.error().message().find(root_.string()), std::string::npos);
}

TEST_F(PowercapCounterTest, ACounterThatHoldsNoNumberIsNamed) {
  MakeZone("intel-rapl:0", "package-0", "lots");

  const auto counter = OpenPowercapCounter(root_);

  ASSERT_FALSE(counter.ok());
  EXPECT_EQ(counter.error().code(), StatusCode::kUnavailable);
  EXPECT_NE(counter.error().message().find("energy_uj"), std::string::npos);
}

TEST_F(PowercapCounterTest, ACounterThatVanishesFailsTheReading) {
  MakeZone("intel-rapl:0", "package-0", "1");
  const auto counter = OpenPowercapCounter(root_);
  ASSERT_TRUE(counter.ok()) << counter.error().message();
  fs::remove(root_ / "intel-rapl:0/energy_uj");

  EXPECT_EQ((*counter)->ReadJoules().error().code(), StatusCode::kUnavailable);
}

}  // namespace
}  // namespace attune
