#include "storage/sql/guest_vfs.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/unique_fd.h"
#include "storage/sql/soci_headers.h"

namespace attune::sql {
namespace {

namespace api = sqlite_api;
namespace fs = std::filesystem;

// A plain connection of SQLite, without code of attune.
class Sqlite {
 public:
  explicit Sqlite(const std::string& name) {
    constexpr int kFlags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI;
    code_ = api::sqlite3_open_v2(name.c_str(), &handle_, kFlags, nullptr);
    api::sqlite3_busy_timeout(handle_, 5000);
  }
  Sqlite(const Sqlite&) = delete;
  Sqlite& operator=(const Sqlite&) = delete;
  ~Sqlite() { (void)api::sqlite3_close(handle_); }

  int Run(const std::string& sql) {
    code_ = api::sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr);
    return code_;
  }
  // Returns the first number, or -1 with the reason in code().
  int64_t Number(const std::string& sql) {
    int64_t number = -1;
    code_ = api::sqlite3_exec(
        handle_, sql.c_str(),
        [](void* to, int, char** values, char**) {
          *static_cast<int64_t*>(to) = values[0] == nullptr ? -1 : std::atoll(values[0]);
          return 0;
        },
        &number, nullptr);
    return number;
  }
  int code() const { return code_; }
  int extended_code() { return api::sqlite3_extended_errcode(handle_); }

 private:
  api::sqlite3* handle_ = nullptr;
  int code_ = SQLITE_OK;
};

class GuestVfsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("attune-guest-" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    path_ = (folder_ / "t.db").string();
    RegisterGuestVfs();
  }
  void TearDown() override {
    if (writer_ > 0) End();
    fs::remove_all(folder_);
  }

  std::string Uri() const { return "file:" + path_ + "?mode=ro&vfs=" + kGuestVfs; }

  static void Prepare(Sqlite& guest) {
    ASSERT_EQ(guest.Run("PRAGMA locking_mode = EXCLUSIVE; PRAGMA temp_store = MEMORY"), SQLITE_OK);
  }

  // Other processes have other locks, so each writer is a process. Calls `write` once, then waits
  // with the connection open.
  void Write(const std::function<void(Sqlite&)>& write) {
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    writer_ = ::fork();
    if (writer_ == 0) {
      Sqlite database(path_);
      database.Run("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0");
      write(database);
      if (::write(ready[1], "r", 1) != 1) ::_exit(1);
      ::pause();
    }
    char byte = 0;
    ASSERT_EQ(::read(ready[0], &byte, 1), 1);
    ::close(ready[0]);
    ::close(ready[1]);
  }
  // Ends like a killed process.
  void End() {
    ::kill(writer_, SIGKILL);
    ::waitpid(writer_, nullptr, 0);
    writer_ = -1;
  }

  int64_t CountAsGuest() {
    Sqlite guest(Uri());
    Prepare(guest);
    const int64_t count = guest.Number("SELECT count(*) FROM t");
    EXPECT_EQ(guest.code(), SQLITE_OK);
    return count;
  }

  fs::path folder_;
  std::string path_;
  pid_t writer_ = -1;
};

constexpr const char* kTwoRows =
    "CREATE TABLE t(a INTEGER, b TEXT); INSERT INTO t VALUES(1, 'x'); INSERT INTO t VALUES(2, 'y')";

TEST_F(GuestVfsTest, ReadsWhatAnotherProcessHasCommittedInItsLog) {
  Write([](Sqlite& database) { database.Run(kTwoRows); });
  ASSERT_GT(fs::file_size(path_ + "-wal"), 0u);

  EXPECT_EQ(CountAsGuest(), 2);
}

TEST_F(GuestVfsTest, ReadsTheLogOfAProcessThatWasKilled) {
  Write([](Sqlite& database) { database.Run(kTwoRows); });
  End();
  EXPECT_EQ(CountAsGuest(), 2);

  fs::remove(path_ + "-shm");
  EXPECT_EQ(CountAsGuest(), 2);
}

TEST_F(GuestVfsTest, ReadsADatabaseThatIsClosed) {
  Write([](Sqlite& database) { database.Run(kTwoRows); });
  End();
  { EXPECT_EQ(Sqlite(path_).Run("PRAGMA wal_checkpoint(TRUNCATE)"), SQLITE_OK); }
  ASSERT_FALSE(fs::exists(path_ + "-wal"));

  EXPECT_EQ(CountAsGuest(), 2);
  EXPECT_FALSE(fs::exists(path_ + "-wal"));
  EXPECT_FALSE(fs::exists(path_ + "-shm"));
}

