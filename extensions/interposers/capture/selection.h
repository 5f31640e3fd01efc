// Which launches are taken: the first of each kernel, as long as they differ and change anything.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>

namespace attune::capture {

// A kernel is its name and what it was compiled from. Thread-safe. In a process that was forked it
// begins anew.
class Selection {
 public:
  struct Turn {
    bool is_wanted = false;
    uint64_t number = 0;  // Of this launch among those of the kernel, from 1.
  };

  // A launch begins. `code` is of what the kernel was compiled from.
  Turn Begin(const std::string& kernel, uint64_t code);
  // Whether no launch like this one was taken before: `shape` is of its geometry and its arguments.
  bool IsNew(const std::string& kernel, uint64_t code, uint64_t shape);
  void NoteTaken(const std::string& kernel, uint64_t code, uint64_t shape);
  // It ran and changed nothing, so that there is nothing to check. Told at the end, if no other one
  // did.
  void NoteUnchanged(const std::string& kernel, uint64_t code);
  // Tells the reason, once for each kernel.
  void NoteRefused(const std::string& kernel, uint64_t code, const std::string& reason);
  // Tells how many launches there were.
  void Finish();

 private:
  // A launch costs a copy of all that it is given: a kernel that never changes anything, or cannot
  // be captured, is left alone after so many.
  static constexpr uint64_t kMostTries = 16;

  struct Kernel {
    uint64_t launches = 0;
    uint64_t tries = 0;
    uint64_t unchanged = 0;    // Of the tries.
    std::set<uint64_t> taken;  // Shapes.
    std::set<std::string> reasons;
  };

  std::mutex mutex_;
  pid_t process_ = 0;  // That the launches are of.
  std::map<std::pair<std::string, uint64_t>, Kernel> kernels_;
};

// Of this process; never destroyed.
Selection& TheSelection();

}  // namespace attune::capture
