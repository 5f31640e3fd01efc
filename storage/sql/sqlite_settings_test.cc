#include "storage/sql/sqlite_settings.h"

#include <unistd.h>

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "attune/base/without_threads.h"
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

  bool holds = true;
  for (int i = 0; holds && i < 200; ++i) {
    holds = HoldsInChild([] {
      ::alarm(10);
      return CanOpen();
    });
  }
  EXPECT_TRUE(holds);

  is_over = true;
  other.join();
}

}  // namespace
}  // namespace attune
