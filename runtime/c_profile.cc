// The C functions of attune/profile.h.

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "attune/base/struct_size.h"
#include "attune/library/profiler_runner.h"
#include "attune/library/result_journal.h"
#include "attune/profile.h"
#include "runtime/c_runtime.h"
#include "runtime/places.h"
#include "runtime/profiled_devices.h"

namespace {

using attune::ListedCommand;
using attune::ProfilerFate;
using attune::ProfilerOutcome;
using attune::ProfilerRunner;
using attune::Status;

static_assert(static_cast<int>(ProfilerFate::kDone) == ATTUNE_PROFILE_DONE &&
              static_cast<int>(ProfilerFate::kExitStatus) == ATTUNE_PROFILE_EXIT_STATUS &&
              static_cast<int>(ProfilerFate::kNoResult) == ATTUNE_PROFILE_NO_RESULT &&
              static_cast<int>(ProfilerFate::kRefused) == ATTUNE_PROFILE_REFUSED);

// What is more was never set.
constexpr size_t kMostWords = 65536;
constexpr size_t kMostDevices = 4096;

// Of a C callback, with what it is told.
int CallC(attune_profile_callback callback, void* user, const ProfilerOutcome& outcome,
          bool is_resumed) {
  std::vector<attune_profile_op> ops;
  for (const attune::ProfiledOp& op : outcome.ops) {
    ops.push_back({op.name.c_str(), op.time_ms, op.workspace_bytes, op.samples});
  }
  attune_profile_outcome told{};
  told.struct_size = sizeof told;
  told.fate = static_cast<int32_t>(outcome.fate);
  told.number = outcome.number;
  told.attempts = outcome.attempts;
  told.is_resumed = is_resumed ? 1 : 0;
  told.wall_ns = outcome.wall_ns;
  told.message = outcome.message.c_str();
  told.device = outcome.device.c_str();
  told.out = outcome.out.c_str();
  told.out_bytes = outcome.out.size();
  told.log = outcome.log.c_str();
  told.log_bytes = outcome.log.size();
  told.ops = ops.data();
  told.op_count = ops.size();
  return callback(user, &told);
}

attune::Result<attune::ProfilerTerms> TermsOf(const attune_profile_terms& given) {
  ATTUNE_RETURN_IF_ERROR(attune::CheckStructSize(given.struct_size, sizeof given, "the terms",
                                                 "ATTUNE_PROFILE_TERMS_INIT"));
  const int64_t least = std::min({given.deadline_ns, given.max_output_bytes,
                                  int64_t{given.attempts}, int64_t{given.faults_to_retire}});
  if (least < 1) {
    return attune::InvalidArgument(fmt::format(
        "The terms have a deadline of {} ns, {} bytes of output, {} attempts and {} faults; each "
        "has to be 1 or more.",
        given.deadline_ns, given.max_output_bytes, given.attempts, given.faults_to_retire));
  }
  attune::ProfilerTerms terms;
  terms.deadline_ns = given.deadline_ns;
  terms.attempts = given.attempts;
  terms.faults_to_retire = given.faults_to_retire;
  terms.wants_ops = given.any_output == 0;
  terms.max_output_bytes = static_cast<size_t>(given.max_output_bytes);
  return terms;
}

attune::Result<attune::ProfilerCommand> CommandOf(const attune_profile_command& given) {
  const bool has_texts = (given.words != nullptr && given.word_count > 0) &&
                         (given.variables != nullptr || given.variable_count == 0);
  ATTUNE_RETURN_IF_ERROR(attune::CheckStructSize(given.struct_size, sizeof given, "the command",
                                                 "ATTUNE_PROFILE_COMMAND_INIT"));
  if (!has_texts || given.word_count > kMostWords || given.variable_count > kMostWords) {
    return attune::InvalidArgument(
        fmt::format("A command needs 1 to {} words and at most as many variables; it has {} words "
                    "and {} variables.",
                    kMostWords, given.word_count, given.variable_count));
  }
  attune::ProfilerCommand command;
  for (size_t i = 0; i < given.word_count; ++i) {
    if (given.words[i] == nullptr) return attune::NullArgument("attune_profile_push");
    command.words.emplace_back(given.words[i]);
  }
  if (command.words.front().empty()) {
    return attune::InvalidArgument("The first word of a command is its program, and is empty.");
  }
  for (size_t i = 0; i < given.variable_count; ++i) {
    const std::string text = given.variables[i] == nullptr ? "" : given.variables[i];
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      return attune::InvalidArgument(
          fmt::format("The variable '{}' of a command is not NAME=VALUE.", text));
    }
    command.variables[text.substr(0, equals)] = text.substr(equals + 1);
  }
  if (given.folder != nullptr) command.folder = given.folder;
  return command;
}

}  // namespace

