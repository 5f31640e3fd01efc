// Reads a database from inside another program (docs/design/0046-descriptors-and-files.md). Writes
// and maps nothing, uses no descriptor below 3, and neither uses nor closes one that the program
// has taken.
#pragma once

namespace attune::sql {

// The VFS name in a URI of SQLite: "file:PATH?mode=ro&vfs=attune-guest".
inline constexpr const char* kGuestVfs = "attune-guest";

// Registers kGuestVfs with SQLite, once. REQUIRES of connections that use it: "PRAGMA locking_mode
// = EXCLUSIVE" and "PRAGMA temp_store = MEMORY" before the first read, so that SQLite builds its
// index of the log in memory and makes no file. Such a connection reads one state of the database,
// the last commit at its first read. It holds the locks of the database until it is closed, so
// close it soon.
void RegisterGuestVfs();

// POSIX locks belong to a process: closing a file drops the locks that other connections of the
// process hold on it. So connections of the own VFS of SQLite and of this one are never open at the
// same time. Thread-safe.
class OwnConnection {
 public:
  // Waits until guest connections end, at most 5 s.
  OwnConnection();
  ~OwnConnection();
  OwnConnection(const OwnConnection&) = delete;
  OwnConnection& operator=(const OwnConnection&) = delete;
};

class GuestConnection {
 public:
  GuestConnection();
  ~GuestConnection();
  GuestConnection(const GuestConnection&) = delete;
  GuestConnection& operator=(const GuestConnection&) = delete;

  // False while a connection of the own VFS of SQLite is open: then use that VFS.
  bool is_admitted() const { return is_admitted_; }

 private:
  const bool is_admitted_;
};

}  // namespace attune::sql
