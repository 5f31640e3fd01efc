#include "attune/fin/fin_library.h"

#include <charconv>
#include <filesystem>
#include <map>
#include <mutex>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "attune/base/file.h"
#include "attune/base/fingerprint.h"
#include "attune/base/program_run.h"
#include "attune/miopen/solver_candidate.h"

namespace attune::fin {
namespace {

constexpr int64_t kNsPerSecond = 1'000'000'000;
constexpr int kMostDeadlineS = 7 * 24 * 3600;
constexpr int kMostUnits = 4096;
// Of problems, whose solvers are remembered.
constexpr size_t kMostRemembered = 65536;

// Nothing for what is no whole number from 1 to `most`.
std::optional<int> NumberOf(std::string_view text, int most) {
  int number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || rest != text.data() + text.size()) return std::nullopt;
  return number < 1 || number > most ? std::nullopt : std::optional(number);
}

Question QuestionFor(Step step, const Target& target, const Conv& conv) {
  Question question;
  question.step = step;
  question.arch = target.arch;
  question.compute_units = target.compute_units;
  question.conv = conv;
  return question;
}

Failure FailureOf(const Status& status, Phase phase) {
  FailureKind kind = FailureKind::kRunFailed;
  if (status.code() == StatusCode::kUnavailable) kind = FailureKind::kCrashed;
  if (status.code() == StatusCode::kDeadlineExceeded) kind = FailureKind::kTimedOut;
  return {kind, phase, status.message()};
}

// All solvers of MIOpen, each a config, so that records and exports know them as they know those of
// databases.
class MiopenSolver final : public Solver {
 public:
  explicit MiopenSolver(std::optional<Program> program) : program_(std::move(program)) {
    id_ = miopen::CandidateOf({"any", ""}).solver;
    traits_.description = "Every convolution solver of MIOpen that applies, through fin";
    traits_.operator_name = "conv";
    traits_.dynamic = false;
    traits_.compiles = true;
    traits_.deterministic = false;
  }

  const SolverId& id() const override { return id_; }
  const SolverTraits& traits() const override { return traits_; }

  // Runs fin where it was not asked about the problem before.
  Status IsApplicable(const Problem& problem, const Target& target) const override {
    return Applicable(problem, target).status();
  }

  Result<ConfigSpace> Space(const Problem& problem, const Target& target) const override {
    ATTUNE_ASSIGN_OR_RETURN(const auto names, Applicable(problem, target));
    std::vector<Config> configs;
    for (const std::string& name : names) configs.push_back(miopen::CandidateOf({name, ""}).config);
    return ConfigSpace::FromConfigs(configs);
  }

  Result<BuildRecipe> Recipe(const Problem& problem, const Config& config,
                             const Target& target) const override {
    const auto choice = miopen::SolverChoiceOf({id_, config});
    const auto* const conv = std::get_if<Conv>(&problem);
    if (!choice.has_value() || conv == nullptr) return Unsupported("It is no config of MIOpen's.");
    Question question = QuestionFor(Step::kFindCompile, target, *conv);
    question.solvers = {choice->solver};
    BuildRecipe recipe;
    ATTUNE_ASSIGN_OR_RETURN(recipe.source, RequestFor(question));
    recipe.options = choice->solver;
    recipe.compiler = "fin " + (program_.has_value() ? program_->build_id() : std::string("?"));
    recipe.target = fmt::format("{}:{}", target.arch, target.compute_units);
    return recipe;
  }

  Result<Artifact> Build(const BuildRecipe& recipe) const override {
    if (!program_.has_value()) return Unavailable("fin is not here.");
    ATTUNE_ASSIGN_OR_RETURN(const Answer answer,
                            program_->AskText(recipe.source, Step::kFindCompile, {recipe.options}));
    for (const Outcome& outcome : answer.outcomes) {
      if (outcome.solver != recipe.options) continue;
      if (!outcome.succeeded()) return Unavailable(outcome.failure);
      return Artifact{TextOf(outcome.kernels)};
    }
    return Internal(fmt::format("fin has no outcome of {}.", recipe.options));
  }

  Result<std::unique_ptr<Executable>> Load(const Artifact&, const Problem&, const Config&,
                                           Device&) const override {
    return Unsupported("fin is a program, which nothing loads.");
  }

 private:
  Result<std::vector<std::string>> Applicable(const Problem& problem, const Target& target) const {
    const auto* const conv = std::get_if<Conv>(&problem);
    if (conv == nullptr) return Unsupported("fin computes convolutions.");
    const Question question = QuestionFor(Step::kApplicability, target, *conv);
    ATTUNE_RETURN_IF_ERROR(RequestFor(question).status());
    if (!program_.has_value()) return Unavailable("fin is not here.");
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = known_.find(KeyOf(problem));
    if (found != known_.end()) return found->second;
    ATTUNE_ASSIGN_OR_RETURN(Answer answer, program_->Ask(question));
    if (answer.applicable.empty()) return Unsupported("No solver of MIOpen's applies.");
    if (known_.size() >= kMostRemembered) known_.clear();
    return known_[KeyOf(problem)] = std::move(answer.applicable);
  }

