// Selects launches: the first ones of each kernel that differ and change a buffer.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>

namespace attune::capture {

// A kernel is its name and its compiled code. Thread-safe. Starts anew in a forked process.
class Selection {
 public:
  struct Turn {
    bool is_wanted = false;
    uint64_t number = 0;  // Index of this launch of the kernel, from 1.
  };

  // A launch begins. `code` is a hash of the source or binary of the kernel.
  Turn Begin(const std::string& kernel, uint64_t code);
  // True if no launch like this one was taken before. `shape` is a hash of its geometry and its
  // arguments.
  bool IsNew(const std::string& kernel, uint64_t code, uint64_t shape);
  void NoteTaken(const std::string& kernel, uint64_t code, uint64_t shape);
  // The launch changed nothing, so that there is nothing to check. Reported at the end, if no other
  // launch changed anything.
  void NoteUnchanged(const std::string& kernel, uint64_t code);
  // Reports the reason, once per kernel.
  void NoteRefused(const std::string& kernel, uint64_t code, const std::string& reason);
  // Reports the numbers of launches.
  void Finish();

 private:
  // Each try copies all inputs of a launch: after so many, a kernel that never changes anything or
  // cannot be captured is left alone.
  static constexpr uint64_t kMostTries = 16;

  struct Kernel {
    uint64_t launches = 0;
    uint64_t tries = 0;
    uint64_t unchanged = 0;    // Out of `tries`.
    std::set<uint64_t> taken;  // Shapes.
    std::set<std::string> reasons;
  };

  std::mutex mutex_;
  pid_t process_ = 0;  // The process of the launches.
  std::map<std::pair<std::string, uint64_t>, Kernel> kernels_;
};

// One per process; never destroyed.
Selection& TheSelection();

}  // namespace attune::capture
