// A tuning session: measurements of one kind of device under one set of library versions, and of
// nothing else. docs/formats/sessions.md.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/problem/target.h"

namespace attune {

// The terms that decide which measurements belong to a session.
struct SessionTerms {
  std::string backend;  // "host", "cuda"
  std::string arch;     // Architecture to compile for: "x86-64-v3", "sm_90".
  // The kind of device and its fixed environment (FixedPart); empty until the first measurement in
  // a session that was made for an architecture alone.
  std::optional<Target> target;
  Environment fixed;

  friend bool operator==(const SessionTerms&, const SessionTerms&) = default;
};

struct Session {
  int64_t id = 0;  // Given by the store.
  std::string name;
  std::string reason;      // Why it was made; may be empty.
  std::string created_by;  // user@host
  int64_t created_unix_ns = 0;
  SessionTerms terms;
  std::string closed_by;       // Empty while it is open.
  int64_t closed_unix_ns = 0;  // 0 while it is open.
  int64_t set_count = 0;       // Measurement sets that belong to it; given by the store.
  int64_t job_count = 0;       // The same of jobs.

  bool is_closed() const { return closed_unix_ns != 0; }

  friend bool operator==(const Session&, const Session&) = default;
};

inline constexpr size_t kMaxSessionNameBytes = 80;

// 1 to kMaxSessionNameBytes printable ASCII characters, not blanks alone.
Status ValidateSessionName(std::string_view name);

// The part of `environment` that a session fixes: drivers, policies, and libraries. It omits
// libraries that `is_own_code` (by the word behind "library.") reports as code of solvers: such
// code may change within a session, which makes only the results that rest on it stale.
Environment FixedPart(const Environment& environment,
                      const std::function<bool(std::string_view)>& is_own_code);

// Differences between the terms of a session and `here`, both as FixedPart gives them; a sentence
// for each field: "library.openblas is 0.3.21 in the session and 0.3.26 here". A policy that is
// "unknown" on one side equals any other.
std::vector<std::string> DifferencesOf(const SessionTerms& terms, const Target& target,
                                       const Environment& here);

// Differences between the fixed environments of two sessions besides their devices, in the same
// words but with their names. Empty if results of both on one device are comparable.
std::vector<std::string> DifferencesBetween(const Session& a, const Session& b);

// kFailedPrecondition for something that a closed session does not take, in a sentence that names
// the session and says since when it is closed; `because` ends it: "nothing more is measured".
Status RefusedAsClosed(const Session& session, std::string_view because);

// Ok if a measurement on (`target`, `environment`) belongs to the session. The environment is a
// whole one, and of its libraries only those that the session fixed are compared.
// kFailedPrecondition names the session and each field that differs with both values, or reports
// that it is closed.
Status CheckBelongs(const Session& session, const Target& target, const Environment& environment);

}  // namespace attune
