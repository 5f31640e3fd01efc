// Ctrl-C: the first asks for an orderly end, the second ends at once; of workers the third does.
#pragma once

namespace attune {

// Handles SIGINT and SIGTERM from now on, and ignores SIGPIPE and SIGXFSZ so that a reader that
// goes away, and a file that may not grow, become write errors. Call once, from main(), before any
// thread exists.
void InstallSignalHandlers();

// Restores the handlers from before InstallSignalHandlers(), for a program that this process
// becomes or starts. A caller that made attune ignore a signal relies on that.
void RestoreSignalHandlers();

// Lets the first SIGINT only be noted while an object of this class lives; outside of that time a
// SIGINT ends the program at once, as users expect of short commands.
class OrderlyInterruption {
 public:
  OrderlyInterruption();
  ~OrderlyInterruption();
  OrderlyInterruption(const OrderlyInterruption&) = delete;
  OrderlyInterruption& operator=(const OrderlyInterruption&) = delete;

  // True after SIGINT or SIGTERM.
  bool requested() const;
};

// The same for programs that have something to give back: the first signal is noted, and so is the
// second; only the third ends the program at once.
class TwofoldInterruption {
 public:
  TwofoldInterruption();
  ~TwofoldInterruption();
  TwofoldInterruption(const TwofoldInterruption&) = delete;
  TwofoldInterruption& operator=(const TwofoldInterruption&) = delete;

  bool requested() const;
  bool requested_twice() const;
};

}  // namespace attune
