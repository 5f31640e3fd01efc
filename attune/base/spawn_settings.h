// What every program is started with that attune runs beside its own process.
#pragma once

#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace attune {

// Descriptors and attributes of one posix_spawn(): a process group of its own, no signal blocked or
// ignored. The descriptors are the caller's to name, by actions().
class SpawnSettings {
 public:
  SpawnSettings() {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawnattr_init(&attributes_);
    ::posix_spawnattr_setpgroup(&attributes_, 0);
    sigset_t all;
    ::sigfillset(&all);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    sigset_t none;
    ::sigemptyset(&none);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  }
  ~SpawnSettings() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  posix_spawn_file_actions_t* actions() { return &actions_; }
  // Instead of a group of its own, that of a child which has not been reaped.
  void JoinGroup(pid_t group) { ::posix_spawnattr_setpgroup(&attributes_, group); }

  // `words` are the program's path and its arguments. posix_spawn's error number.
  int Spawn(const std::vector<std::string>& words, char* const* variables, pid_t* pid) const {
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    return ::posix_spawn(pid, arguments.front(), &actions_, &attributes_, arguments.data(),
                         variables);
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

}  // namespace attune
