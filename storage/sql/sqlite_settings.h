// How SQLite works in a process of attune's own, and in that of another program.
#pragma once

namespace attune {

// Leaves out SQLite's locks around each connection, which this module gives to one thread at a time
// anyway, and its count of the memory that it has, which nobody asks for: both are taken for every
// cell. Of the whole process, so that it is for programs, not for libraries in other people's; to
// be called before any database is opened. Changes nothing if it comes too late.
void UseSqliteAlone();

// From here on a fork() copies none of SQLite's global locks while another thread holds it: a child
// could never open a database, of attune or of the program, which may use the same SQLite. They are
// held for microseconds. Initialises SQLite. May be called often; only the first call does
// something. Thread-safe.
void GuardSqliteForks();

}  // namespace attune
