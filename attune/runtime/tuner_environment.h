// The environment for programs that we start from inside of somebody else's program.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attune {

// The value of LD_PRELOAD without libattune_blas and libattune_cublas: a helper that computes
// through a face would tune the face.
std::string WithoutOurPreload(std::string_view preload);

// A copy of this process's environment without our libraries in LD_PRELOAD. Not thread-safe against
// setenv() elsewhere, like all readers of the environment.
class TunerEnvironment {
 public:
  TunerEnvironment();
  // As execve() takes it; lives as long as this object.
  char** pointers() { return pointers_.data(); }

 private:
  std::vector<std::string> entries_;
  std::vector<char*> pointers_;
};

}  // namespace attune
