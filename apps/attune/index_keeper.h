// Keeps the run-time index of a database up to date while a run tunes into it, so that running
// programs see results before the run ends.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "apps/attune/terminal.h"
#include "attune/measure/clock.h"
#include "attune/record/record_store.h"

namespace attune {

// The index that lies beside a database in a file; empty for one on a server, which has none: the
// runtime serves from files of its own machine.
std::filesystem::path IndexOf(const std::string& database);

// Not thread-safe. Borrows everything. Without an index it does nothing.
class IndexKeeper {
 public:
  IndexKeeper(RecordStore& store, std::filesystem::path index, Clock& clock, Output& err);

  // A problem was tuned: refreshes the index unless that was done in the last 30 s.
  void NoteTuned();
  // Refreshes the index if a problem was tuned since. A failure is a warning: the measurements are
  // in the database, and any later refresh finds them there.
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
