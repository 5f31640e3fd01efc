#include "attune/library/tool_library.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "attune/base/file.h"
#include "attune/base/fingerprint.h"
#include "attune/base/program_run.h"
#include "attune/base/text.h"
#include "attune/base/usable_cores.h"
#include "attune/kernel/problem_fields.h"
#include "attune/library/profiler_runner.h"
#include "attune/library/program_failure.h"
#include "attune/problem/other_op.h"

namespace attune {
namespace {

// "gemm@1{...}" and its sizes by name; of an operator that attune does not know its attributes, as
// numbers where they are whole ones.
Config FieldsOf(const Problem& problem) {
  const auto* other = problem.As<OtherOp>();
  if (other == nullptr) return kernel::FieldsOf(problem);
  Config fields;
  for (const auto& [name, text] : other->attributes) {
    int64_t number = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool is_number = error == std::errc() && rest == text.data() + text.size();
    fields.emplace(name, is_number ? ParameterValue(number) : ParameterValue(text));
  }
  return fields;
}

std::string PlainText(const ParameterValue& value) {
  const auto* text = std::get_if<std::string>(&value);
  return text != nullptr ? *text : Text(value);
}

// One solver of a description. Its candidates are run by ToolLibrary::Run.
class DescribedSolver final : public Solver {
 public:
  DescribedSolver(const ToolDescription& tool, const ToolSolver& solver) : solver_(solver) {
    id_ = {fmt::format("{}.{}-{}", kToolBackend, tool.name, solver.name), solver.version};
    traits_.description = fmt::format("{} of the program {}", solver.name, tool.name);
    traits_.operator_name = tool.operator_name;
    traits_.deterministic = false;  // Unknown.
  }

  const SolverId& id() const override { return id_; }
  const SolverTraits& traits() const override { return traits_; }

  Status IsApplicable(const Problem& problem, const Target&) const override {
    if (OperatorName(problem) != traits_.operator_name) {
      return Unsupported(
          fmt::format("It computes {} and no {}.", traits_.operator_name, OperatorName(problem)));
    }
    const Config fields = FieldsOf(problem);
    for (const std::string& field : solver_.fields) {
      if (fields.contains(field)) continue;
      return Unsupported(
          fmt::format("Its command needs the field '{}', which the problem lacks.", field));
    }
    const auto lookup = [&fields](std::string_view name) {
      const auto found = fields.find(name);
      return found == fields.end() ? nullptr : &found->second;
    };
    for (const Expression& rule : solver_.applies) {
      const auto holds = rule.EvaluateBool(lookup);
      if (!holds.ok()) return Unsupported(holds.error().message());
      if (!*holds) return Unsupported(fmt::format("'{}' does not hold.", rule.text()));
    }
    return Space(problem, {}).status();
  }

  Result<ConfigSpace> Space(const Problem& problem, const Target&) const override {
    const Config fields = FieldsOf(problem);
    Config constants;
    for (const Constraint& constraint : solver_.constraints) {
      for (const std::string& name : constraint.names) {
        const auto field = fields.find(name);
        // A parameter hides a field of its name.
        if (field != fields.end() && !IsParameter(name)) constants.insert(*field);
      }
    }
    auto space = ConfigSpace::Create(solver_.parameters, solver_.constraints, std::move(constants));
    if (!space.ok()) return Unsupported(space.error().message());
    return space;
  }
  Result<BuildRecipe> Recipe(const Problem&, const Config&, const Target&) const override {
    return BuildRecipe();
  }
  Result<Artifact> Build(const BuildRecipe&) const override { return Artifact(); }
  Result<std::unique_ptr<Executable>> Load(const Artifact&, const Problem&, const Config&,
                                           Device&) const override {
    return Unsupported(fmt::format("{} is a program, which nothing loads.", id_.name));
  }

 private:
  bool IsParameter(std::string_view name) const {
    return std::any_of(solver_.parameters.begin(), solver_.parameters.end(),
                       [name](const Parameter& parameter) { return parameter.name == name; });
  }

