// The folders beside a database that hold recorded problems, and the users that they trust.
// docs/design/0049-problem-spools.md.
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
// An imported spool, kept while the command that counts its problems runs.
inline constexpr std::string_view kImportedSuffix = ".imported";

// The location of a database file, and whether its folder may be created.
struct SpoolPlace {
  std::filesystem::path database;  // Absolute, with links followed.
  bool makes_folders = false;      // True if a missing folder is created.
};

// The place of `database`. Follows links, so that all names of a database share one spool.
SpoolPlace SpoolPlaceOf(const std::filesystem::path& database, bool makes_folders);

// "DATABASE.spool-UID": each user has one, because users that share a database cannot all own one
// folder.
std::filesystem::path SpoolFolderOf(const std::filesystem::path& database, uid_t user);

// Opens the folder of the effective user; creates it with mode 0700 if missing. Refuses a folder of
// another user, a folder that other users may write to, and a link.
Result<UniqueFd> OpenOwnSpoolFolder(const SpoolPlace& place);
// As above, by the path of the folder.
Result<UniqueFd> OpenOwnSpoolFolder(const std::filesystem::path& path, bool makes_folders);
// As above, without parent folders, messages or heap memory. On failure, invalid with errno set;
// EPERM for a refused folder.
UniqueFd OpenOwnSpoolFolderAtOnce(const std::filesystem::path& path);

// A folder of a database with spools to import.
struct SpoolFolder {
  std::filesystem::path path;
  uid_t owner = 0;
  UniqueFd fd;
};

// The spool folders of the effective user and of the owner of the database. That owner may write to
// the database anyway. `refused` names one refused folder, if any.
std::vector<SpoolFolder> OpenSpoolFolders(const std::filesystem::path& database,
                                          std::string& refused);

// The names in the folder that end with `suffix`, sorted; at most `limit`.
std::vector<std::string> NamesIn(int folder, std::string_view suffix, size_t limit);

// The number of such names, counted without heap memory.
size_t CountNamesIn(int folder, std::string_view suffix, size_t limit);

// Opens `name` in the folder without following a link or blocking. Avoids descriptors of the
// standard streams, which the program may have closed. On failure, invalid with errno set.
UniqueFd OpenIn(int folder, const char* name, int flags, mode_t mode = 0);

// True if the open file is a spool of `owner`: a regular file whose only name is `name` of the
// folder. Call with the file locked: the previous lock holder may have removed or renamed it.
bool IsSpoolOf(uid_t owner, int fd, int folder, const char* name);

// A random word of 16 hexadecimal digits.
std::string RandomWord();

}  // namespace attune
