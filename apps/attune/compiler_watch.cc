#include "apps/attune/compiler_watch.h"

#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <system_error>
#include <utility>

#include "attune/base/descendants.h"

namespace attune {
namespace {

void KillStartedPrograms() {
  const pid_t own_group = ::getpgrp();
  // Collected before the first kill: descendants of a killed process can no longer be found.
  std::set<pid_t> groups;
  VisitDescendants(::getpid(), [&](pid_t process) { groups.insert(::getpgid(process)); });
  for (const pid_t group : groups) {
    if (group > 0 && group != own_group) ::kill(-group, SIGKILL);
  }
}

}  // namespace

CompilerWatch::CompilerWatch(std::function<bool()> stop_requested)
    : stop_requested_(std::move(stop_requested)) {
  try {
    thread_ = std::jthread([this](const std::stop_token& stop) { Watch(stop); });
  } catch (const std::system_error&) {
    // Nothing depends on it but how soon the end comes.
  }
}

void CompilerWatch::Watch(const std::stop_token& stop) const {
  constexpr std::chrono::milliseconds kInterval{50};
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  // Again and again: one may just have been started.
  while (!never.wait_for(lock, stop, kInterval, [&] { return stop.stop_requested(); })) {
    if (stop_requested_()) KillStartedPrograms();
  }
}

}  // namespace attune
