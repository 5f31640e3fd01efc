// Defers the cancellation of a thread while it holds locks of attune.
#pragma once

#include <pthread.h>

namespace attune {

// pthread_cancel() takes effect after the destructor. Needs the C library alone.
class CancellationHeld {
 public:
  CancellationHeld() { (void)::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~CancellationHeld() { (void)::pthread_setcancelstate(before_, nullptr); }
  CancellationHeld(const CancellationHeld&) = delete;
  CancellationHeld& operator=(const CancellationHeld&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace attune
