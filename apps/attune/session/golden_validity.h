// Validity of entries of golden versions: changes since they were measured.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "apps/attune/application.h"
#include "attune/base/status.h"
#include "attune/session/golden.h"
#include "attune/session/golden_draft.h"

namespace attune {

// The evidence of each entry with a set in the database, keyed by that set. REQUIRES: a store is
// open.
Result<std::map<std::string, Evidence>> EvidenceOf(Application& application,
                                                   const std::vector<GoldenEntry>& entries);

// Why the entries that are stale are, a sentence, by their ids: the newest table of solvers of
// their session says so, or that of a session of the same device and environment that was made
// after they were measured. REQUIRES: a store is open.
Result<std::map<int64_t, std::string>> ReasonsStale(Application& application,
                                                    const std::vector<GoldenEntry>& entries);

// A sentence for each environment beyond the first that entries of one target are of; empty if
// none are mixed. REQUIRES: a store is open.
Result<std::vector<std::string>> MixedEnvironments(Application& application,
                                                   const std::vector<GoldenEntry>& entries);

// "2 of 5 entries are stale: ..." with advice; empty if none is.
std::string StaleText(const std::map<int64_t, std::string>& stale, size_t entries);

}  // namespace attune
