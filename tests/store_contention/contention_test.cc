// Many processes with many threads append to one database while some of them are killed:
// acknowledged data is there, nothing is half, no writer waits long for the lock, and readers of
// the index never wait.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "attune/base/random.h"
#include "attune/base/unique_fd.h"
#include "attune/index/index_writer.h"
#include "attune/index/turn_file.h"
#include "storage/sql/connection.h"
#include "storage/sql/sql_store.h"
#include "storage/sql/write_turn.h"
#include "tests/conformance/store/sample_records.h"
#include "tests/conformance/store/temporary_folder.h"
#include "tests/store_contention/indexed_problems.h"

extern char** environ;

namespace attune {
namespace {

using Clock = std::chrono::steady_clock;

struct Load {
  int processes = 8;
  int threads = 8;
  int sets_per_thread = 4;
  int kills = 0;  // Each replaces the process by a new one with other seeds.
};

// Reports of the workers.
struct Findings {
  std::map<std::string, size_t> acknowledged;  // Trials by set.
  std::vector<int64_t> waits_ns;
  std::vector<int64_t> reads_ns;
  int vain_reads = 0;  // That found nothing.
};

class Worker {
 public:
  Worker(const std::string& database, uint64_t seed, const Load& load) {
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC) != 0) return;
    output_.Reset(ends[0]);
    const UniqueFd write_end(ends[1]);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, write_end.get(), STDOUT_FILENO);
    std::vector<std::string> words = {ATTUNE_CONTENTION_WORKER, database, std::to_string(seed),
                                      std::to_string(load.threads),
                                      std::to_string(load.sets_per_thread)};
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    ::posix_spawn(&pid_, arguments[0], &actions, nullptr, arguments.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() { Kill(); }

  int output() const { return output_.get(); }
  bool is_over() const { return is_over_; }
  void Kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  void Read(Findings& findings) {
    char buffer[65536];
    const ssize_t got = ::read(output_.get(), buffer, sizeof buffer);
    is_over_ = got <= 0;
    if (got <= 0) return;
    text_.append(buffer, static_cast<size_t>(got));
    const size_t end = text_.rfind('\n');
    if (end == std::string::npos) return;
    std::istringstream lines(text_.substr(0, end));
    text_.erase(0, end + 1);
    for (std::string line; std::getline(lines, line);) Parse(line, findings);
  }

 private:
  static void Parse(const std::string& line, Findings& findings) {
    std::istringstream words(line);
    std::string kind;
    std::string first;
    words >> kind >> first;
    if (kind == "wait") findings.waits_ns.push_back(std::stoll(first));
    if (kind == "read") {
      findings.reads_ns.push_back(std::stoll(first));
      size_t found = 0;
      if (!(words >> found) || found == 0) ++findings.vain_reads;
    }
    if (kind == "set") words >> findings.acknowledged[first];
  }

  pid_t pid_ = -1;
  UniqueFd output_;
  std::string text_;
  bool is_over_ = false;
};

void RefreshIndexOf(const std::string& database) {
  const auto store = OpenSqlStore(database);
  ASSERT_TRUE(store.ok());
  EXPECT_EQ(RefreshIndex(**store, IndexPathOf(database), {}).status(), Status::Ok());
}

// A database with a set for each of kIndexedProblems, and its index.
void MakeIndexedDatabase(const std::string& database) {
  const auto store = OpenSqlStore(database);
  ASSERT_TRUE(store.ok());
  Random random(11);
  for (int64_t i = 0; i < kIndexedProblems; ++i) {
    const MeasurementSet set = SampleSet(i, 1, random);
    Trial trial = SampleMeasured(TrialRole::kFinal, 10, random);
    trial.is_default = true;  // Nothing is chosen unless it was compared with it.
    const std::vector<Trial> trials(4, trial);
    ASSERT_EQ((*store)->BeginSet(set), Status::Ok());
    ASSERT_EQ((*store)->Append(set.id, trials), Status::Ok());
    ASSERT_EQ((*store)->FinishSet(set.id), Status::Ok());
  }
  RefreshIndexOf(database);
}

Findings RunWorkers(const std::string& database, const Load& load) {
  Findings findings;
  Random random(7);
  uint64_t seed = 1;
  std::vector<std::unique_ptr<Worker>> workers;
  for (int i = 0; i < load.processes; ++i) {
    workers.push_back(std::make_unique<Worker>(database, seed++, load));
  }
  int kills = 0;
  // A kill after so many more acknowledgements, which is a random moment for the one that is hit.
  size_t next_kill = 5 + random.Below(40);
  while (!workers.empty()) {
    std::vector<pollfd> ready;
    for (const auto& worker : workers) ready.push_back({worker->output(), POLLIN, 0});
    ::poll(ready.data(), ready.size(), 1000);
    for (size_t i = 0; i < ready.size(); ++i) {
      if (ready[i].revents != 0) workers[i]->Read(findings);
    }
    std::erase_if(workers, [](const auto& worker) { return worker->is_over(); });
    if (kills >= load.kills || workers.empty() || findings.acknowledged.size() < next_kill) {
      continue;
    }
    next_kill = findings.acknowledged.size() + 5 + random.Below(40);
    Worker& victim = *workers[random.Below(workers.size())];
    victim.Kill();
    while (!victim.is_over()) victim.Read(findings);
    if (++kills % 4 == 0) RefreshIndexOf(database);
    std::erase_if(workers, [](const auto& worker) { return worker->is_over(); });
    workers.push_back(std::make_unique<Worker>(database, seed++, load));
  }
  return findings;
}

// Every set that was acknowledged is there in full; all other sets are unfinished or complete.
void CheckNothingLost(const std::string& database, const Findings& findings) {
  ASSERT_EQ(CheckSqlStore(database), Status::Ok());
  const auto store = OpenSqlStore(database);
  ASSERT_TRUE(store.ok());
  std::map<std::string, size_t> found;
  const Status visited = (*store)->Visit({}, [&](const RecordedSet& recorded) {
    const size_t trials = recorded.records.size();
    EXPECT_TRUE(trials == 0 || trials == 4) << recorded.set.id << " has " << trials;
    if (recorded.finished) found[recorded.set.id] = trials;
    return Status::Ok();
  });
  ASSERT_EQ(visited, Status::Ok());
  size_t lost = 0;
  for (const auto& [id, trials] : findings.acknowledged) lost += found[id] == trials ? 0 : 1;
  EXPECT_EQ(lost, 0u) << "of " << findings.acknowledged.size();
}

double Ms(std::vector<int64_t>& values_ns, double quantile) {
  if (values_ns.empty()) return 0;
  const auto at = static_cast<ptrdiff_t>(quantile * static_cast<double>(values_ns.size() - 1));
  std::nth_element(values_ns.begin(), values_ns.begin() + at, values_ns.end());
  return static_cast<double>(values_ns[static_cast<size_t>(at)]) * 1e-6;
}

void Report(Findings& findings, Clock::time_point begin) {
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  fmt::print(
      "{} sets of 4 records in {:.1f} s; wait for the write lock (ms): median {:.2f}, 99 % {:.2f}, "
      "longest {:.2f}, of {}; lookup in the index (ms): longest {:.3f}, of {}\n",
      findings.acknowledged.size(), seconds, Ms(findings.waits_ns, 0.5),
      Ms(findings.waits_ns, 0.99), Ms(findings.waits_ns, 1), findings.waits_ns.size(),
      Ms(findings.reads_ns, 1), findings.reads_ns.size());
}

// The longest wait for the write lock, in ms, of 8 processes of 8 threads that lose nothing.
void RunEightTimesEight(double* longest_wait_ms) {
  const TemporaryFolder folder;
  const std::string database = folder.path() / "attune.db";
  ASSERT_NO_FATAL_FAILURE(MakeIndexedDatabase(database));

  const auto begin = Clock::now();
  Findings findings = RunWorkers(database, {8, 8, 8, 0});
  Report(findings, begin);

  EXPECT_EQ(findings.acknowledged.size(), 8u * 8u * 8u);
  CheckNothingLost(database, findings);
  // One after each set, beside all those writers.
  EXPECT_EQ(findings.reads_ns.size(), findings.acknowledged.size());
  EXPECT_EQ(findings.vain_reads, 0);
  *longest_wait_ms = Ms(findings.waits_ns, 1);
}

TEST(StoreContention, EightTimesEightWritersDoNotWaitLongForEachOther) {
  // Waits for a core are in it, which under a sanitizer are most of it, and which other programs of
  // the machine make longer: a lock that is held for too long is held so in every round.
  constexpr double kLongestMs = 50.0 * ATTUNE_TEST_TIME_FACTOR;
  constexpr int kRounds = 4;
  double longest_wait_ms = 2 * kLongestMs;
  for (int round = 0; round < kRounds && longest_wait_ms >= kLongestMs; ++round) {
    ASSERT_NO_FATAL_FAILURE(RunEightTimesEight(&longest_wait_ms));
  }
  EXPECT_LT(longest_wait_ms, kLongestMs);
}

// A process that has everything that a writer of the database or of its index waits for.
class LockHolder {
 public:
  explicit LockHolder(const std::string& database) {
    int from_child[2] = {-1, -1};
    int to_child[2] = {-1, -1};
    if (::pipe2(from_child, O_CLOEXEC) != 0 || ::pipe2(to_child, O_CLOEXEC) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(to_child[1]);
      Hold(database, from_child[1], to_child[0]);
    }
    ::close(from_child[1]);
    ::close(to_child[0]);
    const UniqueFd told(from_child[0]);
    release_.Reset(to_child[1]);
    char byte = 0;
    holds_ = ::read(told.get(), &byte, 1) == 1;
  }
  LockHolder(const LockHolder&) = delete;
  LockHolder& operator=(const LockHolder&) = delete;
  ~LockHolder() {
    release_.Reset();
    if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
  }

