// Keeps the run-time index of a database up to date while a run tunes into it, so that programs
// that are running see what was found before the run ends.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "apps/attune/terminal.h"
#include "attune/measure/clock.h"
#include "attune/record/record_store.h"

namespace attune {

// The index that lies beside a database in a file; empty for one on a server, which has none: the
// run time serves from files of its own machine.
std::filesystem::path IndexOf(const std::string& database);

// Not thread-safe. Borrows everything. Without an index it does nothing.
class IndexKeeper {
 public:
  IndexKeeper(RecordStore& store, std::filesystem::path index, Clock& clock, Output& err);

  // A problem was tuned: refreshes the index unless that was done in the last 30 s.
  void NoteTuned();
  // Refreshes the index if a problem was tuned since. A failure is a warning: what was measured is
  // in the database, and any later refresh finds it there.
  void Finish();

 private:
  void Refresh();

  RecordStore& store_;
  const std::filesystem::path index_;
  Clock& clock_;
  Output& err_;
  int64_t refreshed_ns_;
  bool has_news_ = false;
};

}  // namespace attune
