#include "attune/base/host_messages.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/single_threaded.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>

#include "attune/base/unique_fd.h"

namespace attune {
namespace {

// Runs `body` in a child and returns its exit status. Each test needs its own process, because
// recorded state of a process is permanent.
int StatusOfChild(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    // The child has one thread, even if other tests of this program have started some.
    __libc_single_threaded = 1;
    ::_exit(body());
  }
  int status = -1;
  (void)::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Puts the write end of a new pipe at descriptor 2; returns the read end.
int PipeAtStandardError() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return -1;
  ::dup2(ends[1], STDERR_FILENO);
  ::close(ends[1]);
  return ends[0];
}

TEST(HostMessages, AreWrittenWhileTheDescriptorIsWhatItWas) {
  EXPECT_EQ(StatusOfChild([] {
              const int reader = PipeAtStandardError();
              NoteStandardStreams();
              WriteToHost(STDERR_FILENO, "word");
              char text[10] = {};
              return ::read(reader, text, sizeof text) == 4 ? 0 : 1;
            }),
            0);
}

TEST(HostMessages, AreNotWrittenToWhatCameLater) {
  EXPECT_EQ(StatusOfChild([] {
              NoteStandardStreams();
              const int reader = PipeAtStandardError();
              if (IsAsAtStart(STDERR_FILENO)) return 1;
              WriteToHost(STDERR_FILENO, "word");
              ::close(STDERR_FILENO);
              char text[10] = {};
              return ::read(reader, text, sizeof text) == 0 ? 0 : 2;
            }),
            0);
}

TEST(HostMessages, AreNotWrittenToWhatIsOpenedWhereNothingWas) {
  EXPECT_EQ(StatusOfChild([] {
              ::close(STDERR_FILENO);
              NoteStandardStreams();
              return PipeAtStandardError() >= 0 && !IsAsAtStart(STDERR_FILENO) ? 0 : 1;
            }),
            0);
}

TEST(HostMessages, APipeThatNobodyReadsEndsNoProgram) {
  EXPECT_EQ(StatusOfChild([] {
              ::close(PipeAtStandardError());
              NoteStandardStreams();
              WriteToHost(STDERR_FILENO, "word");
              return 0;
            }),
            0);
}

// True if WriteToHost() leaves a full pipe or socket at descriptor 2 alone.
bool PassesOver(const std::function<bool()>& open_streams) {
  return StatusOfChild([&] {
           if (!open_streams()) return 1;
           ::fcntl(STDERR_FILENO, F_SETFL, O_NONBLOCK);
           while (::write(STDERR_FILENO, "x", 1) == 1) continue;
           ::fcntl(STDERR_FILENO, F_SETFL, 0);
           NoteStandardStreams();
           ::alarm(5);
           WriteToHost(STDERR_FILENO, std::string(100'000, 'x'));
           return 0;
         }) == 0;
}

TEST(HostMessages, AFullPipeOrSocketStopsNoProgram) {
  EXPECT_TRUE(PassesOver([] { return PipeAtStandardError() >= 0; }));
  EXPECT_TRUE(PassesOver([] {
    int ends[2];
    return ::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0 && ::dup2(ends[1], STDERR_FILENO) >= 0;
  }));
}

TEST(HostMessages, AreWrittenAsFarAsThereIsRoom) {
  EXPECT_EQ(StatusOfChild([] {
              const int reader = PipeAtStandardError();
              NoteStandardStreams();
              ::alarm(5);
              WriteToHost(STDERR_FILENO, std::string(1'000'000, 'x'));
              char text[8192];
              return ::read(reader, text, sizeof text) == sizeof text ? 0 : 1;
            }),
            0);
}

TEST(HostMessages, OneProcessOfATreeComplainsAlsoWhereTmpIsReadOnly) {
  if (::geteuid() != 0 || ::access("/dev/shm", W_OK) != 0) {
    GTEST_SKIP() << "only the superuser mounts, and /dev/shm must be there";
  }
  EXPECT_EQ(StatusOfChild([] {
              if (::unshare(CLONE_NEWNS) != 0 ||
                  ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
                  ::mount("none", "/tmp", "tmpfs", MS_RDONLY, nullptr) != 0) {
                return 0;  // Not even root may.
              }
              ::unsetenv(kReportedVariable);
              NoteStandardStreams();
              const auto complain = [] { return BeginComplaint(Complaint::kDatabase) ? 1 : 0; };
              return StatusOfChild(complain) + StatusOfChild(complain) == 1 ? 0 : 2;
            }),
            0);
}

TEST(HostMessages, OneProcessOfATreeComplains) {
  EXPECT_EQ(StatusOfChild([] {
              ::unsetenv(kReportedVariable);
              NoteStandardStreams();
              if (std::getenv(kReportedVariable) == nullptr) return 1;
              // Siblings: neither is an ancestor of the other.
              const auto complain = [] { return BeginComplaint(Complaint::kDatabase) ? 1 : 0; };
              if (StatusOfChild(complain) + StatusOfChild(complain) + StatusOfChild(complain) != 1)
                return 2;
              if (BeginComplaint(Complaint::kDatabase)) return 3;
              // A different complaint.
              if (!BeginComplaint(Complaint::kRecording)) return 4;
              return StatusOfChild([] { return BeginComplaint(Complaint::kRecording) ? 1 : 0; });
            }),
            0);
}

TEST(HostMessages, AnotherTreeComplainsAgain) {
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(StatusOfChild([] {
                ::unsetenv(kReportedVariable);
                NoteStandardStreams();
                return BeginComplaint(Complaint::kResults) ? 0 : 1;
              }),
              0);
  }
}

TEST(HostMessages, AVariableOfAnotherFormIsLeftAlone) {
  EXPECT_EQ(StatusOfChild([] {
              ::setenv(kReportedVariable, "mine", 1);
              NoteStandardStreams();
              const bool complains = BeginComplaint(Complaint::kDatabase);
              return complains && std::getenv(kReportedVariable) == std::string("mine") ? 0 : 1;
            }),
            0);
}

}  // namespace
}  // namespace attune
