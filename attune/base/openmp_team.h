// The number of threads that OpenMP gives a library called by this thread.
#pragma once

namespace attune {

// Functions of the OpenMP runtime that the library uses; null if absent.
struct OpenMpFunctions {
  int (*get_dynamic)() = nullptr;
  void (*set_dynamic)(int) = nullptr;
  int (*get_active_level)() = nullptr;
  int (*get_max_active_levels)() = nullptr;
  int (*get_thread_limit)() = nullptr;
};

// While an object lives, OpenMP gives this thread as many threads as it requests. With OMP_DYNAMIC
// or omp_set_dynamic(), which the program controls, OpenMP may give fewer. oneDNN then leaves out
// parts of a result, and BLIS ends the process.
class FullTeam {
 public:
  explicit FullTeam(const OpenMpFunctions& openmp) : openmp_(openmp) {
    was_dynamic_ =
        openmp.get_dynamic != nullptr && openmp.set_dynamic != nullptr && openmp.get_dynamic() != 0;
    if (was_dynamic_) openmp.set_dynamic(0);
  }
  ~FullTeam() {
    if (was_dynamic_) openmp_.set_dynamic(1);
  }
  FullTeam(const FullTeam&) = delete;
  FullTeam& operator=(const FullTeam&) = delete;

 private:
  const OpenMpFunctions openmp_;
  bool was_dynamic_ = false;
};

// False if OpenMP gives fewer than `threads` even with FullTeam: beyond OMP_THREAD_LIMIT, and
// within a parallel region of the program unless regions may be nested.
inline bool GivesFullTeam(const OpenMpFunctions& openmp, int threads) {
  if (threads <= 1 || openmp.get_active_level == nullptr ||
      openmp.get_max_active_levels == nullptr || openmp.get_thread_limit == nullptr) {
    return true;
  }
  return openmp.get_active_level() < openmp.get_max_active_levels() &&
         threads <= openmp.get_thread_limit();
}

}  // namespace attune