struct attune_profile_runner {
  attune_profile_runner(attune::ProfiledDevices of, std::unique_ptr<attune::ResultJournal> kept_in)
      : devices_(std::move(of)), journal_(std::move(kept_in)) {}
  ~attune_profile_runner() { Stop(); }
  attune_profile_runner(const attune_profile_runner&) = delete;
  attune_profile_runner& operator=(const attune_profile_runner&) = delete;

  // Once, before everything else.
  void Start(const attune::ProfilerTerms& terms) {
    attune::ProfilerHooks hooks;
    hooks.go_on = [this] { return goes_on_.load(); };
    hooks.take = [this](const std::string& device) {
      return devices_.Take(device, [this] { return goes_on_.load(); });
    };
    runner_ = std::make_unique<ProfilerRunner>(devices_.list(), terms, std::move(hooks));
  }

  void Push(attune::ProfilerCommand command, attune_profile_callback callback, void* user) {
    const std::string program = command.words.front();
    ListedCommand listed{0, "", {command.variables, command.words}};
    const auto known = TakeDone(listed);
    const bool is_resumed = known.has_value();
    auto call = [this, callback, user, program, is_resumed,
                 listed = std::move(listed)](const ProfilerOutcome& outcome) {
      if (!is_resumed) Keep(listed, outcome);
      if (callback == nullptr) return;
      const int code = CallC(callback, user, outcome, is_resumed);
      if (code != 0) Complain(fmt::format("The callback of '{}' returned {}.", program, code));
    };
    if (is_resumed) {
      runner_->PushKnown(std::move(command), *known, std::move(call));
    } else {
      runner_->Push(std::move(command), std::move(call));
    }
  }

  // Ok, or why outcomes could not be kept.
  Status Join(attune_profile_postprocess postprocess, void* user, std::string& complaints) {
    auto joined = runner_->Join();
    if (postprocess != nullptr) {
      const int code = postprocess(user);
      if (code != 0) Complain(fmt::format("The postprocessing returned {}.", code));
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    retired_ = std::move(joined.retired);
    // Ours do not throw, unless memory runs out.
    for (std::string& thrown : joined.thrown) complaints_.push_back(std::move(thrown));
    complaints = fmt::format("{}", fmt::join(complaints_, "\n"));
    complaints_.clear();
    return kept_;
  }

  std::string Retired(const std::string& device) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = retired_.find(device);
    return found == retired_.end() ? "" : found->second;
  }

  void Stop() { goes_on_.store(false); }

 private:
  std::optional<ProfilerOutcome> TakeDone(ListedCommand& command) {
    const std::lock_guard<std::mutex> lock(mutex_);
    command.line = ++pushed_;
    if (journal_ == nullptr) return std::nullopt;
    const auto kept = journal_->TakeDone(command);
    if (!kept.has_value()) return std::nullopt;
    return attune::DoneOutcome(*kept);
  }

