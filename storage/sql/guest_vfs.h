// How a database is read from inside of another program
// (docs/design/0046-descriptors-and-files.md): nothing is written or mapped, no descriptor is below
// 3, and none is used or closed that the program has taken.
#pragma once

namespace attune::sql {

// The name by which a URI asks SQLite for this: "file:PATH?mode=ro&vfs=attune-guest".
inline constexpr const char* kGuestVfs = "attune-guest";

// Makes kGuestVfs known to SQLite, once. REQUIRES of connections that use it: "PRAGMA locking_mode
// = EXCLUSIVE" and "PRAGMA temp_store = MEMORY" before anything is read, so that SQLite makes its
// index of the log in memory, and no file. They read one state of the database, the last commit
// when it is first read, and hold its locks until they are closed: so close them soon.
void RegisterGuestVfs();

// POSIX locks are of a process: closing a file drops the locks that another connection of the
// process has on it. So connections of SQLite's own VFS and of this one are not open at the same
// time. Thread-safe.
class OwnConnection {
 public:
  // Waits for connections of guests to end, which is soon.
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

  // False while one of SQLite's own is open: then that VFS has to do.
  bool is_admitted() const { return is_admitted_; }

 private:
  const bool is_admitted_;
};

}  // namespace attune::sql
