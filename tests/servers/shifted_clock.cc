// Loaded before a program's own libraries (LD_PRELOAD): its clock of the day is
// ATTUNE_TEST_CLOCK_SHIFT_S seconds off. Its steady clock is not.
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>

namespace {

time_t ShiftS() {
  const char* text = std::getenv("ATTUNE_TEST_CLOCK_SHIFT_S");
  return text == nullptr ? 0 : std::atoll(text);
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* now) noexcept {
  const long status = ::syscall(SYS_clock_gettime, clock, now);
  if (status == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    now->tv_sec += ShiftS();
  }
  return static_cast<int>(status);
}

int gettimeofday(timeval* now, void*) noexcept {
  timespec precise{};
  const int status = clock_gettime(CLOCK_REALTIME, &precise);
  *now = {precise.tv_sec, precise.tv_nsec / 1000};
  return status;
}

time_t time(time_t* now) noexcept {
  timespec precise{};
  clock_gettime(CLOCK_REALTIME, &precise);
  if (now != nullptr) *now = precise.tv_sec;
  return precise.tv_sec;
}

}  // extern "C"
