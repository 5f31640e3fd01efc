#include "attune/library/fin/fin_solvers.h"

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "attune/base/fingerprint.h"
#include "attune/formats/miopen/solver_candidate.h"
#include "attune/ops/conv/conv.h"

namespace attune::fin {
namespace {

// Limit on problems with remembered solvers.
constexpr size_t kMostRemembered = 65536;
// Between a solver and its parameters in a recipe; no name has a space.
constexpr std::string_view kWith = " with ";

// Solvers that apply. Thread-safe.
class Applicability {
 public:
  explicit Applicability(std::optional<Program> program) : program_(std::move(program)) {}

  const std::optional<Program>& program() const { return program_; }

  // Runs fin where it was not asked about the problem before.
  Result<std::vector<std::string>> Of(const Problem& problem, const Target& target) const {
    const auto* const conv = problem.As<Conv>();
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

  // Those of them that have parameters.
  Result<std::vector<std::string>> TunableOf(const Problem& problem, const Target& target) const {
    ATTUNE_ASSIGN_OR_RETURN(std::vector<std::string> names, Of(problem, target));
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!tunable_.has_value()) {
      Question question;
      question.step = Step::kSolvers;
      ATTUNE_ASSIGN_OR_RETURN(const Answer answer, program_->Ask(question));
      tunable_.emplace();
      for (const ListedSolver& solver : answer.solvers) {
        if (solver.is_tunable) tunable_->insert(solver.name);
      }
    }
    std::erase_if(names, [this](const std::string& name) { return !tunable_->contains(name); });
    if (names.empty()) return Unsupported("No solver of MIOpen's that applies has parameters.");
    return names;
  }

 private:
  const std::optional<Program> program_;
  // Guards the next members; held while fin runs, so that each question is asked once.
  mutable std::mutex mutex_;
  mutable std::map<Fingerprint, std::vector<std::string>> known_;
  mutable std::optional<std::set<std::string>> tunable_;
};

class FinSolver final : public Solver {
 public:
  // `applicability` is shared by the solvers of one library, each of which may be the last to go.
  FinSolver(bool searches, std::shared_ptr<const Applicability> applicability)
      : applicability_(std::move(applicability)) {
    id_ = CandidateOf("any", searches).solver;
    traits_.description =
        searches ? "Convolution solvers of MIOpen with the parameters that its search finds"
                 : "Every convolution solver of MIOpen that applies, through fin";
    traits_.operator_name = "conv";
    traits_.dynamic = false;
    traits_.compiles = true;
    traits_.deterministic = false;
    traits_.searches = searches;
  }

  const SolverId& id() const override { return id_; }
  const SolverTraits& traits() const override { return traits_; }

  Status IsApplicable(const Problem& problem, const Target& target) const override {
    return Names(problem, target).status();
  }

  Result<ConfigSpace> Space(const Problem& problem, const Target& target) const override {
    ATTUNE_ASSIGN_OR_RETURN(const auto names, Names(problem, target));
    std::vector<Config> configs;
    for (const std::string& name : names) {
      configs.push_back(CandidateOf(name, traits_.searches).config);
    }
    return ConfigSpace::FromConfigs(configs);
  }

  Result<BuildRecipe> Recipe(const Problem& problem, const Config& config,
                             const Target& target) const override {
    const auto choice = miopen::SolverChoiceOf({id_, config});
    const auto* const conv = problem.As<Conv>();
    if (!choice.has_value() || conv == nullptr) return Unsupported("It is no config of MIOpen's.");
    Question question = QuestionFor(step(), target, *conv);
    question.solvers = {choice->solver};
    BuildRecipe recipe;
    ATTUNE_ASSIGN_OR_RETURN(recipe.source, RequestFor(question));
    recipe.options = choice->solver;
    if (!choice->params.empty()) recipe.options += fmt::format("{}{}", kWith, choice->params);
    const auto& program = applicability_->program();
    recipe.compiler = "fin " + (program.has_value() ? program->build_id() : std::string("?"));
    recipe.target = fmt::format("{}:{}", target.arch, target.compute_units);
    return recipe;
  }

  Result<Artifact> Build(const BuildRecipe& recipe) const override {
    const auto& program = applicability_->program();
    if (!program.has_value()) return Unavailable("fin is not here.");
    if (recipe.options.find(kWith) != std::string::npos) {
      return Unavailable(
          fmt::format("MIOpen finds parameters by searching, and what it found for {} is not in "
                      "the kernel cache "
                      "of this machine. miopen.conv-search searches again.",
                      recipe.options));
    }
    ATTUNE_ASSIGN_OR_RETURN(const Answer answer,
                            program->AskText(recipe.source, step(), {recipe.options}));
    for (const Outcome& outcome : answer.outcomes) {
      if (outcome.solver != recipe.options) continue;
      if (!outcome.succeeded()) return Unavailable(outcome.failure);
      return Artifact{TextOf(KeptBuild{outcome.kernels})};
    }
    return Internal(fmt::format("fin has no outcome of {}.", recipe.options));
  }

  Result<std::unique_ptr<Executable>> Load(const Artifact&, const Problem&, const Config&,
                                           Device&) const override {
    return Unsupported("fin is a program, which nothing loads.");
  }

 private:
  static Candidate CandidateOf(const std::string& name, bool searches) {
    return searches ? miopen::SearchedCandidateOf({name, ""}) : miopen::CandidateOf({name, ""});
  }
  Step step() const { return traits_.searches ? Step::kPerfCompile : Step::kFindCompile; }
  Result<std::vector<std::string>> Names(const Problem& problem, const Target& target) const {
    return traits_.searches ? applicability_->TunableOf(problem, target)
                            : applicability_->Of(problem, target);
  }

  const std::shared_ptr<const Applicability> applicability_;
  SolverId id_;
  SolverTraits traits_;
};

}  // namespace

Question QuestionFor(Step step, const Target& target, const Conv& conv) {
  Question question;
  question.step = step;
  question.arch = target.arch;
  question.compute_units = target.compute_units;
  question.conv = conv;
  return question;
}

SolverList FinSolvers(std::optional<Program> program) {
  const auto applicability = std::make_shared<const Applicability>(std::move(program));
  SolverList solvers;
  for (const bool searches : {false, true}) {
    solvers.push_back(std::make_unique<const FinSolver>(searches, applicability));
  }
  return solvers;
}

}  // namespace attune::fin
