// The folders beside a database in which programs leave what they recorded, and who is trusted
// there. docs/design/0049-problem-spools.md.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/base/unique_fd.h"

namespace attune {

inline constexpr std::string_view kSpoolSuffix = ".spool";
// A spool that was imported while the command that counts its problems still runs.
inline constexpr std::string_view kImportedSuffix = ".imported";

// Where a database file is, and what may be made there.
struct SpoolPlace {
  std::filesystem::path database;  // Absolute, with links followed.
  bool makes_folders = false;      // Whether the folder of the database is made if it is missing.
};

// The place of `database`. Links are followed, so that every name of a database has one spool.
SpoolPlace SpoolPlaceOf(const std::filesystem::path& database, bool makes_folders);

// "DATABASE.spool-UID": each user has one, because users that share a database cannot all own one
// folder.
std::filesystem::path SpoolFolderOf(const std::filesystem::path& database, uid_t user);

// Opens the folder of the effective user, and makes it if there is none (mode 0700). A folder of
// another user, one that others may write to, and a link are refused.
Result<UniqueFd> OpenOwnSpoolFolder(const SpoolPlace& place);
// The same by its path.
Result<UniqueFd> OpenOwnSpoolFolder(const std::filesystem::path& path, bool makes_folders);
// The same without folders above it, a message or memory of the heap: invalid with errno set, EPERM
// for a folder that is refused.
UniqueFd OpenOwnSpoolFolderAtOnce(const std::filesystem::path& path);

// A folder of a database with spools to import.
struct SpoolFolder {
  std::filesystem::path path;
  uid_t owner = 0;
  UniqueFd fd;
};

// Those of the database that belong to the effective user or to the owner of the database, who may
// write to it anyway. `refused` says which other one there is, if any.
std::vector<SpoolFolder> OpenSpoolFolders(const std::filesystem::path& database,
                                          std::string& refused);

// The names in the folder that end with `suffix`, in order; at most `limit` of them.
std::vector<std::string> NamesIn(int folder, std::string_view suffix, size_t limit);

// How many they are, without memory of the heap.
size_t CountNamesIn(int folder, std::string_view suffix, size_t limit);

// Opens `name` in the folder without following a link or waiting, at a number above those of the
// standard streams, which the program may have closed. Invalid with errno set.
UniqueFd OpenIn(int folder, const char* name, int flags, mode_t mode = 0);

// Whether the open file is a spool of `owner`: a regular file whose only name is `name` of the
// folder. To be asked once the file is locked: whoever had the lock before may have removed the
// file, or given it another name. What else lies in a folder is not ours.
bool IsSpoolOf(uid_t owner, int fd, int folder, const char* name);

// A random word of 16 hexadecimal digits.
std::string RandomWord();

}  // namespace attune
