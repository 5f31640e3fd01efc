// Many processes write one results file and one untuned file, and are killed while they do.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "attune/base/file.h"
#include "attune/base/random.h"
#include "attune/base/unique_fd.h"
#include "tests/conformance/store/temporary_folder.h"
#include "tests/tunable/written_lines.h"

extern char** environ;

namespace attune {
namespace {

constexpr int64_t kWriters = 8;

// A process of file_writer.cc. Killed at the latest at the end.
class Writer {
 public:
  Writer(const std::string& results, const std::string& untuned, int64_t writer, int64_t first) {
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC) != 0) return;
    acknowledgements_.Reset(ends[0]);
    const UniqueFd write_end(ends[1]);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, write_end.get(), STDOUT_FILENO);
    std::array<std::string, 5> words = {ATTUNE_TUNABLE_FILE_WRITER, results, untuned,
                                        std::to_string(writer), std::to_string(first)};
    char* arguments[] = {words[0].data(), words[1].data(), words[2].data(),
                         words[3].data(), words[4].data(), nullptr};
    if (::posix_spawn(&pid_, words[0].c_str(), &actions, nullptr, arguments, environ) != 0) {
      pid_ = 0;
    }
    ::posix_spawn_file_actions_destroy(&actions);
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer() {
    if (pid_ > 0) Kill();
  }

  // Waits for so many acknowledgements; fewer if the process ended by itself.
  int64_t Await(int64_t count) {
    while (acknowledged_ < count) {
      const int64_t got = ReadSome();
      if (got == 0) break;
      acknowledged_ += got;
    }
    return acknowledged_;
  }

  // All acknowledgements that there were. Nothing if it had failed before it was killed.
  int64_t Kill() {
    ::kill(pid_, SIGKILL);
    int exit_status = 0;
    ::waitpid(pid_, &exit_status, 0);
    pid_ = 0;
    EXPECT_TRUE(WIFSIGNALED(exit_status) && WTERMSIG(exit_status) == SIGKILL);
    while (const int64_t got = ReadSome()) acknowledged_ += got;
    return acknowledged_;
  }

 private:
  int64_t ReadSome() {
    char bytes[64];
    const ssize_t got = ::read(acknowledgements_.get(), bytes, sizeof bytes);
    return got > 0 ? got : 0;
  }

  pid_t pid_ = 0;
  int64_t acknowledged_ = 0;
  UniqueFd acknowledgements_;
};

std::set<std::string> ProblemsOf(const ResultTable& table) {
  std::set<std::string> problems;
  for (const TunableResult& result : table.All()) problems.insert(result.line.problem_text);
  return problems;
}

std::map<std::string, int> CountsOf(const UntunedList& list) {
  std::map<std::string, int> counts;
  for (const UntunedProblem& untuned : list.problems) ++counts[Text(untuned.problem)];
  return counts;
}

TEST(TunableFiles, KilledWritersTearNoLineAndLoseNothingThatTheyWereToldIsThere) {
  constexpr int kRounds = 5;
  constexpr uint64_t kMostAwaited = 12;
  const TemporaryFolder folder;
  const std::string results = (folder.path() / "results.csv").string();
  const std::string untuned = (folder.path() / "untuned.csv").string();
  Random random(20261121);
  std::vector<int64_t> next(kWriters, 0);
  std::set<std::string> acknowledged;

  for (int round = 0; round < kRounds; ++round) {
    std::vector<std::unique_ptr<Writer>> writers;
    for (int64_t i = 0; i < kWriters; ++i) {
      writers.push_back(
          std::make_unique<Writer>(results, untuned, i, next[static_cast<size_t>(i)]));
    }
    for (int64_t i = 0; i < kWriters; ++i) {
      Writer& writer = *writers[static_cast<size_t>(i)];
      writer.Await(1 + static_cast<int64_t>(random.Below(kMostAwaited)));
      const int64_t count = writer.Kill();
      int64_t& first = next[static_cast<size_t>(i)];
      for (int64_t number = first; number < first + count; ++number) {
        acknowledged.insert(Text(WrittenProblem(i, number)));
      }
      first += count;
    }
  }

  ResultTable table;
  const LoadReport report = LoadResults(*ReadFile(results), WriterIdentity(), table);
  EXPECT_TRUE(report.unreadable.empty()) << report.unreadable.front().reason;
  EXPECT_TRUE(report.rejected.empty());
  EXPECT_EQ(report.duplicates, 0);
  const UntunedList list = ParseUntunedFile(*ReadFile(untuned));
  EXPECT_TRUE(list.unreadable.empty()) << list.unreadable.front().reason;
  const std::set<std::string> kept = ProblemsOf(table);
  const std::map<std::string, int> recorded = CountsOf(list);
  for (const std::string& problem : acknowledged) {
    EXPECT_TRUE(kept.contains(problem)) << problem;
    EXPECT_TRUE(recorded.contains(problem)) << problem;
  }
  // One more of each process may have been written without being acknowledged.
  EXPECT_LE(kept.size(), acknowledged.size() + static_cast<size_t>(kRounds * kWriters));
  EXPECT_GE(acknowledged.size(), static_cast<size_t>(kRounds * kWriters));
}

}  // namespace
}  // namespace attune
