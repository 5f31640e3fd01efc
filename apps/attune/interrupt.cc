#include "apps/attune/interrupt.h"

#include <signal.h>
#include <unistd.h>

namespace attune {
namespace {

constexpr int kHandled[] = {SIGINT, SIGTERM, SIGPIPE, SIGXFSZ};
struct sigaction g_before[4];  // Set before any thread exists.

// A signal handler can reach nothing but globals; these two are its whole state.
volatile sig_atomic_t g_orderly = 0;  // So many are noted.
volatile sig_atomic_t g_requested = 0;

void OnSignal(int signal_number) {
  if (g_requested < g_orderly) {
    g_requested = g_requested + 1;
    return;
  }
  ::signal(signal_number, SIG_DFL);
  ::raise(signal_number);
}

}  // namespace

void InstallSignalHandlers() {
  struct sigaction action {};
  ::sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  for (int i = 0; i < 4; ++i) {
    // Ignored: a full file (ulimit -f) or a closed pipe then becomes a write error.
    const bool is_of_writing = kHandled[i] == SIGPIPE || kHandled[i] == SIGXFSZ;
    action.sa_handler = is_of_writing ? SIG_IGN : OnSignal;
    ::sigaction(kHandled[i], &action, &g_before[i]);
  }
}

void RestoreSignalHandlers() {
  for (int i = 0; i < 4; ++i) ::sigaction(kHandled[i], &g_before[i], nullptr);
}

OrderlyInterruption::OrderlyInterruption() { g_orderly = 1; }
OrderlyInterruption::~OrderlyInterruption() { g_orderly = 0; }
bool OrderlyInterruption::requested() const { return g_requested != 0; }

TwofoldInterruption::TwofoldInterruption() { g_orderly = 2; }
TwofoldInterruption::~TwofoldInterruption() { g_orderly = 0; }
bool TwofoldInterruption::requested() const { return g_requested != 0; }
bool TwofoldInterruption::requested_twice() const { return g_requested > 1; }

}  // namespace attune
