// How SQLite works in a process that is ours alone.
#pragma once

namespace attune {

// Leaves out SQLite's locks around each connection, which this module gives to one thread at a time
// anyway, and its count of the memory that it has, which nobody asks for: both are taken for every
// cell. Of the whole process, so that it is for programs, not for libraries in other people's; to
// be called before any database is opened. Changes nothing if it comes too late.
void UseSqliteAlone();

}  // namespace attune
