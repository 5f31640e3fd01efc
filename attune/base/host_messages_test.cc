#include "attune/base/host_messages.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/single_threaded.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>

#include "attune/base/unique_fd.h"

namespace attune {
namespace {

// The exit status of a child that runs `body`: each has a process of its own, as what is noted of
// one cannot be taken back.
int StatusOfChild(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    // It has one thread, although other tests of this program have started some.
    __libc_single_threaded = 1;
    ::_exit(body());
  }
  int status = -1;
  (void)::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Puts the writing end of a new pipe at descriptor 2; the reading end.
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

TEST(HostMessages, OneProcessOfATreeComplains) {
  EXPECT_EQ(StatusOfChild([] {
              ::unsetenv(kReportedVariable);
              NoteStandardStreams();
              if (std::getenv(kReportedVariable) == nullptr) return 1;
              // Siblings, of which none comes from the other.
              const auto complain = [] { return BeginComplaint(Complaint::kDatabase) ? 1 : 0; };
              if (StatusOfChild(complain) + StatusOfChild(complain) + StatusOfChild(complain) != 1)
                return 2;
              if (BeginComplaint(Complaint::kDatabase)) return 3;
              // Of something else.
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