  bool holds() const { return holds_; }

 private:
  // Until the other end of `release` is closed, if only by the end of the test.
  [[noreturn]] static void Hold(const std::string& database, int report, int release) {
    const sql::WriteTurn turn = sql::WriteTurn::Take(database, std::chrono::seconds(1));
    const auto index = TurnFile::Take(IndexPathOf(database), 0);
    const auto connection = sql::Connection::Open(database, {});
    char byte = 'h';
    if (index.ok() && connection.ok() && (*connection)->BeginWrite().ok() &&
        ::write(report, &byte, 1) == 1) {
      (void)!::read(release, &byte, 1);
    }
    ::_exit(0);
  }

  pid_t pid_ = -1;
  UniqueFd release_;
  bool holds_ = false;
};

TEST(StoreContention, ALookupNeedsNoneOfTheLocksThatWritersTake) {
  const TemporaryFolder folder;
  const std::string database = folder.path() / "attune.db";
  ASSERT_NO_FATAL_FAILURE(MakeIndexedDatabase(database));
  const LockHolder holder(database);
  ASSERT_TRUE(holder.holds());
  SqlStoreOptions impatient;
  impatient.busy_timeout = std::chrono::milliseconds(1);
  const auto store = OpenSqlStore(database, impatient);
  ASSERT_TRUE(store.ok()) << store.status().ToString();
  // Writers wait in vain.
  ASSERT_EQ((*store)->AddProblems("tag", SampleProblems(1)).code(), StatusCode::kUnavailable);
  ASSERT_EQ(TurnFile::Take(IndexPathOf(database), 0).status().code(), StatusCode::kUnavailable);

  for (int64_t i = 0; i < kIndexedProblems; ++i) {
    const auto index = ChoiceIndex::Open(IndexPathOf(database));
    ASSERT_TRUE(index.ok()) << index.status().ToString();
    const auto choices = (*index)->Find(SampleProblem(i));
    ASSERT_TRUE(choices.ok()) << choices.status().ToString();
    EXPECT_EQ(choices->size(), 1u) << i;
  }
}

TEST(StoreContention, KillsAtRandomMomentsLoseNothingThatWasAcknowledged) {
  const TemporaryFolder folder;
  const std::string database = folder.path() / "attune.db";
  ASSERT_NO_FATAL_FAILURE(MakeIndexedDatabase(database));

  const auto begin = Clock::now();
  Findings findings = RunWorkers(database, {8, 8, 4, 16});
  Report(findings, begin);

  EXPECT_GE(findings.acknowledged.size(), 8u * 8u * 4u);
  CheckNothingLost(database, findings);
}

// Half an hour of patience, in which 64 x 64 threads write more than 100,000 records.
TEST(StoreContention, DISABLED_SixtyFourTimesSixtyFourWritersLoseNothing) {
  const TemporaryFolder folder;
  const std::string database = folder.path() / "attune.db";
  ASSERT_NO_FATAL_FAILURE(MakeIndexedDatabase(database));

  const auto begin = Clock::now();
  Findings findings = RunWorkers(database, {64, 64, 7, 60});
  Report(findings, begin);

  EXPECT_GE(findings.acknowledged.size() * 4, 100'000u);
  CheckNothingLost(database, findings);
}

}  // namespace
}  // namespace attune
