#include "attune/tunable/tunable_context.h"

#include <algorithm>

#include <fmt/format.h>

#include "attune/base/file.h"
#include "attune/base/host_messages.h"
#include "attune/base/path_variable.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/tunable/blas_params.h"
#include "attune/tunable/file_names.h"

namespace attune {
namespace {

constexpr double kNsPerMs = 1e6;
// Lines of a file that a log names one by one.
constexpr size_t kMaxNamedLines = 10;
constexpr size_t kMaxNotes = 64;

// Results by the validators that they belong under.
std::vector<ResultGroup> GroupsOf(const std::vector<TunableResult>& results,
                                  const TunableIdentity& here) {
  std::vector<ResultGroup> groups;
  for (const TunableResult& result : results) {
    const std::vector<Validator> validators = result.origin ? *result.origin : ValidatorsOf(here);
    auto group = std::ranges::find(groups, validators, &ResultGroup::validators);
    if (group == groups.end()) group = groups.insert(groups.end(), {validators, {}});
    group->lines.push_back(result.line);
  }
  return groups;
}

}  // namespace

TunableContext::TunableContext(TunableParts parts, TunableSwitches switches)
    : parts_(std::move(parts)), switches_(std::move(switches)) {
  choices_ = std::make_shared<ResultChoices>(
      parts_.here, parts_.solutions,
      [log = parts_.log, verbose = switches_.settings().verbose,
       to = switches_.settings().verbose_filename,
       error_stream = parts_.error_stream](const std::string& note) {
        if (verbose < static_cast<int>(LogLevel::kStatus)) return;
        log ? log(note) : WriteLogLine(to, note, error_stream);
      });
  ApplySwitches();
  for (const std::string& warning : switches_.warnings()) Log(LogLevel::kWarning, warning);
  for (const std::string& library : switches_.decided_libraries()) {
    const Status known = CheckLibrary(library);
    if (!known.ok()) Log(LogLevel::kWarning, known.message());
  }
}

TunableContext::~TunableContext() {
  if (!write_on_exit_.load()) return;
  const Status status = WriteResults();
  if (!status.ok()) Log(LogLevel::kWarning, status.message());
}

void TunableContext::Log(LogLevel level, std::string_view line) const {
  const TunableSettings now = settings();
  if (now.verbose < static_cast<int>(level)) return;
  if (parts_.log) {
    parts_.log(line);
  } else {
    WriteLogLine(now.verbose_filename, line, parts_.error_stream);
  }
}

TunableSettings TunableContext::settings() const {
  const std::lock_guard lock(settings_mutex_);
  return switches_.settings();
}

std::optional<TunableSwitches> TunableContext::TrySwitches() const {
  const std::unique_lock lock(settings_mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return std::nullopt;
  return switches_;
}

void TunableContext::ApplySwitches() {
  const TunableSettings& now = switches_.settings();
  choices_->SetServing(ActionsOf(now).serve, now.wildcard_fallback);
  const std::string name = FromStart(WithOrdinal(now.untuned_filename, parts_.device_ordinal));
  if (untuned_ == nullptr || untuned_->path() != name) {
    untuned_ = std::make_shared<UntunedFile>(name);
  }
  switched_.fetch_add(1);
}

template <class Change>
Status TunableContext::ChangeSwitches(const Change& change) {
  const std::lock_guard lock(settings_mutex_);
  const Status status = change(switches_);
  if (status.ok()) ApplySwitches();
  return status;
}

Status TunableContext::Set(TunableVariable variable, std::string_view value) {
  return ChangeSwitches([&](TunableSwitches& switches) { return switches.Set(variable, value); });
}

Status TunableContext::SetFilename(std::string_view name, bool with_ordinal) {
  return ChangeSwitches(
      [&](TunableSwitches& switches) { return switches.SetFilename(name, with_ordinal); });
}

Status TunableContext::SetNumericalCheck(const NumericalCheck& check) {
  return ChangeSwitches(
      [&](TunableSwitches& switches) { return switches.SetNumericalCheck(check); });
}

Status TunableContext::CheckLibrary(std::string_view library) const {
  if (parts_.has_library == nullptr || parts_.has_library(LibraryName(library))) {
    return Status::Ok();
  }
  return InvalidArgument(
      fmt::format("No solver of {} runs code of a library '{}', so switching it on or off changes "
                  "nothing there; `attune solvers` lists them.",
                  Text(parts_.here.target), library));
}

Status TunableContext::SetLibraryEnabled(std::string_view library, bool enabled) {
  ATTUNE_RETURN_IF_ERROR(CheckLibrary(library));
  const std::lock_guard lock(settings_mutex_);
  return switches_.SetLibraryEnabled(library, enabled);
}

std::string TunableContext::results_filename() const {
  const TunableSettings now = settings();
  if (!now.filename_takes_ordinal) return now.filename;
  return WithOrdinal(now.filename, parts_.device_ordinal);
}

std::string TunableContext::untuned_filename() const {
  return WithOrdinal(settings().untuned_filename, parts_.device_ordinal);
}

int64_t TunableContext::rotating_buffer_bytes() const {
  return RotatingBudgetBytes(settings(), parts_.cache_bytes);
}

void TunableContext::LoadOnce() {
  if (loaded_.load(std::memory_order_acquire) || !actions().serve) return;
  const std::lock_guard lock(load_mutex_);
  if (loaded_.load(std::memory_order_relaxed)) return;
  std::vector<std::string> names = {results_filename()};
  // Also the very name that was given: an export, or the results of another tool.
  if (settings().filename != names.front()) names.push_back(settings().filename);
  // With tuning the file is made.
  Status why_unused = actions().tune_on_miss
                          ? Status::Ok()
                          : NotFound(fmt::format("There is no file '{}'.", names.back()));
  bool is_settled = false;  // A file serves, or one that cannot be read is reported.
  for (const std::string& name : names) {
    const auto report = ReadResults(name);
    if (report.ok()) {
      if (report->accepted + report->duplicates > 0) is_settled = true;
      why_unused = WhyUnused(name, *report);
    } else if (report.error().code() != StatusCode::kNotFound) {
      is_settled = true;
      ComplainOfFile(report.error());
    }
  }
  if (!is_settled && !why_unused.ok()) ComplainOfFile(why_unused);
  loaded_.store(true, std::memory_order_release);
}

Status TunableContext::WhyUnused(const std::string& name, const LoadReport& report) const {
  const auto& lines = report.rejected.empty() ? report.unreadable : report.rejected;
  if (lines.empty()) {
    if (actions().tune_on_miss) return Status::Ok();
    return NotFound(fmt::format("'{}' has no results.", name));
  }
  const size_t others = report.rejected.size() + report.unreadable.size() - 1;
  return InvalidArgument(fmt::format(
      "No result of '{}' holds here. Line {}: {}{}", name, lines.front().line, lines.front().reason,
      others == 0 ? "" : fmt::format(" ({} more lines are not used)", others)));
}

std::shared_ptr<const ChoiceSource> TunableContext::choices() {
  LoadOnce();
  return choices_;
}

std::optional<TunableHit> TunableContext::Lookup(const Problem& problem, const DynamicDims& dims) {
  LoadOnce();
  auto hit = choices_->Lookup(problem);
  if (hit && hit->matched_by != MatchedBy::kWildcard && !dims.empty()) {
    const Status status = AddWildcard(*hit, problem, dims);
    if (!status.ok()) Log(LogLevel::kWarning, status.message());
  }
  if (hit) {
    Log(LogLevel::kTrace,
        fmt::format("{} is served by {},{} ({}): {}.", Text(problem), hit->result.line.key.op,
                    hit->result.line.key.params, Name(hit->matched_by), Text(hit->candidate)));
  }
  return hit;
}

bool TunableContext::KeepAsWildcard(const Problem& problem, const DynamicDims& dims) {
  LoadOnce();
  const auto hit = choices_->FindConcrete(problem);
  if (!hit.has_value()) return false;
  const Status status = AddWildcard(*hit, problem, dims);
  if (!status.ok()) Log(LogLevel::kWarning, status.message());
  return true;
}

Status TunableContext::RecordMiss(const Problem& problem) {
  std::shared_ptr<UntunedFile> untuned;
  bool with_blas_params = false;
  {
    const std::lock_guard lock(settings_mutex_);
    if (!ActionsOf(switches_.settings()).record_on_miss) return Status::Ok();
    untuned = untuned_;
    with_blas_params = switches_.settings().blas_log;
  }
  const auto written = untuned->Record(problem, with_blas_params, 0);
  if (written.ok()) recorded_.fetch_add(*written);
  // The process that holds the file releases it soon.
  if (written.status().code() == StatusCode::kDeadlineExceeded) return Status::Ok();
  return written.status();
}

Status TunableContext::WriteUntuned(std::chrono::milliseconds lock_timeout) {
  std::shared_ptr<UntunedFile> untuned;
  {
    const std::lock_guard lock(settings_mutex_);
    untuned = untuned_;
  }
  const auto written = untuned->WriteWaiting(lock_timeout.count());
  if (written.ok()) recorded_.fetch_add(*written);
  return written.status();
}

ResultLine TunableContext::MakeLine(const TunableOpKey& names, const Problem& problem,
                                    const TunedCandidate& tuned) const {
  ResultLine line = ResultLineOf(names, problem, tuned);
  if (settings().blas_log) line.blas_params = BlasParams(problem);
  return line;
}

Status TunableContext::SaveLines(std::vector<ResultLine> lines) {
  const ResultGroup group{ValidatorsOf(parts_.here), std::move(lines)};
  return SaveResults(FromStart(results_filename()), {&group, 1}, parts_.here,
                     Durability::kPowerLoss);
}

Status TunableContext::AddResult(const Problem& problem, const TunedCandidate& tuned,
                                 const DynamicDims& dims,
                                 const std::optional<TunableOpKey>& names) {
  std::vector<ResultLine> lines = {MakeLine(names.value_or(NamesOf(problem)), problem, tuned)};
  const Gemm* const gemm = problem.As<Gemm>();
  if (gemm != nullptr && !dims.empty()) {
    if (const auto wildcard = WildcardOf(*gemm, dims)) {
      lines.push_back(MakeLine(wildcard->names, problem, tuned));
    }
  }
  for (const ResultLine& line : lines) {
    ATTUNE_ASSIGN_OR_RETURN(TunableResult result, MakeTunableResult(line));
    choices_->table().Put(std::move(result));
  }
  return SaveLines(std::move(lines));
}

Status TunableContext::AddWildcard(const TunableHit& hit, const Problem& problem,
                                   const DynamicDims& dims) {
  const Gemm* const gemm = problem.As<Gemm>();
  if (gemm == nullptr) return Status::Ok();
  const auto wildcard = WildcardOf(*gemm, dims);
  if (!wildcard) return Status::Ok();
  const bool is_known =
      std::ranges::any_of(choices_->table().Matching(problem, true), [&](const TableMatch& match) {
        return match.matched_by == MatchedBy::kWildcard &&
               match.result.wildcard->names == wildcard->names;
      });
  if (is_known) return Status::Ok();
  const double milliseconds = hit.result.line.milliseconds.value_or(0);
  ResultLine line = MakeLine(wildcard->names, problem, {hit.candidate, milliseconds * kNsPerMs});
  ATTUNE_ASSIGN_OR_RETURN(TunableResult result, MakeTunableResult(line));
  if (!choices_->table().Add(std::move(result))) return Status::Ok();
  return SaveLines({std::move(line)});
}

Result<TuneOutcome> TunableContext::TuneMiss(const Problem& problem, const DynamicDims& dims) {
  if (!actions().tune_on_miss) {
    return FailedPrecondition(
        fmt::format("Tuning is off; {0}ENABLED=1 and {0}TUNING=1 switch it on.", kTunablePrefix));
  }
  LoadOnce();
  const std::string text = Text(problem);
  {
    const std::lock_guard lock(claimed_mutex_);
    if (!claimed_.insert(text).second) return TuneOutcome::kInProgress;
  }
  // Looked up after the claim: its previous holder may have just finished.
  auto outcome = choices_->FindConcrete(problem) ? Result<TuneOutcome>(TuneOutcome::kKnown)
                                                 : TuneClaimed(problem, dims);
  const std::lock_guard lock(claimed_mutex_);
  claimed_.erase(text);
  return outcome;
}

Result<TuneOutcome> TunableContext::TuneClaimed(const Problem& problem, const DynamicDims& dims) {
  if (!parts_.tune) return Unsupported("Nothing here can tune.");
  const auto tuned = parts_.tune(problem);
  if (!tuned.ok()) {
    tuning_failures_.fetch_add(1);
    return tuned.error();
  }
  tuned_.fetch_add(1);
  Log(LogLevel::kStatus, fmt::format("Tuned {}: {}, {:.6g} ms.", Text(problem),
                                     Text(tuned->candidate), tuned->median_ns / kNsPerMs));
  ATTUNE_RETURN_IF_ERROR(AddResult(problem, *tuned, dims));
  return TuneOutcome::kTuned;
}

void TunableContext::ComplainOfFile(const Status& why) {
  AddNote(fmt::format("A results file is not used: {}", why.message()));
  if (!BeginComplaint(Complaint::kResults)) return;
  Log(LogLevel::kWarning,
      fmt::format("cannot use the results file, so none of its choices serves: {}\n"
                  "hint: correct the file, or name another one in {}FILENAME",
                  why.message(), kTunablePrefix));
}

void TunableContext::AddNote(std::string note) {
  const std::lock_guard lock(notes_mutex_);
  const bool is_known = std::ranges::find(notes_, note) != notes_.end();
  if (!is_known && notes_.size() < kMaxNotes) notes_.push_back(std::move(note));
}

std::vector<std::string> TunableContext::notes() const {
  const std::lock_guard lock(notes_mutex_);
  return notes_;
}

void TunableContext::LogReport(const std::string& path, const LoadReport& report) {
  for (size_t i = 0; i < std::min(report.unreadable.size(), kMaxNamedLines); ++i) {
    AddNote(fmt::format("A line of a results file is not used: {}:{}: {}", path,
                        report.unreadable[i].line, report.unreadable[i].reason));
  }
  if (report.unreadable.size() > kMaxNamedLines) {
    AddNote(fmt::format("{} more lines of {} are unreadable.",
                        report.unreadable.size() - kMaxNamedLines, path));
  }
  Log(LogLevel::kBasic,
      fmt::format("{}: {} results hold here, {} do not, {} lines are unreadable.", path,
                  report.accepted, report.rejected.size(), report.unreadable.size()));
  const auto name = [&](const std::vector<UnreadableLine>& lines) {
    for (size_t i = 0; i < std::min(lines.size(), kMaxNamedLines); ++i) {
      Log(LogLevel::kBasic, fmt::format("{}:{}: {}", path, lines[i].line, lines[i].reason));
    }
  };
  name(report.unreadable);
  name(report.rejected);
  for (const ValidatorVerdict& verdict : report.differences) {
    Log(LogLevel::kStatus, fmt::format("{}: {}", path, verdict.reason));
  }
}

Result<LoadReport> TunableContext::ReadResults(const std::filesystem::path& path) {
  const std::string name = path.empty() ? FromStart(results_filename()) : path.string();
  ATTUNE_ASSIGN_OR_RETURN(const std::string content, ReadFileAtOnce(name, kLargestServedBytes));
  LoadReport report = attune::LoadResults(content, parts_.here, choices_->table());
  LogReport(name, report);
  return report;
}

LoadReport TunableContext::LoadResults(std::string_view content) {
  LoadReport report = attune::LoadResults(content, parts_.here, choices_->table());
  LogReport("the results that were handed over", report);
  return report;
}

Status TunableContext::WriteResults(const std::filesystem::path& path) {
  std::vector<ResultGroup> groups = GroupsOf(results(), parts_.here);
  if (groups.empty()) groups.push_back({ValidatorsOf(parts_.here), {}});
  const std::string name = path.empty() ? FromStart(results_filename()) : path.string();
  return SaveResults(name, groups, parts_.here, Durability::kPowerLoss);
}

void TunableContext::Clear() {
  loaded_.store(true, std::memory_order_release);
  choices_->table().Clear();
}

TunableCounters TunableContext::counters() const {
  TunableCounters counters = choices_->counters();
  counters.recorded = recorded_.load();
  counters.tuned = tuned_.load();
  counters.tuning_failures = tuning_failures_.load();
  return counters;
}

}  // namespace attune
