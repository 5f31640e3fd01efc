// Server processes of any kind that tests start.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "attune/base/status.h"

namespace attune {

// The path of a server's program, also where Debian puts programs outside of PATH; empty if it is
// not installed.
std::string FindServerProgram(const std::string& name);

// The default address of servers.
inline constexpr const char* kLoopback = "127.0.0.1";

// A port of `address` that is free and that no outgoing connection gets later.
Result<uint16_t> FreePort(const std::string& address = kLoopback);
// True if connections are accepted there.
bool Answers(uint16_t port, const std::string& address = kLoopback);

// A new folder that belongs to the user that runs servers: `nobody`, if this is root. In TMPDIR if
// that is set, else in memory, where that has room.
Result<std::filesystem::path> NewServerFolder();
// Gives them a file, too.
Status GiveToServer(const std::filesystem::path& path);

// Starts `words` in `folder` with both outputs in `log` there, in a process group of its own that
// ends with this process. -1 if no process could be made.
pid_t SpawnServer(const std::vector<std::string>& words, const std::filesystem::path& folder);
// The exit status of a program that ends by itself.
int RunToItsEnd(const std::vector<std::string>& words, const std::filesystem::path& folder);
// As `kill -9` does it, and makes `pid` -1. Nothing if it is that already.
void KillServer(pid_t& pid);
// The end of the log of a server in `folder`.
std::string EndOfLog(const std::filesystem::path& folder);

}  // namespace attune