  const ToolSolver& solver_;  // Borrowed from the library, which owns this.
  SolverId id_;
  SolverTraits traits_;
};

}  // namespace

ToolLibrary::ToolLibrary(ToolDescription tool, std::filesystem::path folder)
    : tool_(std::move(tool)), folder_(std::move(folder)) {
  for (const ToolSolver& solver : tool_.solvers) {
    solvers_.push_back(std::make_unique<DescribedSolver>(tool_, solver));
  }
}

Result<std::unique_ptr<ToolLibrary>> ToolLibrary::Open(const std::filesystem::path& description) {
  ATTUNE_ASSIGN_OR_RETURN(const std::string text, ReadFile(description));
  auto tool = ParseToolDescription(text);
  if (!tool.ok()) {
    return Status(tool.error().code(), fmt::format("'{}' describes no tool: {}",
                                                   description.string(), tool.error().message()));
  }
  std::error_code error;
  const std::filesystem::path path = std::filesystem::absolute(description, error);
  if (error)
    return Unavailable(fmt::format("There is no folder to look from: {}", error.message()));
  std::unique_ptr<ToolLibrary> library(new ToolLibrary(std::move(*tool), path.parent_path()));
  library->FindPrograms(text, path);
  return library;
}

// Another program or another description is another library.
void ToolLibrary::FindPrograms(std::string_view text, const std::filesystem::path& path) {
  report_.name = tool_.name;
  report_.version = tool_.version;
  report_.path = path.string();
  report_.available = true;
  report_.chosen_by = kToolsVariable;
  std::set<std::string> programs;
  for (const ToolSolver& solver : tool_.solvers) {
    programs.insert(solver.argv.front().Fill([&](std::string_view) { return folder_.string(); }));
  }
  std::string identity(text);
  for (const std::string& program : programs) {
    const std::string found = FindProgram(program);
    const auto content = found.empty() ? Result<std::string>(NotFound("")) : ReadFile(found);
    if (!content.ok()) {
      report_.available = false;
      report_.missing = fmt::format("There is no program '{}' that may be run, which '{}' names.",
                                    program, path.string());
      return;
    }
    identity += '\0';
    identity += FingerprintOf(*content).ToHex();
  }
  report_.build_id = FingerprintOf(identity).ToHex();
}

Target ToolLibrary::target() const {
  Target target;
  target.backend = std::string(kToolBackend);
  target.device = tool_.name;
  target.arch = tool_.name;
  if (tool_.devices.empty()) target.compute_units = UsableCores();
  return target;
}

std::vector<LibraryDevice> ToolLibrary::Devices() const {
  if (tool_.devices.empty()) return {{"", ""}};
  std::vector<LibraryDevice> devices;
  const ProcessVariables process = VariablesOfProcess();
  for (const std::string& device : tool_.devices) {
    const auto visible = VisibleDevice(device, process);
    devices.push_back({device, visible.ok() ? "" : visible.error().message()});
  }
  return devices;
}

const ToolSolver* ToolLibrary::SolverOf(const SolverId& id) const {
  for (size_t i = 0; i < solvers_.size(); ++i) {
    if (solvers_[i]->id() == id) return &tool_.solvers[i];
  }
  return nullptr;
}

std::string ToolLibrary::ValueOf(std::string_view name, const LibraryRun& run) const {
  if (name == "problem") return Text(run.problem);
  if (name == "folder") return folder_.string();
  if (name == "device") return run.device;
  if (name == "solver") return SolverOf(run.candidate.solver)->name;
  const auto parameter = run.candidate.config.find(name);
  if (parameter != run.candidate.config.end()) return PlainText(parameter->second);
  const Config fields = FieldsOf(run.problem);
  const auto field = fields.find(name);
  return field == fields.end() ? "" : PlainText(field->second);
}

std::vector<std::string> ToolLibrary::Words(const LibraryRun& run) const {
  std::vector<std::string> words;
  for (const WordTemplate& word : SolverOf(run.candidate.solver)->argv) {
    words.push_back(word.Fill([&](std::string_view name) { return ValueOf(name, run); }));
  }
  return words;
}

tl::expected<LibraryTime, Failure> ToolLibrary::Run(const LibraryRun& run) const {
  const auto fail = [](FailureKind kind, std::string message) {
    return tl::unexpected(Failure{kind, Phase::kRun, std::move(message)});
  };
  const ToolSolver* const solver = SolverOf(run.candidate.solver);
  if (solver == nullptr) {
    return fail(FailureKind::kNotApplicable,
                fmt::format("There is no solver {}.", Text(run.candidate.solver)));
  }
  ProgramCommand command;
  command.words = Words(run);
  command.words.front() = FindProgram(command.words.front());
  if (command.words.front().empty()) return fail(FailureKind::kLoadFailed, report_.missing);
  command.folder = folder_;
  command.deadline_ns = tool_.timeout_ns;
  for (const auto& [name, word] : solver->environment) {
    command.variables[name] = word.Fill([&](std::string_view key) { return ValueOf(key, run); });
  }
  if (!run.device.empty()) {
    const auto visible = VisibleDevice(run.device, VariablesOfProcess());
    if (!visible.ok()) return fail(FailureKind::kLoadFailed, visible.error().message());
    for (const auto& [name, value] : visible->variables) command.variables[name] = value;
  }
  const auto end = RunToEnd(command);
  if (!end.ok()) return fail(FailureKind::kLoadFailed, end.error().message());
  if (auto failure = FailureOf(*end, Phase::kRun, tool_.timeout_ns)) {
    return tl::unexpected(std::move(*failure));
  }
  return Judge(end->out, command.max_output_bytes);
}

tl::expected<LibraryTime, Failure> ToolLibrary::Judge(const std::string& out,
                                                      size_t max_output_bytes) const {
  const auto fail = [](FailureKind kind, std::string message) {
    return tl::unexpected(Failure{kind, Phase::kRun, std::move(message)});
  };
  if (out.size() >= max_output_bytes) {
    return fail(
        FailureKind::kRunFailed,
        fmt::format("It printed {} bytes or more, of which no more are read.", max_output_bytes));
  }
  if (!tool_.never_prints.empty() && out.find(tool_.never_prints) != std::string::npos) {
    return fail(FailureKind::kWrongResult,
                fmt::format("It printed '{}'.", Excerpt(tool_.never_prints)));
  }
  if (out.find(tool_.prints) == std::string::npos) {
    return fail(FailureKind::kWrongResult,
                fmt::format("It did not print '{}'.", Excerpt(tool_.prints)));
  }
  auto time = ParsePrintedTime(tool_.output, out);
  if (!time.ok()) return fail(FailureKind::kRunFailed, time.error().message());
  return *time;
}

}  // namespace attune
