// Untuned files spread over the devices of a kind by one call.
#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>

#include "tests/runtime/tunable_world.h"

namespace attune {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class TunableDevices : public TunableRuntime {
 protected:
  TunableDevices() {
    Write("untuned0.csv",
          "GemmTunableOp_float_NN,nn_16_16_16_ld_16_16_16\nGemmTunableOp_float_NN,nn_17_16_16_ld_"
          "17_16_17\n");
    Write("untuned1.csv",
          "GemmTunableOp_float_NN,nn_16_16_16_ld_16_16_16\nGemmTunableOp_float_NN,nn_18_16_16_ld_"
          "18_16_18\n");
  }

  void Write(const char* name, const std::string& content) const {
    std::ofstream(world_.folder() / name) << content;
  }
  attune_code Tune(const char* kind, int64_t count, const char* pattern = "untuned?.csv") {
    report_ = ATTUNE_TUNABLE_OFFLINE_INIT;
    const std::string path = world_.folder() / pattern;
    return attune_tunable_tune_on_devices(nullptr, kind, count, path.c_str(), &report_);
  }
  // Neither results nor a database.
  bool HasWritten() const {
    for (const auto& entry : std::filesystem::directory_iterator(world_.folder())) {
      const std::string name = entry.path().filename();
      if (name.starts_with("results") || name.starts_with("attune.db")) return true;
    }
    return false;
  }

  attune_tunable_offline report_ = ATTUNE_TUNABLE_OFFLINE_INIT;
};

TEST_F(TunableDevices, UntunedFilesAreSpreadOverTheFirstDevicesOfAKind) {
  world_.Set("ATTUNE_FAKE_SCRIPT", "device count=3");
  Set({{"ENABLED", "0"}});

  ASSERT_EQ(Tune("fake", 2), ATTUNE_OK) << attune_last_message();

  EXPECT_EQ(report_.tuned, 3);
  EXPECT_EQ(report_.failed, 0);
  EXPECT_EQ(KeysIn(Content("results0.csv")).size(), 2u);
  EXPECT_EQ(KeysIn(Content("results1.csv")).size(), 1u);
  EXPECT_EQ(KeysIn(Content("results_full0.csv")).size(), 3u);
  EXPECT_EQ(Content("results_full1.csv"), Content("results_full0.csv"));
  EXPECT_FALSE(std::filesystem::exists(world_.folder() / "results_full2.csv"));
  EXPECT_EQ(FinishedSetsIn(world_.database()), 3);
}

TEST_F(TunableDevices, ACountThatThereIsNotIsAnErrorAndWritesNothing) {
  world_.Set("ATTUNE_FAKE_SCRIPT", "device count=3");

  for (const int64_t count : {int64_t{0}, int64_t{-1}, int64_t{4}, INT64_MAX, INT64_MIN}) {
    EXPECT_EQ(Tune("fake", count), ATTUNE_INVALID_ARGUMENT) << count;
    EXPECT_THAT(attune_last_message(),
                AllOf(HasSubstr("devices is " + std::to_string(count)), HasSubstr("be 1 to 3")));
  }
  EXPECT_EQ(Tune("nonsense", 1), ATTUNE_NOT_FOUND);
  EXPECT_EQ(Tune("fake", 1, "untuned0.csv"), ATTUNE_INVALID_ARGUMENT);
  EXPECT_EQ(Tune("fake", 1, "*.csv"), ATTUNE_INVALID_ARGUMENT);
  EXPECT_EQ(Tune("fake", 1, "absent*.csv"), ATTUNE_NOT_FOUND);
  EXPECT_EQ(attune_tunable_tune_on_devices(nullptr, nullptr, 1, "*", nullptr),
            ATTUNE_INVALID_ARGUMENT);
  EXPECT_EQ(attune_tunable_tune_on_devices(nullptr, "fake", 1, nullptr, nullptr),
            ATTUNE_INVALID_ARGUMENT);
  Set({{"TUNING", "0"}});
  EXPECT_EQ(Tune("fake", 1), ATTUNE_FAILED_PRECONDITION);
  EXPECT_FALSE(HasWritten());
}

TEST_F(TunableDevices, ADeviceThatFailsCostsItsShareAndIsNamedWithIt) {
  world_.Set("ATTUNE_FAKE_SCRIPT", "device count=2 broken=1");

  EXPECT_EQ(Tune("fake", 2), ATTUNE_UNAVAILABLE);

  EXPECT_THAT(attune_last_message(),
              AllOf(HasSubstr("fake:1"), HasSubstr("does not answer"),
                    HasSubstr("GemmTunableOp_float_NN,nn_17_16_16_ld_17_16_17")));
  EXPECT_EQ(report_.tuned, 2);
  EXPECT_EQ(report_.failed, 1);
  EXPECT_EQ(KeysIn(Content("results_full0.csv")).size(), 2u);
  EXPECT_EQ(Content("results_full1.csv"), Content("results_full0.csv"));
}

}  // namespace
}  // namespace attune
