// SQLite settings in a process of attune's own, and in that of another program.
#pragma once

namespace attune {

// Disables SQLite's locks around each connection, because this module gives a connection to one
// thread at a time anyway. Also disables its memory statistics, which have no reader. Both cost
// time for every cell. Affects the whole process, so it is for programs, not for libraries in other
// programs. Call before any database is opened; later calls change nothing.
void UseSqliteAlone();

// From here on a fork() copies none of SQLite's global locks while another thread holds it.
// Otherwise the new process could never open a database, of attune or of the program, which may use
// the same SQLite. The locks are held for microseconds. Initialises SQLite. Only the first call has
// an effect. Thread-safe.
void GuardSqliteForks();

}  // namespace attune
