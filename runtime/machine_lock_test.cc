#include "runtime/machine_lock.h"

#include <sys/stat.h>

#include <cstdlib>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

// Every MachineLock locks for itself, whatever process it is in.
class MachineLockTest : public ::testing::Test {
 protected:
  MachineLockTest() {
    std::string name = (fs::temp_directory_path() / "attune-turns-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~MachineLockTest() override { fs::remove_all(folder_); }

  std::unique_ptr<MachineLock> Open(std::chrono::nanoseconds patience = std::chrono::minutes(1),
                                    std::string_view device = "processor") {
    auto lock = MachineLock::In(folder_, device, patience);
    EXPECT_TRUE(lock.ok()) << lock.status().message();
    return lock.ok() ? std::move(*lock) : nullptr;
  }

  // The turn, if it is to be had at once.
  static std::unique_ptr<MachineTurns::Turn> TryTake(MachineLock& lock, MachineUse use) {
    auto grant = lock.Take(use, [] { return false; });
    if (!grant.ok()) return nullptr;
    EXPECT_NE(grant->turn, nullptr) << grant->note;
    return std::move(grant->turn);
  }

  fs::path folder_;
};

TEST_F(MachineLockTest, WhoTimesIsAlone) {
  const auto a = Open();
  const auto b = Open();
  auto turn = TryTake(*a, MachineUse::kTime);
  ASSERT_NE(turn, nullptr);

  EXPECT_EQ(TryTake(*b, MachineUse::kTime), nullptr);
  EXPECT_EQ(TryTake(*b, MachineUse::kPrepare), nullptr);

  turn.reset();
  EXPECT_NE(TryTake(*b, MachineUse::kTime), nullptr);
}

TEST_F(MachineLockTest, ThoseWhoPrepareDoSoTogetherAndNobodyTimesBesideThem) {
  const auto a = Open();
  const auto b = Open();
  const auto c = Open();
  const auto turn_of_a = TryTake(*a, MachineUse::kPrepare);
  auto turn_of_b = TryTake(*b, MachineUse::kPrepare);

  EXPECT_NE(turn_of_a, nullptr);
  EXPECT_NE(turn_of_b, nullptr);
  EXPECT_EQ(TryTake(*c, MachineUse::kTime), nullptr);
}

TEST_F(MachineLockTest, WhoLetsGoDoesNotOvertakeWhoWaits) {
  const auto a = Open();
  const auto b = Open();
  auto turn = TryTake(*a, MachineUse::kTime);
  int looks = 0;
  const auto waiting = [&] {
    ++looks;
    turn.reset();
    for (const MachineUse use : {MachineUse::kPrepare, MachineUse::kTime}) {
      EXPECT_EQ(TryTake(*a, use), nullptr);
    }
    return true;
  };

  const auto grant = b->Take(MachineUse::kTime, waiting);

  ASSERT_TRUE(grant.ok()) << grant.status().message();
  EXPECT_NE(grant->turn, nullptr);
  EXPECT_EQ(looks, 1);
}

TEST_F(MachineLockTest, WhoIsToldToStopSaysHowToFindTheOther) {
  const auto a = Open();
  const auto b = Open();
  const auto turn = TryTake(*a, MachineUse::kTime);

  const auto grant = b->Take(MachineUse::kTime, [] { return false; });

  EXPECT_EQ(grant.status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(grant.status().message(),
              HasSubstr("'fuser " + (folder_ / "attune-measuring-processor.lock").string()));
}

TEST_F(MachineLockTest, WhoHasNoPatienceLeftMeasuresBesideOthersOnAProcessorAndSaysSo) {
  const auto a = Open();
  const auto b = Open(std::chrono::nanoseconds(0));
  const auto turn = TryTake(*a, MachineUse::kTime);

  const auto grant = b->Take(MachineUse::kTime, nullptr);

  ASSERT_TRUE(grant.ok()) << grant.status().message();
  EXPECT_EQ(grant->turn, nullptr);
  EXPECT_THAT(grant->note, HasSubstr("this one measured beside it"));
}

TEST_F(MachineLockTest, OnAnyOtherDeviceNobodyMeasuresBesideAnother) {
  const auto a = Open(std::chrono::minutes(1), "cuda:0");
  const auto b = Open(std::chrono::nanoseconds(0), "cuda:0");
  auto turn = TryTake(*a, MachineUse::kTime);

  for (const MachineUse use : {MachineUse::kPrepare, MachineUse::kTime}) {
    const auto grant = b->Take(use, nullptr);
    EXPECT_EQ(grant.status().code(), StatusCode::kUnavailable);
    EXPECT_THAT(grant.status().message(),
                AllOf(HasSubstr("'fuser "), HasSubstr("nothing is measured beside it")));
  }

  turn.reset();
  EXPECT_NE(TryTake(*b, MachineUse::kTime), nullptr);
}

// Processes number GPUs each in its own way (CUDA_VISIBLE_DEVICES), and plug-ins call them by their
// own names.
TEST_F(MachineLockTest, TwoNumbersOfOnePieceOfHardwareAreOneDevice) {
  ::setenv(kLockFolderVariable, folder_.c_str(), 1);
  Place first;
  first.target.backend = "cuda";
  first.device_spec = "cuda:0";
  first.identity = "0000:1B:00.0";
  Place same = first;
  same.device_spec = "cuda:3";
  Place other = first;
  other.identity = "0000:1C:00.0";

  const auto a = MachineLock::Open(first);
  const auto b = MachineLock::Open(same);
  const auto c = MachineLock::Open(other);

  ::unsetenv(kLockFolderVariable);
  ASSERT_TRUE(a.ok() && b.ok() && c.ok());
  EXPECT_EQ((*a)->path(), folder_ / "attune-measuring-cuda-0000-1B-00.0.lock");
  const auto turn = TryTake(**a, MachineUse::kTime);
  ASSERT_NE(turn, nullptr);
  EXPECT_EQ(TryTake(**b, MachineUse::kTime), nullptr);
  EXPECT_NE(TryTake(**c, MachineUse::kTime), nullptr);
}

TEST_F(MachineLockTest, DevicesDoNotWaitForEachOther) {
  const auto a = Open(std::chrono::minutes(1), "cuda:0");
  const auto b = Open(std::chrono::minutes(1), "cuda:1");
  const auto turn = TryTake(*a, MachineUse::kTime);

  EXPECT_NE(TryTake(*b, MachineUse::kTime), nullptr);
  EXPECT_EQ(b->path().filename(), "attune-measuring-cuda-1.lock");
}

TEST_F(MachineLockTest, ADeviceNamesNoFileElsewhere) {
  const auto lock = Open(std::chrono::minutes(1), "../../etc/x");

  EXPECT_EQ(lock->path(), folder_ / "attune-measuring-..-..-etc-x.lock");
}

TEST_F(MachineLockTest, OtherUsersCanLockTheFilesAndNobodyWritesThem) {
  const mode_t mask = ::umask(0077);
  const auto lock = Open();
  ::umask(mask);

  for (const char* name : {"attune-measuring-processor.lock", "attune-measuring-processor.gate"}) {
    struct stat info {};
    ASSERT_EQ(::stat((folder_ / name).c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777, 0644u);
    EXPECT_EQ(info.st_size, 0);
  }
}

TEST_F(MachineLockTest, FilesOfOthersThatMayNotBeWrittenCanBeLocked) {
  for (const char* name : {"attune-measuring-processor.lock", "attune-measuring-processor.gate"}) {
    ASSERT_EQ(::mknod((folder_ / name).c_str(), S_IFREG | 0444, 0), 0);
  }

  EXPECT_NE(TryTake(*Open(), MachineUse::kTime), nullptr);
}

TEST_F(MachineLockTest, LinksAreNotFollowed) {
  fs::create_symlink(folder_ / "elsewhere", folder_ / "attune-measuring-processor.lock");

  const auto lock = MachineLock::In(folder_, "processor", std::chrono::minutes(1));

  EXPECT_EQ(lock.status().code(), StatusCode::kUnavailable);
  EXPECT_FALSE(fs::exists(folder_ / "elsewhere"));
}

TEST_F(MachineLockTest, APipeIsRefusedAtOnce) {
  ASSERT_EQ(::mkfifo((folder_ / "attune-measuring-processor.gate").c_str(), 0644), 0);

  const auto lock = MachineLock::In(folder_, "processor", std::chrono::minutes(1));

  EXPECT_EQ(lock.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(lock.status().message(), HasSubstr("is no file"));
}

TEST_F(MachineLockTest, WhoCannotTakeTurnsAnyMoreGoesWithout) {
  const auto lock = Open();
  fs::remove_all(folder_);

  const auto grant = lock->Take(MachineUse::kTime, nullptr);

  ASSERT_TRUE(grant.ok()) << grant.status().message();
  EXPECT_EQ(grant->turn, nullptr);
  EXPECT_THAT(grant->note, HasSubstr("may have measured beside this one"));
}

}  // namespace
}  // namespace attune