  void Keep(const ListedCommand& command, const ProfilerOutcome& outcome) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (journal_ == nullptr || outcome.fate == ProfilerFate::kStopped || !kept_.ok()) return;
    const attune::FileSizeSignalHeld held;
    kept_ = journal_->Append(attune::ToJson(command, outcome));
    // What cannot be kept is not worth a device's time.
    if (!kept_.ok()) Stop();
  }

  void Complain(std::string complaint) {
    const std::lock_guard<std::mutex> lock(mutex_);
    complaints_.push_back(std::move(complaint));
  }

  const attune::ProfiledDevices devices_;
  std::atomic<bool> goes_on_{true};
  std::mutex mutex_;  // Guards what stands from here to `runner_`.
  const std::unique_ptr<attune::ResultJournal> journal_;
  Status kept_;  // Of the journal.
  int pushed_ = 0;
  std::vector<std::string> complaints_;
  std::map<std::string, std::string> retired_;
  std::unique_ptr<ProfilerRunner> runner_;  // Ends first: its callbacks use the rest.
};

namespace {

attune::Result<std::unique_ptr<attune_profile_runner>> MakeRunner(
    const std::vector<std::string>& names, const attune_profile_terms& given) {
  ATTUNE_ASSIGN_OR_RETURN(const auto terms, TermsOf(given));
  ATTUNE_ASSIGN_OR_RETURN(auto devices,
                          attune::ProfiledDevices::Open(names, attune::LazyBackends()));
  std::unique_ptr<attune::ResultJournal> journal;
  if (given.journal != nullptr) {
    ATTUNE_ASSIGN_OR_RETURN(journal, attune::ResultJournal::Open(given.journal));
  }
  auto runner = std::make_unique<attune_profile_runner>(std::move(devices), std::move(journal));
  runner->Start(terms);
  return runner;
}

}  // namespace

extern "C" attune_code attune_profile_create(const char* const* devices, size_t device_count,
                                             const attune_profile_terms* terms,
                                             attune_profile_runner** out) {
  return attune::Guarded([&]() -> Status {
    attune::Clear(out);
    if (out == nullptr || (devices == nullptr && device_count > 0)) {
      return attune::NullArgument("attune_profile_create");
    }
    if (device_count > kMostDevices) {
      return attune::InvalidArgument(
          fmt::format("{} devices are named; {} are possible.", device_count, kMostDevices));
    }
    std::vector<std::string> names;
    for (size_t i = 0; i < device_count; ++i) {
      if (devices[i] == nullptr) return attune::NullArgument("attune_profile_create");
      names.emplace_back(devices[i]);
    }
    const attune_profile_terms usual = ATTUNE_PROFILE_TERMS_INIT;
    ATTUNE_ASSIGN_OR_RETURN(auto runner, MakeRunner(names, terms == nullptr ? usual : *terms));
    *out = runner.release();
    return Status::Ok();
  });
}

extern "C" attune_code attune_profile_push(attune_profile_runner* runner,
                                           const attune_profile_command* command,
                                           attune_profile_callback callback, void* user) {
  return attune::Caught([&]() -> Status {
    if (runner == nullptr || command == nullptr) {
      return attune::NullArgument("attune_profile_push");
    }
    ATTUNE_ASSIGN_OR_RETURN(auto own, CommandOf(*command));
    runner->Push(std::move(own), callback, user);
    return Status::Ok();
  });
}

extern "C" attune_code attune_profile_join(attune_profile_runner* runner,
                                           attune_profile_postprocess postprocess, void* user,
                                           char** complaints) {
  return attune::Caught([&]() -> Status {
    attune::Clear(complaints);
    if (runner == nullptr) return attune::NullArgument("attune_profile_join");
    std::string text;
    const Status kept = runner->Join(postprocess, user, text);
    if (complaints != nullptr) {
      ATTUNE_RETURN_IF_ERROR(attune::CopyOut(text, complaints));
    }
    return kept;
  });
}

extern "C" attune_code attune_profile_retired(attune_profile_runner* runner, const char* device,
                                              char** reason) {
  return attune::Caught([&]() -> Status {
    attune::Clear(reason);
    if (runner == nullptr || device == nullptr || reason == nullptr) {
      return attune::NullArgument("attune_profile_retired");
    }
    const std::string text = runner->Retired(device);
    return text.empty() ? Status::Ok() : attune::CopyOut(text, reason);
  });
}

extern "C" void attune_profile_stop(attune_profile_runner* runner) {
  if (runner != nullptr) runner->Stop();
}

extern "C" void attune_profile_destroy(attune_profile_runner* runner) { delete runner; }
