// Everything that TunableOp does, for one run time: switches, results, the untuned file. It knows
// no device; its owner tunes problems.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attune/base/status.h"
#include "attune/problem/problem.h"
#include "attune/tunable/dynamic_dims.h"
#include "attune/tunable/own_results.h"
#include "attune/tunable/result_choices.h"
#include "attune/tunable/results_storage.h"
#include "attune/tunable/settings.h"
#include "attune/tunable/untuned_file.h"
#include "attune/tunable/validators.h"
#include "attune/tunable/verbose_log.h"

namespace attune {

struct TunableParts {
  TunableIdentity here;
  int device_ordinal = 0;
  int64_t cache_bytes = 0;  // Size of the last level: the default of ROTATING_BUFFER_SIZE.
  SolutionResolver solutions;
  // True if a solver of the device runs code of a library. Null: any name may be one's.
  std::function<bool(std::string_view library)> has_library;
  // Tunes now and returns the winner, the default if nothing beat it. Called by the thread that
  // missed or asked, by several at the same time for different problems. Null: nothing can be tuned
  // here.
  std::function<Result<TunedCandidate>(const Problem&)> tune;
  // Where log lines go; null: where VERBOSE_FILENAME says.
  std::function<void(std::string_view line)> log;
  // Receives the lines that VERBOSE_FILENAME sends to standard error. If null, they go to standard
  // error.
  std::function<void(const std::string& line)> error_stream;
};

enum class TuneOutcome {
  kTuned,       // The result is in memory and in the file.
  kKnown,       // There was a result already: a hit is never tuned again.
  kInProgress,  // Another thread is tuning it: serve something else meanwhile.
};

// Thread-safe.
class TunableContext {
 public:
  TunableContext(TunableParts parts, TunableSwitches switches);
  // Writes the results file if that was asked for.
  ~TunableContext();
  TunableContext(const TunableContext&) = delete;
  TunableContext& operator=(const TunableContext&) = delete;

  // ---- switches ----
  TunableSettings settings() const;
  TunableActions actions() const { return ActionsOf(settings()); }
  // Nothing while another thread changes them: in a forked child it may have been stopped in that.
  std::optional<TunableSwitches> TrySwitches() const;
  // As those of TunableSwitches.
  Status Set(TunableVariable variable, std::string_view value);
  Status SetFilename(std::string_view name, bool with_ordinal);
  Status SetNumericalCheck(const NumericalCheck& check);
  // kInvalidArgument for a library that no solver here runs code of.
  Status SetLibraryEnabled(std::string_view library, bool enabled);
  // Names with the ordinal of the device in them.
  std::string results_filename() const;
  std::string untuned_filename() const;
  // The size in bytes that ROTATING_BUFFER_SIZE means here: 0 is off.
  int64_t rotating_buffer_bytes() const;

  // ---- serving ----
  // The layer that a dispatcher puts above its records, always the same object; empty while
  // switched off. The results file is read when this is first called while switched on.
  std::shared_ptr<const ChoiceSource> choices();
  // Rises when answers of choices() may have changed.
  uint64_t generation() const { return choices_->table().generation() + switched_.load(); }
  // The result that serves `problem`, and its line. With dynamic dimensions, a hit by the problem
  // itself or its key adds the wildcard if there is none.
  std::optional<TunableHit> Lookup(const Problem& problem, const DynamicDims& dims = {});

  // Adds the wildcard of a result of the problem itself or of its key if there is none; false if
  // there is no such result. Not counted as a lookup.
  bool KeepAsWildcard(const Problem& problem, const DynamicDims& dims);

  // ---- misses ----
  // Records `problem` if the switches ask for it, and returns without waiting for other processes:
  // while one holds the file, or the file cannot be written, the line waits for the next one or for
  // WriteUntuned. A failure gives the reason why it cannot be written.
  Status RecordMiss(const Problem& problem);
  // Writes lines that wait. A failure says why some still do.
  Status WriteUntuned(std::chrono::milliseconds lock_timeout);
  // Tunes `problem` if the switches ask for it, once for all threads that miss it at the same time,
  // and adds the result. kFailedPrecondition if they do not.
  Result<TuneOutcome> TuneMiss(const Problem& problem, const DynamicDims& dims = {});
  // Adds a result that was tuned elsewhere: in memory, and in the file at once. A failure of the
  // file leaves it in memory. `names`: those of the line that asked for it, if they differ from
  // ours.
  Status AddResult(const Problem& problem, const TunedCandidate& tuned,
                   const DynamicDims& dims = {},
                   const std::optional<TunableOpKey>& names = std::nullopt);

  // ---- files ----
  // Empty: results_filename().
  Result<LoadReport> ReadResults(const std::filesystem::path& path = {});
  // The same for the content of such a file.
  LoadReport LoadResults(std::string_view content);
  // Adds everything in memory to the file.
  Status WriteResults(const std::filesystem::path& path = {});
  void WriteOnExit(bool write) { write_on_exit_.store(write); }
  // All results, in order, and the validators of this process.
  std::vector<TunableResult> results() const { return choices_->table().All(); }
  std::vector<Validator> validators() const { return ValidatorsOf(parts_.here); }
  // Forgets every result; files stay as they are and are not read again by themselves.
  void Clear();

  TunableCounters counters() const;
  // Problems of the results files that were read, and of their lines.
  std::vector<std::string> notes() const;
  const TunableParts& parts() const { return parts_; }
  const ResultChoices& result_choices() const { return *choices_; }
  void Log(LogLevel level, std::string_view line) const;

 private:
  void ApplySwitches();
  Status CheckLibrary(std::string_view library) const;
  template <class Change>
  Status ChangeSwitches(const Change& change);
  void LoadOnce();
  void LogReport(const std::string& path, const LoadReport& report);
  void AddNote(std::string note);
  // Why a file of which no result was accepted serves nothing; ok if it may get results.
  Status WhyUnused(const std::string& name, const LoadReport& report) const;
  void ComplainOfFile(const Status& why);
  ResultLine MakeLine(const TunableOpKey& names, const Problem& problem,
                      const TunedCandidate& tuned) const;
  Status SaveLines(std::vector<ResultLine> lines);
  Status AddWildcard(const TunableHit& hit, const Problem& problem, const DynamicDims& dims);
  Result<TuneOutcome> TuneClaimed(const Problem& problem, const DynamicDims& dims);

  const TunableParts parts_;
  mutable std::mutex settings_mutex_;  // Guards switches_ and untuned_.
  TunableSwitches switches_;
  std::shared_ptr<UntunedFile> untuned_;
  std::atomic<uint64_t> switched_ = 0;
  // Shared with dispatchers that may outlive a call to choices().
  std::shared_ptr<ResultChoices> choices_;
  std::mutex load_mutex_;  // Held while the results file is first read.
  std::atomic<bool> loaded_ = false;
  mutable std::mutex notes_mutex_;  // Guards notes_.
  std::vector<std::string> notes_;
  std::mutex claimed_mutex_;  // Guards claimed_.
  std::set<std::string> claimed_;
  std::atomic<bool> write_on_exit_ = false;
  std::atomic<int64_t> recorded_ = 0;
  std::atomic<int64_t> tuned_ = 0;
  std::atomic<int64_t> tuning_failures_ = 0;
};

}  // namespace attune
