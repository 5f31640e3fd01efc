#include "apps/attune/interrupt.h"

#include <signal.h>
#include <unistd.h>

namespace attune {
namespace {

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
  action.sa_handler = OnSignal;
  ::sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  // A file that may not grow (ulimit -f) becomes a write error, too.
  ::signal(SIGXFSZ, SIG_IGN);
}

OrderlyInterruption::OrderlyInterruption() { g_orderly = 1; }
OrderlyInterruption::~OrderlyInterruption() { g_orderly = 0; }
bool OrderlyInterruption::requested() const { return g_requested != 0; }

TwofoldInterruption::TwofoldInterruption() { g_orderly = 2; }
TwofoldInterruption::~TwofoldInterruption() { g_orderly = 0; }
bool TwofoldInterruption::requested() const { return g_requested != 0; }
bool TwofoldInterruption::requested_twice() const { return g_requested > 1; }

}  // namespace attune
