#include "runtime/recorder.h"

#include <unistd.h>

#include <utility>

#include <fmt/format.h>

#include "attune/record/recording_run.h"
#include "attune/record/rules.h"
#include "storage/sql/sql_store.h"

namespace attune {
namespace {

constexpr std::chrono::milliseconds kFlushPatience{1000};
// Maximum delay for a process that ends without handlers.
constexpr std::chrono::milliseconds kLastPatience{100};
// A line must fit into one pipe write.
constexpr size_t kMaxReasonBytes = 512;

}  // namespace

Recorder::Recorder(RecorderOptions options)
    : options_(std::move(options)), cannot_record_(Check()) {
  if (!cannot_record_.ok()) return;
  const auto usual = DefaultDatabasePath();
  SpoolWriterOptions writer;
  writer.place = SpoolPlaceOf(options_.database, usual.ok() && options_.database == *usual);
  writer.header.tag = options_.tag;
  writer.header.run = options_.run;
  writer.told = [this](SpoolTrouble trouble, const SpoolLoss& loss) { Tell(trouble, loss); };
  writer.told_at_once = [this](int64_t count, std::string_view reason) {
    TellAtOnce(count, reason);
  };
  folder_ = SpoolFolderOf(writer.place.database, ::geteuid());
  last_line_.reserve(4 * kMaxReasonBytes + options_.tag.size());
  writer_ = std::make_unique<SpoolWriter>(std::move(writer));
}

Status Recorder::Check() const {
  if (options_.database.empty()) {
    return FailedPrecondition("no database in a file is set; set ATTUNE_DB or the database option");
  }
  ATTUNE_RETURN_IF_ERROR(ValidateTagging(options_.tag, {}));
  return CheckMayBeDatabase(options_.database);
}

Result<bool> Recorder::Record(const Problem& problem) {
  if (writer_ == nullptr) return Refuse();
  ATTUNE_ASSIGN_OR_RETURN(const bool is_new, writer_->Append(problem));
  if (is_new) {
    const std::lock_guard lock(mutex_);
    has_recorded_ = true;
  }
  return is_new;
}

Status Recorder::Refuse() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(has_refused_, true)) return cannot_record_;
  }
  options_.complain(
      fmt::format("cannot record the problems of this program: {}", cannot_record_.message()));
  return cannot_record_;
}

// The command that waits for this program tells its user. Without a command, this process does.
void Recorder::Tell(SpoolTrouble trouble, const SpoolLoss& loss) const {
  if (trouble != SpoolTrouble::kLostKept && TellRun(writer_->place(), options_.run, loss)) return;
  if (trouble == SpoolTrouble::kWaiting) return;
  if (trouble == SpoolTrouble::kLostKept && !options_.run.empty()) return;
  options_.complain(fmt::format("{} problems are not recorded under tag {}: {}", loss.count,
                                options_.tag, loss.reason));
}

void Recorder::TellAtOnce(int64_t count, std::string_view reason) {
  reason = reason.substr(0, kMaxReasonBytes);
  last_line_.clear();
  AppendLossLine(count, reason, last_line_);
  if (TellRunAtOnce(folder_, options_.run, last_line_)) return;
  last_line_.assign("attune: ").append(fmt::format_int(count).c_str());
  last_line_.append(" problems are not recorded under tag ").append(options_.tag);
  last_line_.append(": ").append(reason);
  options_.complain_at_once(last_line_);
}

Status Recorder::Flush() {
  if (writer_ != nullptr) return writer_->Flush(kFlushPatience);
  const std::lock_guard lock(mutex_);
  return has_refused_ ? cannot_record_ : Status::Ok();
}

bool Recorder::Close(std::chrono::milliseconds timeout) {
  return writer_ == nullptr || writer_->Close(timeout);
}

void Recorder::FlushAtOnce() {
  if (writer_ != nullptr) writer_->FlushAtOnce(kLastPatience);
}

std::vector<std::string> Recorder::notes() const {
  std::vector<std::string> notes;
  if (writer_ == nullptr) {
    const std::string& reason = cannot_record_.message();
    return {fmt::format("Problems are not recorded: {}", reason)};
  }
  if (const Status failure = writer_->failure(); !failure.ok()) {
    notes.push_back(fmt::format("{} problems wait to be recorded: {}", writer_->waiting_count(),
                                failure.message()));
  }
  const std::lock_guard lock(mutex_);
  if (has_recorded_) {
    notes.push_back(
        fmt::format("Recorded problems are in '{}' and wait to be recorded in the database by the "
                    "next attune command that opens it.",
                    SpoolFolderOf(writer_->place().database, ::geteuid()).string()));
  }
  return notes;
}

}  // namespace attune
