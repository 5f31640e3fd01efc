#include "attune/base/process_room.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "attune/base/scratch_folder.h"
#include "attune/base/steady_time.h"
#include "attune/base/unique_fd.h"

namespace attune {
namespace {

// A fake system in a folder, without limits except those that a test writes.
class ProcessRoomTest : public ::testing::Test {
 protected:
  ProcessRoomTest()
      : folder_(std::filesystem::temp_directory_path() /
                ("attune_room_" + std::to_string(::getpid()))),
        proc_((folder_ / "proc").string()),
        cgroups_((folder_ / "cgroup").string()),
        sources_{proc_.c_str(), cgroups_.c_str()} {
    Write("proc/self/cgroup", "");
    Write("proc/loadavg", "0.00 0.00 0.00 1/150 4711");
    Write("proc/sys/kernel/threads-max", "100000");
  }
  ~ProcessRoomTest() override { std::filesystem::remove_all(folder_); }

  void Write(const std::string& file, const std::string& content) {
    std::filesystem::create_directories((folder_ / file).parent_path());
    std::ofstream(folder_ / file) << content << "\n";
  }

  const std::filesystem::path folder_;
  const std::string proc_;
  const std::string cgroups_;
  const RoomSources sources_;
};

TEST_F(ProcessRoomTest, PidsOfVersionOneLeaveWhatIsNotUsed) {
  Write("proc/self/cgroup", "9:cpu,cpuacct:/job\n8:pids:/job");
  Write("cgroup/pids/job/pids.max", "20");
  Write("cgroup/pids/job/pids.current", "17");

  EXPECT_EQ(ThreadRoom(sources_), 3);
}

TEST_F(ProcessRoomTest, TheTightestGroupOnTheWayUpBinds) {
  Write("proc/self/cgroup", "0::/slice/job");
  Write("cgroup/slice/job/pids.max", "max");
  Write("cgroup/slice/job/pids.current", "4");
  Write("cgroup/slice/pids.max", "10");
  Write("cgroup/slice/pids.current", "8");

  EXPECT_EQ(ThreadRoom(sources_), 2);
}

TEST_F(ProcessRoomTest, AContainerSeesItsGroupAtTheTop) {
  Write("proc/self/cgroup", "8:pids:/docker/abc");
  Write("cgroup/pids/pids.max", "10");
  Write("cgroup/pids/pids.current", "10");

  EXPECT_EQ(ThreadRoom(sources_), 0);
}

TEST_F(ProcessRoomTest, AGroupOrOneAboveItMayEndTogether) {
  Write("proc/self/cgroup", "0::/pod/container");
  Write("cgroup/pod/container/memory.oom.group", "0");
  EXPECT_FALSE(EndsTogether(sources_));

  Write("cgroup/pod/memory.oom.group", "1");

  EXPECT_TRUE(EndsTogether(sources_));
}

TEST_F(ProcessRoomTest, VersionTwoBesideVersionOneCounts) {
  Write("proc/self/cgroup", "8:memory:/\n0::/job");
  Write("cgroup/unified/job/pids.max", "6");
  Write("cgroup/unified/job/pids.current", "1");

  EXPECT_EQ(ThreadRoom(sources_), 5);
}

TEST_F(ProcessRoomTest, TheThreadsOfTheSystemAreLimitedToo) {
  Write("proc/sys/kernel/threads-max", "200");

  EXPECT_EQ(ThreadRoom(sources_), 50);
}

TEST_F(ProcessRoomTest, WithoutAnswersThereIsNoRoom) {
  std::filesystem::remove_all(folder_ / "proc");

  EXPECT_EQ(ThreadRoom(sources_), 0);
  EXPECT_EQ(MemoryRoom(sources_), 0);
}

TEST_F(ProcessRoomTest, ASystemWithoutCgroupsSetsNoLimitByThem) {
  std::filesystem::remove(folder_ / "proc/self/cgroup");
  Write("proc/self/statm", "1000 10 10 1 0 300 0");

  EXPECT_EQ(MemoryRoom(sources_), kUnlimitedRoom);
}

TEST_F(ProcessRoomTest, CachesOfFilesAreFreeMemory) {
  Write("proc/self/cgroup", "4:memory:/job");
  Write("cgroup/memory/job/memory.limit_in_bytes", "1000000");
  Write("cgroup/memory/job/memory.usage_in_bytes", "900000");
  Write("cgroup/memory/job/memory.stat", "cache 500000\ntotal_inactive_file 400000");

  EXPECT_EQ(MemoryRoom(sources_), 500'000);
}

TEST_F(ProcessRoomTest, MemoryOfVersionTwoIsBoundByHighToo) {
  Write("proc/self/cgroup", "0::/job");
  Write("cgroup/job/memory.max", "max");
  Write("cgroup/job/memory.high", "1000000");
  Write("cgroup/job/memory.current", "700000");
  Write("cgroup/job/memory.stat", "anon 1\ninactive_file 100000");

  EXPECT_EQ(MemoryRoom(sources_), 400'000);
}

TEST_F(ProcessRoomTest, NoLimitOnMemoryIsNone) {
  Write("proc/self/cgroup", "4:memory:/job");
  Write("cgroup/memory/job/memory.limit_in_bytes", "9223372036854771712");

  EXPECT_EQ(MemoryRoom(sources_), kUnlimitedRoom);
}

// Sets a limit of this process for the current scope.
class LimitSet {
 public:
  LimitSet(__rlimit_resource resource, rlim_t value) : resource_(resource) {
    ::getrlimit(resource, &before_);
    rlimit limit = before_;
    limit.rlim_cur = value;
    ::setrlimit(resource, &limit);
  }
  ~LimitSet() { ::setrlimit(resource_, &before_); }

 private:
  const __rlimit_resource resource_;
  rlimit before_{};
};

TEST_F(ProcessRoomTest, TheAddressSpaceLeavesWhatIsNotMapped) {
  Write("proc/self/statm", "1000 10 10 1 0 300 0");
  const LimitSet limit(RLIMIT_DATA, rlim_t{1300} * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)));

  EXPECT_EQ(AddressRoom(sources_), 1000 * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)));
  EXPECT_TRUE(HasAddressLimit());
}

