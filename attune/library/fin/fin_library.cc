#include "attune/library/fin/fin_library.h"

#include <charconv>
#include <filesystem>
#include <optional>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "attune/base/file.h"
#include "attune/base/fingerprint.h"
#include "attune/base/text.h"
#include "attune/formats/miopen/perf_db.h"
#include "attune/library/fin/fin_request.h"
#include "attune/library/fin/fin_solvers.h"
#include "attune/ops/conv/conv.h"

namespace attune::fin {
namespace {

constexpr int64_t kNsPerSecond = 1'000'000'000;
constexpr int kMostDeadlineS = 7 * 24 * 3600;
constexpr int kMostUnits = 4096;

// Empty unless `text` is a whole number from 1 to `most`.
std::optional<int> NumberOf(std::string_view text, int most) {
  int number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || rest != text.data() + text.size()) return std::nullopt;
  return number < 1 || number > most ? std::nullopt : std::optional(number);
}

tl::unexpected<Failure> Fail(FailureKind kind, std::string message) {
  return tl::unexpected(Failure{kind, Phase::kRun, std::move(message)});
}

Failure FailureOf(const Status& status) {
  FailureKind kind = FailureKind::kRunFailed;
  if (status.code() == StatusCode::kUnavailable) kind = FailureKind::kCrashed;
  if (status.code() == StatusCode::kDeadlineExceeded) kind = FailureKind::kTimedOut;
  return {kind, Phase::kRun, status.message()};
}

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
    // The library beside it does the computing.
    const auto library =
        std::filesystem::path(report_.path).parent_path().parent_path() / "lib" / "libMIOpen.so";
    const auto content = ReadFile(library);
    if (content.ok()) report_.build_id += "-" + FingerprintOf(*content).ToHex();
    found = std::move(*program);
  } else {
    report_.missing = program.error().message();
  }
  solvers_ = FinSolvers(std::move(found));
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

tl::expected<FinLibrary::Evaluation, Failure> FinLibrary::Evaluate(Step step, const LibraryRun& run,
                                                                   const std::string& solver,
                                                                   const KeptBuild& build) const {
  const auto* const conv = run.problem.As<Conv>();
  if (conv == nullptr) return Fail(FailureKind::kNotApplicable, "fin computes convolutions.");
  Question question = QuestionFor(step, target_, *conv);
  question.solvers = {solver};
  question.compiled[solver] = build.kernels;
  question.databases = build.databases;
  const auto program = ProgramOn(run.device);
  if (!program.ok()) return Fail(FailureKind::kLoadFailed, program.error().message());
  auto answer = program->Ask(question);
  if (!answer.ok()) return tl::unexpected(FailureOf(answer.error()));
  for (Outcome& outcome : answer->outcomes) {
    if (outcome.solver != solver) continue;
    if (!outcome.succeeded()) return Fail(FailureKind::kRunFailed, outcome.failure);
    return Evaluation{std::move(outcome), std::move(answer->databases)};
  }
  return Fail(FailureKind::kRunFailed, "fin has no outcome of it.");
}

tl::expected<Outcome, Failure> FinLibrary::Time(const LibraryRun& run,
                                                const miopen::SolverChoice& choice,
                                                const KeptBuild& build) const {
  auto evaluated = Evaluate(Step::kFindEval, run, choice.solver, build);
  if (!evaluated) return tl::unexpected(std::move(evaluated.error()));
  // MIOpen looks parameters up by itself: it reports those that it has found, not its input.
  if (!choice.params.empty() && evaluated->outcome.params != choice.params) {
    return Fail(FailureKind::kRunFailed,
                fmt::format("fin timed it with the parameters '{}' in the place of '{}'.",
                            Excerpt(evaluated->outcome.params), choice.params));
  }
  return std::move(evaluated->outcome);
}

tl::expected<LibraryTime, Failure> FinLibrary::Run(const LibraryRun& run) const {
  const auto choice = miopen::SolverChoiceOf(run.candidate);
  if (!choice.has_value()) {
    return Fail(FailureKind::kNotApplicable, "It is no candidate of MIOpen's.");
  }
  const auto build = KeptBuildOf(run.artifact.bytes);
  if (!build.ok()) return Fail(FailureKind::kLoadFailed, build.error().message());
  const auto timed = Time(run, *choice, *build);
  if (!timed) return tl::unexpected(timed.error());
  constexpr double kNsPerMs = 1e6;
  return LibraryTime{timed->time_ms * kNsPerMs, timed->workspace_bytes};
}

tl::expected<std::optional<FoundCandidate>, Failure> FinLibrary::Search(
    const LibraryRun& run) const {
  auto choice = miopen::SolverChoiceOf(run.candidate);
  if (!choice.has_value() || !choice->params.empty()) return std::nullopt;
  auto build = KeptBuildOf(run.artifact.bytes);
  if (!build.ok()) return Fail(FailureKind::kLoadFailed, build.error().message());
  auto searched = Evaluate(Step::kPerfEval, run, choice->solver, *build);
  if (!searched) return tl::unexpected(std::move(searched.error()));
  choice->params = searched->outcome.params;
  build->databases = std::move(searched->databases);
  if (!miopen::AreParameters(choice->params) || build->databases.empty()) {
    return Fail(FailureKind::kRunFailed,
                fmt::format("fin searched, and says that it found the parameters '{}', in {} files "
                            "of MIOpen's.",
                            Excerpt(choice->params), build->databases.size()));
  }
  // A search reports kernels and workspace for the parameters before it.
  auto timed = Time(run, *choice, *build);
  if (!timed) return tl::unexpected(std::move(timed.error()));
  if (!timed->kernels.empty()) build->kernels = std::move(timed->kernels);
  return FoundCandidate{miopen::SearchedCandidateOf(*choice), {TextOf(*build)}};
}

}  // namespace attune::fin
