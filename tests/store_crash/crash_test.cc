// Real processes, really killed: acknowledged data is there, and nothing half.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "attune/base/random.h"
#include "attune/base/unique_fd.h"
#include "storage/sql/sql_store.h"
#include "tests/conformance/store/temporary_folder.h"
#include "tests/store_crash/batches.h"

extern char** environ;

namespace attune {
namespace {

using Clock = std::chrono::steady_clock;

// A writer with the pipe that its acknowledgements come through. Killed at the latest at the end.
class Writer {
 public:
  Writer(const std::string& database, uint64_t set_seed) {
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC) != 0) return;
    acknowledgements_.Reset(ends[0]);
    const UniqueFd write_end(ends[1]);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, write_end.get(), STDOUT_FILENO);
    std::string seed = std::to_string(set_seed);
    std::string path = database;
    std::string program = ATTUNE_STORE_CRASH_WRITER;
    char* arguments[] = {program.data(), path.data(), seed.data(), nullptr};
    ::posix_spawn(&pid_, program.c_str(), &actions, nullptr, arguments, environ);
    ::posix_spawn_file_actions_destroy(&actions);
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer() {
    if (pid_ > 0) Kill();
  }

  bool started() const { return pid_ > 0; }

  // Waits for `least` acknowledgements, and then for `longer`; how many there were.
  size_t Acknowledged(size_t least, std::chrono::microseconds longer) {
    constexpr std::chrono::seconds kPatience{60};
    size_t count = 0;
    const Clock::time_point give_up = Clock::now() + kPatience;
    while (count < least && IsReadableBefore(give_up)) {
      const size_t got = ReadSome();
      if (got == 0) return count;
      count += got;
    }
    const Clock::time_point end = Clock::now() + longer;
    while (IsReadableBefore(end)) {
      const size_t got = ReadSome();
      if (got == 0) return count;
      count += got;
    }
    return count;
  }

  // Batches that were acknowledged but not read yet.
  size_t Kill() {
    ::kill(pid_, SIGKILL);
    int exit_status = 0;
    ::waitpid(pid_, &exit_status, 0);
    pid_ = 0;
    was_killed_ = WIFSIGNALED(exit_status) && WTERMSIG(exit_status) == SIGKILL;
    size_t count = 0;
    while (const size_t got = ReadSome()) count += got;
    return count;
  }

  // Not so if it had failed by itself before.
  bool was_killed() const { return was_killed_; }

 private:
  bool IsReadableBefore(Clock::time_point deadline) {
    const int64_t left_ns = (deadline - Clock::now()) / std::chrono::nanoseconds(1);
    if (left_ns <= 0) return false;
    const timespec left{left_ns / 1'000'000'000, left_ns % 1'000'000'000};
    pollfd ready{acknowledgements_.get(), POLLIN, 0};
    return ::ppoll(&ready, 1, &left, nullptr) > 0;
  }

  size_t ReadSome() {
    char bytes[64];
    const ssize_t got = ::read(acknowledgements_.get(), bytes, sizeof(bytes));
    return got > 0 ? static_cast<size_t>(got) : 0;
  }

  pid_t pid_ = 0;
  bool was_killed_ = false;
  UniqueFd acknowledgements_;
};

TEST(StoreCrash, FiftyKillsLoseNothingAcknowledgedAndLeaveNothingHalf) {
  constexpr int kRounds = 50;
  constexpr int kRoundsPerDatabase = 5;
  constexpr uint64_t kMostBatches = 8;
  constexpr uint64_t kLongestPauseUs = 4000;
  Random random(20261121);
  const TemporaryFolder folder;
  std::string database;
  size_t batches = 0;
  size_t all_acknowledged = 0;
  for (int round = 0; round < kRounds; ++round) {
    if (round % kRoundsPerDatabase == 0) {
      database = folder.path() / ("attune" + std::to_string(round) + ".db");
      batches = 0;
    }
    const uint64_t set_seed = static_cast<uint64_t>(round / kRoundsPerDatabase);
    Writer writer(database, set_seed);
    ASSERT_TRUE(writer.started());

    // With no batch to wait for, it is killed while it opens or makes the database.
    const std::chrono::microseconds pause(random.Below(kLongestPauseUs));
    size_t acknowledged = writer.Acknowledged(random.Below(kMostBatches), pause);
    acknowledged += writer.Kill();

    ASSERT_TRUE(writer.was_killed()) << "round " << round;
    const auto store = OpenSqlStore(database);
    ASSERT_EQ(store.status(), Status::Ok()) << "round " << round;
    const auto found = CompleteBatches(**store, CrashSet(set_seed));
    ASSERT_EQ(found.status(), Status::Ok()) << "round " << round;
    // One more may have been committed without being acknowledged.
    EXPECT_GE(*found, batches + acknowledged) << "round " << round;
    EXPECT_LE(*found, batches + acknowledged + 1) << "round " << round;
    batches = *found;
    all_acknowledged += acknowledged;
  }
  EXPECT_GT(all_acknowledged, 50u) << "The writers were killed before they did anything.";
}

TEST(StoreCrash, TwoWritersThatAreKilledLoseNothingOfEachOther) {
  constexpr int kRounds = 8;
  Random random(4);
  const TemporaryFolder folder;
  const std::string database = folder.path() / "attune.db";
  size_t batches[2] = {0, 0};
  for (int round = 0; round < kRounds; ++round) {
    Writer first(database, 1);
    Writer second(database, 2);
    const std::chrono::microseconds pause(random.Below(4000));

    batches[0] += first.Acknowledged(random.Below(4), pause);
    batches[0] += first.Kill();
    batches[1] += second.Acknowledged(1, pause);
    batches[1] += second.Kill();

    const auto store = OpenSqlStore(database);
    ASSERT_EQ(store.status(), Status::Ok());
    for (const uint64_t seed : {1, 2}) {
      const auto found = CompleteBatches(**store, CrashSet(seed));
      ASSERT_EQ(found.status(), Status::Ok());
      EXPECT_GE(*found, batches[seed - 1]);
      EXPECT_LE(*found, batches[seed - 1] + 1);
      batches[seed - 1] = *found;
    }
  }
  EXPECT_GE(batches[0], 1u);
  EXPECT_GE(batches[1], size_t{kRounds});
}

}  // namespace
}  // namespace attune