TEST_F(ProcessRoomTest, WithoutALimitTheAddressSpaceIsNotLookedAt) {
  EXPECT_EQ(AddressRoom(sources_), kUnlimitedRoom);
  EXPECT_FALSE(HasAddressLimit());
}

TEST_F(ProcessRoomTest, WhatIsLockedFromNowOnHasTheRoomToLock) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "Sanitizers replace mlockall() by a function that does nothing.";
#endif
  constexpr rlim_t kLimit = 1 << 20;
  constexpr uid_t kNobody = 65534;
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const rlimit limit = {kLimit, kLimit};
    // The kernel exempts root.
    const bool is_ready = (::geteuid() != 0 || ::setresuid(kNobody, kNobody, kNobody) == 0) &&
                          ::setrlimit(RLIMIT_MEMLOCK, &limit) == 0;
    if (!is_ready || AddressRoom() != kUnlimitedRoom) ::_exit(2);
    if (::mlockall(MCL_FUTURE) != 0) ::_exit(3);
    ::_exit(AddressRoom() <= kLimit ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 3) GTEST_SKIP() << "The system does not lock memory.";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(ProcessRoomTest, DescriptorsAreCountedByOpeningThem) {
  const LimitSet limit(RLIMIT_NOFILE, 64);

  EXPECT_TRUE(HasDescriptors(4));
  EXPECT_FALSE(HasDescriptors(64));
  EXPECT_TRUE(HasDescriptors(4));
}

// A pipe replaces the file, so that reading lasts until the test has looked.
TEST_F(ProcessRoomTest, NothingIsHeldInTheStandardDescriptors) {
  const std::filesystem::path file = folder_ / "proc/self/statm";
  ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
  const LimitSet limit(RLIMIT_DATA, rlim_t{1} << 60);
  const pid_t child = ::fork();
  if (child == 0) {
    for (int fd = 0; fd < 3; ++fd) ::close(fd);
    ::_exit(AddressRoom(sources_) == 0 ? 1 : 0);
  }
  UniqueFd writer(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
  const std::filesystem::path fds = "/proc/" + std::to_string(child) + "/fd";
  bool is_above = false;
  constexpr int64_t kPatienceNs = 2'000'000'000;
  for (const int64_t begin = SteadyNowNs(); !is_above && SteadyNowNs() - begin < kPatienceNs;) {
    std::error_code gone;
    is_above = !std::filesystem::exists(std::filesystem::symlink_status(fds / "0", gone));
    bool is_open = false;
    for (std::filesystem::directory_iterator each(fds, gone), end; !gone && each != end;
         each.increment(gone)) {
      std::error_code closed;
      is_open = is_open || std::filesystem::read_symlink(each->path(), closed) == file;
    }
    is_above = is_above && is_open;
    if (!is_above) ::sched_yield();
  }
  EXPECT_TRUE(is_above);
  EXPECT_EQ(::write(writer.get(), "1 1 1 1 0 1 0", 13), 13);
  writer.Reset();
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
}

TEST_F(ProcessRoomTest, WithoutDescriptorsNothingIsLoaded) {
  const LimitSet limit(RLIMIT_NOFILE, 0);

  EXPECT_STREQ(ScarceForLoading(), "open files (ulimit -n)");
}

enum FilterOutcome : int { kSeen, kNotSeen, kRefused };

// Installs a filter that allows everything.
FilterOutcome InstallFilter() {
  sock_filter words[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program = {1, words};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    return kRefused;
  }
  constexpr int kError = 7;
  errno = kError;
  return HasNewCallFilter() && errno == kError ? kSeen : kNotSeen;
}

TEST(CallFilterTest, AFilterThatTheProgramInstallsIsSeen) {
  if (::prctl(PR_GET_SECCOMP) != 0) GTEST_SKIP() << "This process has a filter already.";
  EXPECT_FALSE(HasNewCallFilter());
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(InstallFilter());
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), kSeen);
  EXPECT_FALSE(HasNewCallFilter());
}

TEST(MayTakeThreadsTest, AQuarterAtMostAndAReserveStays) {
  EXPECT_TRUE(MayTakeThreads(1, 33));
  EXPECT_FALSE(MayTakeThreads(1, 32));
  EXPECT_FALSE(MayTakeThreads(63, 250));
  EXPECT_TRUE(MayTakeThreads(63, 252));
  EXPECT_TRUE(MayTakeThreads(63, kUnlimitedRoom));
  EXPECT_TRUE(MayTakeThreads(0, 0));
}

}  // namespace
}  // namespace attune
