// Stores sessions: their terms, their problems and their measurements.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/record/record_store.h"
#include "attune/session/session.h"
#include "attune/session/solver_table.h"

namespace attune {

// Thread-safe. Writes are durable when a method returns Ok.
class SessionStore {
 public:
  virtual ~SessionStore() = default;

  // Fields that the store assigns are ignored. kInvalidArgument for an invalid name
  // (ValidateSessionName), kFailedPrecondition if there is a session of that name.
  virtual Result<Session> Create(const Session& session) = 0;
  // In order of their making.
  virtual Result<std::vector<Session>> List() = 0;
  // kNotFound names those that there are.
  virtual Result<Session> Find(std::string_view name) = 0;
  // Fixes the device of a session that was made for an architecture alone. kFailedPrecondition if
  // it has another one by now, or if `target` is of another architecture.
  virtual Result<Session> Bind(int64_t session_id, const Target& target,
                               const Environment& fixed) = 0;
  // Closing again changes nothing.
  virtual Status Close(int64_t session_id, std::string_view closed_by) = 0;

  // The problems of the tag become problems of the session. kNotFound if there is no such tag,
  // kFailedPrecondition if the session is closed.
  virtual Status AddTag(int64_t session_id, std::string_view tag) = 0;
  // In the order in which they were added.
  virtual Result<std::vector<std::string>> Tags(int64_t session_id) = 0;
  // The session's problems: those of its tags, in their order and with the sum of their weights
  // over them, then, with weight 1, those of its jobs, and those that were measured in it. Each
  // once.
  virtual Result<std::vector<TaggedProblem>> Problems(int64_t session_id) = 0;

  // As RecordStore::BeginSet, and the set belongs to the session. kFailedPrecondition if it does
  // not (CheckBelongs): then nothing is kept.
  virtual Status BeginSet(int64_t session_id, const MeasurementSet& set) = 0;

  // The newest generation; an empty one if the table was never made.
  virtual Result<SolverTable> Solvers(int64_t session_id) = 0;
  // Every entry of every generation, in order of their ids.
  virtual Result<std::vector<SolverEntry>> AllSolvers(int64_t session_id) = 0;
  // A new generation if `entries` differ from the newest one in anything but ids;
  // kFailedPrecondition if the session is closed then.
  virtual Result<SolverTable> UpdateSolvers(int64_t session_id,
                                            std::span<const SolverEntry> entries) = 0;

  // Replaces the entries of these problems.
  virtual Status SetApplicability(int64_t session_id, int64_t generation,
                                  std::span<const ProblemSolvers> problems) = 0;
  // Those that were found out under `generation`, in order of their first finding.
  virtual Result<std::vector<ProblemSolvers>> Applicability(int64_t session_id,
                                                            int64_t generation) = 0;
};

}  // namespace attune
