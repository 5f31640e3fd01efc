// Processes of the program `attune`, as a fleet has them.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tests/conformance/store/temporary_folder.h"

namespace attune {

// Runs attune in processes. Their output goes to NAME.log in a folder of their own, which is their
// home, too. Kills those that run when this ends. Not thread-safe.
class AttuneProcesses {
 public:
  // `program` is the path of attune.
  explicit AttuneProcesses(std::string program);
  ~AttuneProcesses();
  AttuneProcesses(const AttuneProcesses&) = delete;
  AttuneProcesses& operator=(const AttuneProcesses&) = delete;

  // In the environment of those that are started from here on.
  void Set(const std::string& name, const std::string& value) { settings_[name] = value; }
  void Unset(const std::string& name) { settings_.erase(name); }
  // Those that are started from here on take this machine for one of that name, if this is root.
  void SetHost(const std::string& host) { host_ = host; }

  // `attune WORDS`. REQUIRES: none of that name runs.
  pid_t Start(const std::string& name, std::vector<std::string> words);
  // Its exit status, or 128 and the signal that it died of.
  int Wait(const std::string& name);
  // Sends `signal` before.
  int End(const std::string& name, int signal);
  // The exit status of one that ends by itself.
  int Run(const std::string& name, const std::vector<std::string>& words);
  bool IsRunning(const std::string& name) const { return running_.contains(name); }
  const std::map<std::string, pid_t>& running() const { return running_; }

  std::string Log(const std::string& name) const;
  // Logs of all started processes.
  std::string Logs() const;
  std::filesystem::path folder() const { return folder_.path(); }

 private:
  const std::string program_;
  const TemporaryFolder folder_;
  std::map<std::string, std::string> settings_;
  std::string host_;
  std::map<std::string, pid_t> running_;
};

// Those that `process` has started and that have not ended.
std::vector<pid_t> ChildrenOf(pid_t process);

}  // namespace attune
