#include "storage/sql/sqlite_settings.h"

#include "storage/sql/soci_headers.h"

namespace attune {

void UseSqliteAlone() {
  (void)sqlite_api::sqlite3_config(SQLITE_CONFIG_MULTITHREAD);
  (void)sqlite_api::sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

}  // namespace attune
