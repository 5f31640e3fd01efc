#include "attune/library/fin/fin_response.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "attune/base/base64.h"
#include "attune/base/json_reader.h"
#include "attune/base/text.h"
#include "attune/base/told_time.h"

namespace attune::fin {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kSuccess = "Success";
constexpr size_t kHashDigits = 32;
constexpr double kNsPerMs = 1e6;

Status NoAnswer(std::string_view what) {
  return DataLoss(fmt::format("What fin wrote is no answer: {}.", what));
}

std::string_view WithoutStop(std::string_view sentence) {
  if (sentence.ends_with('.')) sentence.remove_suffix(1);
  return sentence;
}

// The text of a field; empty if it is not a text.
std::string TextAt(const Json& object, const char* field) {
  const auto found = object.find(field);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

bool TrueAt(const Json& object, const char* field) {
  const auto found = object.find(field);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

// A whole number that is not negative; empty for anything else.
std::optional<int64_t> SizeAt(const Json& object, const char* field) {
  const auto found = object.find(field);
  if (found == object.end() || !found->is_number_integer()) return std::nullopt;
  if (found->is_number_unsigned() &&
      found->get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return std::nullopt;
  }
  const auto size = found->get<int64_t>();
  return size < 0 ? std::nullopt : std::optional(size);
}

// The kernel, or why it cannot be used.
Result<KernelObject> KernelOf(const Json& json) {
  if (!json.is_object()) return DataLoss("a kernel is no object");
  KernelObject kernel;
  kernel.file = TextAt(json, "kernel_file");
  kernel.options = TextAt(json, "comp_options");
  kernel.hash = TextAt(json, "md5_sum");
  kernel.code_bytes = SizeAt(json, "uncompressed_size").value_or(0);
  const auto named = [&kernel](std::string_view what) {
    return DataLoss(fmt::format("kernel '{}': {}", Excerpt(kernel.file), what));
  };
  if (kernel.file.empty()) return named("it has no file");
  if (kernel.hash.size() != kHashDigits) {
    return named(fmt::format("its hash is '{}'", Excerpt(kernel.hash)));
  }
  if (kernel.code_bytes < 1) return named("its size is 0 or none");
  auto blob = FromBase64(TextAt(json, "blob"));
  if (!blob.has_value()) return named("its blob is no base64");
  kernel.blob = std::move(*blob);
  const auto code =
      miopen::CodeOf({kernel.file, kernel.options, kernel.blob, kernel.hash, kernel.code_bytes, 0});
  if (!code.ok()) {
    return named(WithoutStop(code.error().message()));
  }
  return kernel;
}

// Empty, or why the kernels of an outcome cannot be used.
std::string TakeKernels(const Json& json, Outcome& outcome) {
  const auto found = json.find("kernel_objects");
  if (found == json.end() || !found->is_array()) return "It says nothing of its kernels.";
  if (found->size() > kMaxKernelsPerSolver) {
    return fmt::format("It has {} kernels, more than {}.", found->size(), kMaxKernelsPerSolver);
  }
  int64_t left_bytes = kMaxCodeBytesPerSolver;
  for (const Json& element : *found) {
    // Checked before any of it is unpacked; unpacking stops at this size.
    const int64_t code_bytes = SizeAt(element, "uncompressed_size").value_or(0);
    if (code_bytes > left_bytes) {
      return fmt::format("Its kernels have more than {} bytes of code together.",
                         kMaxCodeBytesPerSolver);
    }
    left_bytes -= code_bytes;
    auto kernel = KernelOf(element);
    if (!kernel.ok()) return fmt::format("Its kernels are damaged: {}.", kernel.error().message());
    outcome.kernels.push_back(std::move(*kernel));
  }
  return "";
}

// Empty, or the reason why the time is no result.
std::string TakeTime(const Json& json, Outcome& outcome) {
  const auto time = json.find("time");
  const bool is_number = time != json.end() && time->is_number();
  outcome.time_ms = is_number ? time->get<double>() : 0;
  if (!CanBeMeasured(outcome.time_ms * kNsPerMs)) {
    return fmt::format("It says that it was evaluated, and its time is {}.",
                       time == json.end() ? "missing"
                       : is_number        ? fmt::format("{}", outcome.time_ms)
                                          : Excerpt(time->dump()));
  }
  const auto workspace = SizeAt(json, "workspace");
  if (!workspace.has_value()) return "It says that it was evaluated, and its workspace is no size.";
  outcome.workspace_bytes = *workspace;
  return "";
}

// Reads the outcome of a solver from `json`, except its name.
void TakeOutcome(const Json& json, Step step, Outcome& outcome) {
  outcome.algorithm = TextAt(json, "algorithm");
  outcome.is_tunable = TrueAt(json, "tunable");
  outcome.params = TextAt(json, "params");
  const char* const flag = NeedsDevice(step)            ? "evaluated"
                           : step == Step::kFindCompile ? "find_compiled"
                                                        : "perf_compiled";
  // fin can leave the reason out, also for failures.
  const std::string reason = TextAt(json, "reason");
  if (!TrueAt(json, flag)) {
    outcome.failure = reason.empty() || reason == kSuccess
                          ? fmt::format("'{}' is not true, and no reason is told.", flag)
                          : reason;
    return;
  }
  // "Invoker returned time = 0" comes with `evaluated`.
  if (!reason.empty() && reason != kSuccess) {
    outcome.failure = reason;
    return;
  }
  std::string failure = NeedsDevice(step) ? TakeTime(json, outcome) : "";
  if (failure.empty() && (!NeedsDevice(step) || json.contains("kernel_objects"))) {
    failure = TakeKernels(json, outcome);
  }
  if (!NeedsDevice(step)) outcome.workspace_bytes = SizeAt(json, "workspace").value_or(0);
  if (failure.empty()) return;
  outcome.failure = std::move(failure);
  outcome.time_ms = 0;
  outcome.workspace_bytes = 0;
  outcome.kernels.clear();
}

Status TakeOutcomes(const Json& json, Step step, const std::vector<std::string>& asked,
                    Answer& answer) {
  const std::string field = std::string(Name(step)) + "_result";
  const auto found = json.find(field);
  if (found == json.end() || !found->is_array()) return NoAnswer(fmt::format("no '{}'", field));
  if (found->size() > kMaxSolvers) return NoAnswer(fmt::format("{} outcomes", found->size()));
  std::set<std::string> names;
  for (const Json& element : *found) {
    if (!element.is_object()) return NoAnswer("an outcome is no object");
    Outcome outcome;
    outcome.solver = TextAt(element, "solver_name");
    // Older versions.
    if (outcome.solver.empty()) outcome.solver = TextAt(element, "solver_id");
    if (outcome.solver.empty()) return NoAnswer("an outcome of no solver");
    if (!names.insert(outcome.solver).second) {
      return NoAnswer(fmt::format("two outcomes of {}", Excerpt(outcome.solver)));
    }
    TakeOutcome(element, step, outcome);
    answer.outcomes.push_back(std::move(outcome));
  }
  for (const std::string& solver : asked) {
    if (!names.insert(solver).second) continue;
    Outcome& outcome = answer.outcomes.emplace_back();
    outcome.solver = solver;
    outcome.failure = "fin says nothing of it.";
  }
  answer.find_key = TextAt(json, "db_key");
  return Status::Ok();
}

// fin writes numbers as texts there.
std::optional<int64_t> NumberIn(const std::string& text) {
  int64_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || rest != text.data() + text.size()) return std::nullopt;
  return number;
}

Status TakeSolvers(const Json& json, Answer& answer) {
  const auto found = json.find("all_solvers");
  if (found == json.end() || !found->is_array()) return NoAnswer("no 'all_solvers'");
  if (found->size() > kMaxSolvers) return NoAnswer(fmt::format("{} solvers", found->size()));
  for (const Json& element : *found) {
    if (!element.is_object()) return NoAnswer("a solver is no object");
    ListedSolver solver;
    solver.name = TextAt(element, "name");
    solver.type = TextAt(element, "type");
    const auto id = NumberIn(TextAt(element, "id"));
    if (solver.name.empty() || !id.has_value()) return NoAnswer("a solver without name or number");
    solver.id = *id;
    solver.is_tunable = TextAt(element, "tunable") == "1";
    solver.is_dynamic = TextAt(element, "dynamic") == "1";
    answer.solvers.push_back(std::move(solver));
  }
  return Status::Ok();
}

Status TakeApplicable(const Json& json, Answer& answer) {
  const auto found = json.find("applicable_solvers");
  if (found == json.end() || !found->is_array()) return NoAnswer("no 'applicable_solvers'");
  if (found->size() > kMaxSolvers) return NoAnswer(fmt::format("{} solvers", found->size()));
  std::set<std::string> names;
  for (const Json& element : *found) {
    const std::string name = element.is_string() ? element.get<std::string>() : std::string();
    if (name.empty() || !names.insert(name).second) {
      return NoAnswer("an applicable solver without a name of its own");
    }
    answer.applicable.push_back(name);
  }
  return Status::Ok();
}

}  // namespace

miopen::KernelRow RowOf(const KernelObject& kernel, std::string_view arch) {
  std::string options = kernel.options;
  const bool has_processor = options.find("-mcpu=") != std::string::npos;
  if (!has_processor && !kernel.file.ends_with(".mlir")) options += fmt::format(" -mcpu={}", arch);
  return {kernel.file + ".o", std::move(options), kernel.blob, kernel.hash, kernel.code_bytes, 0};
}

Result<Answer> ParseResponse(std::string_view text, Step step,
                             const std::vector<std::string>& asked) {
  if (text.size() > kMaxResponseBytes) return NoAnswer(fmt::format("{} bytes", text.size()));
  auto read = ReadJson(text, kJsonOfOthers);
  if (!read.ok()) {
    return NoAnswer(
        fmt::format("no JSON, or not all of it ({})", WithoutStop(read.error().message())));
  }
  const Json document = std::move(*read);
  if (!document.is_array() || document.size() != 2 || !document[1].is_object()) {
    return NoAnswer("not the environment and the answer to one command");
  }
  Answer answer;
  Status taken;
  if (step == Step::kSolvers) {
    taken = TakeSolvers(document[1], answer);
  } else if (step == Step::kApplicability) {
    taken = TakeApplicable(document[1], answer);
  } else {
    taken = TakeOutcomes(document[1], step, asked, answer);
  }
  if (!taken.ok()) return taken;
  return answer;
}

}  // namespace attune::fin