TEST_F(GuestVfsTest, LeavesOutWhatIsNotCommitted) {
  Write([](Sqlite& database) {
    database.Run(kTwoRows);
    // Large enough that pages go to the log before the commit.
    database.Run(
        "PRAGMA cache_size = 2; BEGIN; WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 "
        "FROM n WHERE i < 9999) INSERT INTO t SELECT i, hex(randomblob(50)) FROM n");
  });

  EXPECT_EQ(CountAsGuest(), 2);
}

TEST_F(GuestVfsTest, IgnoresALogThatWasMovedIntoTheDatabaseAndIsToBeOverwritten) {
  Write([](Sqlite& database) {
    database.Run(kTwoRows);
    database.Run("PRAGMA wal_checkpoint(RESTART)");
    // After this the state describes an empty log, but the file holds the old log.
    database.Run("BEGIN IMMEDIATE; DELETE FROM t; ROLLBACK");
  });

  EXPECT_EQ(CountAsGuest(), 2);
}

// The sums of two tables agree after each commit, in every state of the log.
TEST_F(GuestVfsTest, SeesWholeTransactionsWhileOthersWriteAndMoveTheLog) {
  Write([](Sqlite& database) {
    database.Run("CREATE TABLE t(a INTEGER, b TEXT); CREATE TABLE u(a INTEGER, b TEXT)");
    for (int i = 0; i < 200; ++i) {
      database.Run("INSERT INTO t VALUES(1, hex(randomblob(300)))");
      database.Run("INSERT INTO u VALUES(1, hex(randomblob(300)))");
    }
  });
  End();
  writer_ = ::fork();
  if (writer_ == 0) {
    Sqlite database(path_);
    database.Run("PRAGMA wal_autocheckpoint = 5");
    for (int i = 0;; ++i) {
      database.Run(
          "BEGIN IMMEDIATE; UPDATE t SET a = a + 1, b = hex(randomblob(300)) WHERE rowid % 7 = 1; "
          "UPDATE u SET a = a + 1, b = hex(randomblob(300)) WHERE rowid % 7 = 1; COMMIT");
      if (i % 10 == 0) database.Run("PRAGMA wal_checkpoint(RESTART)");
    }
  }

  int64_t last = 0;
  int whole = 0;
  for (int i = 0; i < 300; ++i) {
    Sqlite guest(Uri());
    Prepare(guest);
    const int64_t difference = guest.Number(
        "SELECT (SELECT sum(a) FROM t) - (SELECT sum(a) FROM u) + (SELECT count(*) FROM t) - 200");
    // The process that moves the log locks all others out for that moment.
    if (guest.code() == SQLITE_BUSY) continue;
    ASSERT_EQ(guest.code(), SQLITE_OK) << "in round " << i;
    ASSERT_EQ(difference, 0) << "in round " << i;
    ASSERT_EQ(guest.Number("SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> "
                           "'ok'"),
              0);
    const int64_t sum = guest.Number("SELECT sum(a) FROM t");
    ASSERT_GE(sum, last);
    last = sum;
    ++whole;
  }
  EXPECT_GT(whole, 100);
  EXPECT_GT(last, 200);
}

TEST_F(GuestVfsTest, KeepsItsStateWhileOthersWriteAndLetsThemWrite) {
  Write([](Sqlite& database) { database.Run(kTwoRows); });
  Sqlite guest(Uri());
  Prepare(guest);
  ASSERT_EQ(guest.Number("SELECT count(*) FROM t"), 2);

  int status = -1;
  const pid_t other = ::fork();
  if (other == 0) {
    Sqlite database(path_);
    const bool is_written = database.Run("INSERT INTO t VALUES(3, 'z')") == SQLITE_OK &&
                            database.Number("PRAGMA wal_checkpoint(PASSIVE)") >= 0 &&
                            database.Number("SELECT count(*) FROM t") == 3;
    ::_exit(is_written ? 0 : 1);
  }
  ::waitpid(other, &status, 0);

  EXPECT_EQ(status, 0);
  EXPECT_EQ(guest.Number("SELECT count(*) FROM t"), 2);
  EXPECT_EQ(CountAsGuest(), 3);
}