  const std::optional<Program> program_;
  SolverId id_;
  SolverTraits traits_;
  mutable std::mutex mutex_;  // Guards what follows; held while fin runs, so that it is asked once.
  mutable std::map<Fingerprint, std::vector<std::string>> known_;
};

}  // namespace

Result<std::unique_ptr<FinLibrary>> FinLibrary::Open(const FinSettings& settings) {
  std::unique_ptr<FinLibrary> library(new FinLibrary);
  library->settings_ = settings;
  const auto deadline_s = NumberOf(settings.deadline_s, kMostDeadlineS);
  if (!deadline_s.has_value()) {
    return InvalidArgument(fmt::format("{} is '{}', which is no number of seconds from 1 to {}.",
                                       kFinDeadlineVariable, settings.deadline_s, kMostDeadlineS));
  }
  library->deadline_ns_ = *deadline_s * kNsPerSecond;
  const size_t colon = settings.target.find(':');
  const auto units =
      colon == std::string::npos
          ? std::nullopt
          : NumberOf(std::string_view(settings.target).substr(colon + 1), kMostUnits);
  const std::string arch = settings.target.substr(0, colon);
  if (!units.has_value() || !arch.starts_with("gfx")) {
    return InvalidArgument(
        fmt::format("{} is '{}'; it has to say the GPU and its compute units, as gfx90a:104.",
                    kFinTargetVariable, settings.target));
  }
  library->target_.backend = std::string(kFinBackend);
  library->target_.device = arch;
  library->target_.arch = arch;
  library->target_.compute_units = *units;
  std::istringstream list(settings.devices);
  for (std::string device; std::getline(list, device, ',');) library->devices_.push_back(device);
  if (library->devices_.empty()) {
    return InvalidArgument(fmt::format("{} names no device.", kFinDevicesVariable));
  }
  library->FindProgramAndBuild();
  return library;
}

void FinLibrary::FindProgramAndBuild() {
  report_.name = "miopen";
  report_.version = "fin";
  report_.chosen_by = kFinVariable;
  auto program = ProgramOn(devices_.front());
  std::optional<Program> found;
  if (program.ok()) {
    report_.available = true;
    report_.path = program->path();
    report_.build_id = program->build_id();
    // What computes is the library beside it.
    const auto library =
        std::filesystem::path(report_.path).parent_path().parent_path() / "lib" / "libMIOpen.so";
    const auto content = ReadFile(library);
    if (content.ok()) report_.build_id += "-" + FingerprintOf(*content).ToHex();
    found = std::move(*program);
  } else {
    report_.missing = program.error().message();
  }
  solvers_.push_back(std::make_unique<MiopenSolver>(std::move(found)));
}

Result<Program> FinLibrary::ProgramOn(const std::string& device) const {
  ProgramTerms terms;
  terms.deadline_ns = deadline_ns_;
  terms.device = device;
  return Program::Open(settings_.program, std::move(terms));
}

std::vector<LibraryDevice> FinLibrary::Devices() const {
  std::vector<LibraryDevice> devices;
  for (const std::string& device : devices_) devices.push_back({device, ""});
  return devices;
}

tl::expected<LibraryTime, Failure> FinLibrary::Run(const LibraryRun& run) const {
  const auto fail = [](FailureKind kind, std::string message) {
    return tl::unexpected(Failure{kind, Phase::kRun, std::move(message)});
  };
  const auto choice = miopen::SolverChoiceOf(run.candidate);
  const auto* const conv = std::get_if<Conv>(&run.problem);
  if (!choice.has_value() || conv == nullptr) {
    return fail(FailureKind::kNotApplicable, "It is no candidate of MIOpen's.");
  }
  Question question = QuestionFor(Step::kFindEval, target_, *conv);
  question.solvers = {choice->solver};
  auto kernels = KernelsOf(run.artifact.bytes);
  if (!kernels.ok()) return fail(FailureKind::kLoadFailed, kernels.error().message());
  question.compiled[choice->solver] = std::move(*kernels);
  const auto program = ProgramOn(run.device);
  if (!program.ok()) return fail(FailureKind::kLoadFailed, program.error().message());
  const auto answer = program->Ask(question);
  if (!answer.ok()) return tl::unexpected(FailureOf(answer.error(), Phase::kRun));
  for (const Outcome& outcome : answer->outcomes) {
    if (outcome.solver != choice->solver) continue;
    if (!outcome.succeeded()) return fail(FailureKind::kRunFailed, outcome.failure);
    constexpr double kNsPerMs = 1e6;
    return LibraryTime{outcome.time_ms * kNsPerMs, outcome.workspace_bytes};
  }
  return fail(FailureKind::kRunFailed, "fin has no outcome of it.");
}

}  // namespace attune::fin
