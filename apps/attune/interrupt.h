// Ctrl-C: the first asks for an orderly end, the second ends at once.
#pragma once

namespace attune {

// Handles SIGINT and SIGTERM from now on, and ignores SIGPIPE and SIGXFSZ so that a reader that
// goes away, and a file that may not grow, become write errors. Call once, from main(), before any
// thread exists.
void InstallSignalHandlers();

// Lets the first SIGINT only be noted while an object of this class lives; outside of that time a
// SIGINT ends the program at once, as users expect of short commands.
class OrderlyInterruption {
 public:
  OrderlyInterruption();
  ~OrderlyInterruption();
  OrderlyInterruption(const OrderlyInterruption&) = delete;
  OrderlyInterruption& operator=(const OrderlyInterruption&) = delete;

  // Whether SIGINT or SIGTERM came.
  bool requested() const;
};

}  // namespace attune
