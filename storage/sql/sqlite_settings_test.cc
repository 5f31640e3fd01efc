#include "storage/sql/sqlite_settings.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "storage/sql/soci_headers.h"

namespace attune {
namespace {

bool CanOpen() {
  sqlite_api::sqlite3* database = nullptr;
  const bool is_open = sqlite_api::sqlite3_open(":memory:", &database) == SQLITE_OK;
  sqlite_api::sqlite3_close(database);
  return is_open;
}

TEST(SqliteForksTest, AChildOpensDatabasesThoughAnotherThreadWasOpeningOne) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "The sanitizer knows no fork beside threads.";
#endif
  GuardSqliteForks();
  std::atomic<bool> is_over{false};
  std::thread other([&] {
    while (!is_over) (void)CanOpen();
  });

  for (int i = 0; i < 200; ++i) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::alarm(10);
      ::_exit(CanOpen() ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    if (status != 0) break;
  }

  is_over = true;
  other.join();
}

}  // namespace
}  // namespace attune