TEST_F(GuestVfsTest, ReadsOnWhenTheFilesBesideTheDatabaseAreCut) {
  Write([](Sqlite& database) { database.Run(kTwoRows); });
  Sqlite guest(Uri());
  Prepare(guest);
  ASSERT_EQ(guest.Number("SELECT count(*) FROM t"), 2);

  fs::resize_file(path_ + "-shm", 0);
  fs::resize_file(path_ + "-wal", 0);

  // Only the answer matters, not its value: both rows were in the log.
  (void)guest.Number("SELECT count(*) FROM t WHERE b > 'a'");
  Sqlite other(Uri());
  Prepare(other);
  (void)other.Number("SELECT count(*) FROM t");
}

TEST_F(GuestVfsTest, WritesNothing) {
  Write([](Sqlite& database) { database.Run(kTwoRows); });
  Sqlite guest(Uri());
  Prepare(guest);

  EXPECT_EQ(guest.Run("INSERT INTO t VALUES(3, 'z')"), SQLITE_READONLY);
  EXPECT_EQ(CountAsGuest(), 2);
}

// Like a daemon, the program has reused the descriptors that attune opened.
TEST_F(GuestVfsTest, NeitherReadsNorClosesDescriptorsThatTheProgramHasTaken) {
  Write([](Sqlite& database) { database.Run(kTwoRows); });
  const fs::path file = folder_ / "of the program";
  std::ofstream(file) << "untouched";
  int taken[64];
  {
    Sqlite guest(Uri());
    Prepare(guest);
    ASSERT_EQ(guest.Number("SELECT count(*) FROM t"), 2);
    const int first = ::open(file.c_str(), O_RDWR);
    int count = 0;
    for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
      std::error_code gone;
      const std::string name = fs::read_symlink(entry.path(), gone).string();
      const int fd = std::stoi(entry.path().filename());
      EXPECT_TRUE(fd > 2 || name.find("t.db") == std::string::npos);
      if (!name.starts_with(path_)) continue;
      ASSERT_EQ(::dup2(first, fd), fd);
      taken[count++] = fd;
    }
    ::close(first);
    ASSERT_GE(count, 3);
    taken[count] = -1;

    EXPECT_LT(guest.Number("SELECT count(*) FROM t WHERE b > 'a'"), 3);
  }

  for (const int* fd = taken; *fd >= 0; ++fd) {
    EXPECT_EQ(::fcntl(*fd, F_GETFD), 0) << *fd << " was closed";
    ::close(*fd);
  }
  std::string content;
  std::getline(std::ifstream(file), content);
  EXPECT_EQ(content, "untouched");
}

// The read must fail, not find a short or malformed file, whatever replaces the descriptor.
TEST_F(GuestVfsTest, SaysThatItCannotReadWhatTheProgramHasClosed) {
  Write([](Sqlite& database) {
    database.Run("CREATE TABLE t(a INTEGER); CREATE TABLE u(a); INSERT INTO u VALUES(1)");
    database.Run("PRAGMA wal_checkpoint(TRUNCATE)");
  });
  for (const bool has_other : {false, true}) {
    Sqlite guest(Uri());
    Prepare(guest);
    ASSERT_EQ(guest.Number("SELECT count(*) FROM t"), 0);
    std::vector<int> ours;
    for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
      std::error_code gone;
      const std::string name = fs::read_symlink(entry.path(), gone).string();
      if (name.starts_with(path_)) ours.push_back(std::stoi(entry.path().filename()));
    }
    for (const int fd : ours) ::close(fd);
    const UniqueFd other(has_other ? ::open("/dev/zero", O_RDONLY | O_CLOEXEC) : -1);
    for (const int fd : ours) {
      if (has_other) ::dup2(other.get(), fd);
    }

    EXPECT_EQ(guest.Number("SELECT a FROM u"), -1);

    EXPECT_EQ(guest.code(), SQLITE_IOERR);
    EXPECT_NE(guest.extended_code(), SQLITE_IOERR_SHORT_READ);
    for (const int fd : ours) ::close(fd);
  }
}

TEST(GuestConnectionTest, IsNotAdmittedBesideOneThatHasPosixLocks) {
  EXPECT_TRUE(GuestConnection().is_admitted());
  {
    const OwnConnection own;
    EXPECT_FALSE(GuestConnection().is_admitted());
  }
  EXPECT_TRUE(GuestConnection().is_admitted());
}

}  // namespace
}  // namespace attune::sql
