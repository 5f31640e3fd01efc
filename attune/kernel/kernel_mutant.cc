#include "attune/kernel/kernel_mutant.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "attune/kernel/kernel_plan.h"
#include "attune/kernel/problem_fields.h"

namespace attune::kernel {
namespace {

// Values that every device here allows and no config exceeds.
const Config kLimits = {{"language", std::string("opencl")},
                        {"compute_units", int64_t{2}},
                        {"max_work_group_size", int64_t{4096}},
                        {"local_memory_bytes", int64_t{1} << 20}};
// Problems of which every config is tried, not only some of them.
constexpr size_t kThoroughProblems = 3;
constexpr int kSampledConfigs = 2;

bool Same(const Expression& a, const Expression& b) { return a.text() == b.text(); }

bool Same(const std::optional<Expression>& a, const std::optional<Expression>& b) {
  return a.has_value() == b.has_value() && (!a.has_value() || Same(*a, *b));
}

bool Same(const NamedExpression& a, const NamedExpression& b) {
  return a.name == b.name && Same(a.value, b.value);
}

bool Same(const KernelArgument& a, const KernelArgument& b) {
  return a.kind == b.kind && a.name == b.name && Same(a.value, b.value);
}

bool Same(const KernelLaunch& a, const KernelLaunch& b);

template <class T>
bool Same(const std::vector<T>& a, const std::vector<T>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const T& x, const T& y) { return Same(x, y); });
}

bool Same(const KernelLaunch& a, const KernelLaunch& b) {
  return a.function == b.function && Same(a.when, b.when) && Same(a.local, b.local) &&
         Same(a.groups, b.groups) && Same(a.shared_bytes, b.shared_bytes) &&
         Same(a.cooperative, b.cooperative) && Same(a.cluster, b.cluster) &&
         Same(a.arguments, b.arguments);
}

bool SameParameterNames(const KernelFile& a, const KernelFile& b) {
  return std::equal(a.parameters.begin(), a.parameters.end(), b.parameters.begin(),
                    b.parameters.end(),
                    [](const Parameter& x, const Parameter& y) { return x.name == y.name; });
}

// All that MakeSource and MakePlan read of a file.
bool SameProgramAndPlan(const KernelFile& a, const KernelFile& b) {
  return a.operator_name == b.operator_name && a.prelude == b.prelude && a.source == b.source &&
         a.compile_time_sizes == b.compile_time_sizes && SameParameterNames(a, b) &&
         a.run_time_parameters == b.run_time_parameters && Same(a.definitions, b.definitions) &&
         Same(a.variables, b.variables) && Same(a.workspace_bytes, b.workspace_bytes) &&
         Same(a.launches, b.launches);
}

bool SameOffer(const KernelFile& a, const KernelFile& b) {
  return Same(a.applies, b.applies) && Same(a.constraints, b.constraints) && Same(a.cost, b.cost) &&
         a.parameters == b.parameters;
}

bool SameLabels(const KernelFile& a, const KernelFile& b) {
  return a.name == b.name && a.version == b.version && a.description == b.description;
}

bool ContainsAll(const std::vector<Expression>& all, const std::vector<Expression>& some) {
  return std::all_of(some.begin(), some.end(), [&](const Expression& each) {
    return std::any_of(all.begin(), all.end(),
                       [&](const Expression& other) { return Same(each, other); });
  });
}

// True if every rule is unchanged and no parameter has a new value. REQUIRES: the same parameter
// names.
bool OffersNoMore(const KernelFile& changed, const KernelFile& intact) {
  if (!ContainsAll(changed.applies, intact.applies)) return false;
  if (!ContainsAll(changed.constraints, intact.constraints)) return false;
  for (size_t i = 0; i < intact.parameters.size(); ++i) {
    const auto& known = intact.parameters[i].values;
    for (const ParameterValue& value : changed.parameters[i].values) {
      if (std::find(known.begin(), known.end(), value) == known.end()) return false;
    }
  }
  return true;
}

std::string PlanText(const KernelFile& file, const Problem& problem, const Config& config) {
  const auto plan = MakePlan(file, problem, config);
  return plan.ok() ? Text(*plan) : fmt::format("no plan: {}", plan.status().message());
}

// The program text with its leading macros sorted: they are objects with names of their own, so
// that their order means nothing to the preprocessor.
std::string SortedMacros(const std::string& program) {
  std::vector<std::string_view> macros;
  std::string_view rest = program;
  while (rest.starts_with("#define ")) {
    const size_t end = rest.find('\n') + 1;
    macros.push_back(rest.substr(0, end));
    rest.remove_prefix(end);
  }
  std::sort(macros.begin(), macros.end());
  return fmt::format("{}{}", fmt::join(macros, ""), rest);
}

std::string ProgramText(const KernelFile& file, const Problem& problem, const Config& config) {
  const auto source = MakeSource(file, problem, config);
  return source.ok() ? SortedMacros(*source)
                     : fmt::format("no source: {}", source.status().message());
}

// Program, plan, and the plan that a PoCL program is launched with when it is compiled.
KernelUse UseOf(const KernelFile& file, const Problem& problem, const Config& config) {
  const auto smallest = SmallestLike(problem, file.compile_time_sizes);
  const bool warms = smallest.ok() && CheckApplies(file, *smallest, kLimits).ok() &&
                     CheckConstraints(file, *smallest, config, kLimits).ok();
  return {
      problem, config,
      fmt::format("{}\n{}\n{}", ProgramText(file, problem, config), PlanText(file, problem, config),
                  warms ? PlanText(file, *smallest, config) : "no warm-up"),
      std::nullopt};
}

bool CanBePlanned(const KernelFile& file, const Problem& problem, const Config& config) {
  return MakeSource(file, problem, config).ok() && MakePlan(file, problem, config).ok();
}

// Unrolled code, and so compile time, grows with the values of most parameters.
double CostOf(const Config& config) {
  double cost = 1;
  for (const auto& [name, value] : config) {
    if (const int64_t* number = std::get_if<int64_t>(&value)) {
      cost *= std::max(1.0, static_cast<double>(*number));
    }
  }
  return cost;
}

std::vector<Config> CheapestFirst(const ConfigSpace& space) {
  std::vector<std::pair<double, Config>> by_cost;
  for (uint64_t i = 0; i < space.size(); ++i) {
    Config config = space.At(i);
    const double cost = CostOf(config);
    by_cost.emplace_back(cost, std::move(config));
  }
  std::stable_sort(by_cost.begin(), by_cost.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Config> configs;
  for (auto& [cost, config] : by_cost) configs.push_back(std::move(config));
  return configs;
}

// The first of the cheapest.
Config CheapestOf(const ConfigSpace& space) {
  Config cheapest = space.At(0);
  double least = CostOf(cheapest);
  for (uint64_t i = 1; i < space.size(); ++i) {
    Config config = space.At(i);
    const double cost = CostOf(config);
    if (cost >= least) continue;
    least = cost;
    cheapest = std::move(config);
  }
  return cheapest;
}

// The cheapest, the default, and some others.
std::vector<Config> Sample(const ConfigSpace& space) {
  std::vector<Config> configs = {CheapestOf(space), space.At(0)};
  Random random(3);
  for (int i = 0; i < kSampledConfigs; ++i) configs.push_back(space.At(space.Sample(random)));
  return configs;
}

// Compares the configs and the behaviour of two files.
class Comparison {
 public:
  Comparison(const KernelFile& changed, const KernelFile& intact)
      : changed_(changed),
        intact_(intact),
        same_program_(SameProgramAndPlan(changed, intact)),
        problems_(CoveringProblems(changed.operator_name)) {}

  // The first use of the changed file that the intact one does not have and that can be planned.
  std::optional<KernelUse> FirstNewUse() {
    for (const Problem& problem : problems_) {
      auto use = NewUseOf(problem, false);
      // If only the offered configs differ, one of the new ones is nearly always cheap.
      if (use.has_value()) return same_program_ ? NewUseOf(problem, true) : use;
    }
    for (size_t i = 0; i < kThoroughProblems; ++i) {
      if (auto use = NewUseOf(problems_[i], true)) return use;
    }
    return std::nullopt;
  }

  // True if there were new uses, all without a plan. Call after FirstNewUse().
  bool found_refused() const { return found_refused_; }

 private:
  std::optional<KernelUse> NewUseOf(const Problem& problem, bool thorough) {
    if (!CheckApplies(changed_, problem, kLimits).ok()) return std::nullopt;
    const auto space = MakeSpace(changed_, problem, kLimits);
    if (!space.ok()) return std::nullopt;
    const bool applied = CheckApplies(intact_, problem, kLimits).ok();
    const auto known = applied ? MakeSpace(intact_, problem, kLimits) : NotFound("");
    for (const Config& config : thorough ? CheapestFirst(*space) : Sample(*space)) {
      const bool is_new = !known.ok() || !known->IndexOf(config).has_value();
      if (!is_new && same_program_) continue;
      KernelUse use = UseOf(changed_, problem, config);
      if (!is_new && use.text == UseOf(intact_, problem, config).text) continue;
      if (CanBePlanned(changed_, problem, config)) return use;
      found_refused_ = true;
    }
    return std::nullopt;
  }

  const KernelFile& changed_;
  const KernelFile& intact_;
  const bool same_program_;
  const std::vector<Problem> problems_;
  bool found_refused_ = false;
};

// The cheapest config that `changed` takes for `problem` on a device of `limits` and `intact` does
// not.
std::optional<Config> OfferedAnew(const KernelFile& changed, const KernelFile& intact,
                                  const Problem& problem, const Config& limits) {
  if (!CheckApplies(changed, problem, limits).ok()) return std::nullopt;
  const auto space = MakeSpace(changed, problem, limits);
  if (!space.ok()) return std::nullopt;
  const bool applied = CheckApplies(intact, problem, limits).ok();
  const auto known = applied ? MakeSpace(intact, problem, limits) : NotFound("");
  for (const Config& config : CheapestFirst(*space)) {
    if (!known.ok() || !known->IndexOf(config).has_value()) return config;
  }
  return std::nullopt;
}

bool TakesLargeProblems(const KernelFile& changed, const KernelFile& intact) {
  const auto problems = LargeProblems(changed.operator_name);
  return std::any_of(problems.begin(), problems.end(), [&](const Problem& problem) {
    return OfferedAnew(changed, intact, problem, kLimits).has_value();
  });
}

// A use at a limit of size, or on a small device, that the intact file does not have. REQUIRES: the
// same program and plan.
std::optional<KernelUse> UseAtLimits(const KernelFile& changed, const KernelFile& intact) {
  for (const Problem& problem : LimitProblems(changed.operator_name)) {
    const auto config = OfferedAnew(changed, intact, problem, kLimits);
    if (!config.has_value() || !CanBePlanned(changed, problem, *config)) continue;
    KernelUse use = UseOf(changed, problem, *config);
    use.is_heavy = true;
    return use;
  }
  const Problem plain = CoveringProblems(changed.operator_name).front();
  for (const int64_t work_items : {1, 8, 16, 32, 48, 63}) {
    for (const int64_t local_bytes : {0, 4096, 16384, 32768, 65536}) {
      Config limits = kLimits;
      limits["max_work_group_size"] = work_items;
      limits["local_memory_bytes"] = local_bytes;
      const auto config = OfferedAnew(changed, intact, plain, limits);
      if (!config.has_value()) continue;
      KernelUse use = UseOf(changed, plain, *config);
      use.text += attune::Text(limits);
      use.small_device = std::move(limits);
      return use;
    }
  }
  return std::nullopt;
}

// Kind of a file without a new use that can run.
MutantKind KindOfHarmless(const KernelFile& changed, const KernelFile& intact, bool found_refused) {
  if (found_refused) return MutantKind::kNoPlan;
  if (!SameProgramAndPlan(changed, intact)) return MutantKind::kSameEffect;
  return TakesLargeProblems(changed, intact) ? MutantKind::kBeyondTests : MutantKind::kOffersNoMore;
}

}  // namespace

std::string_view Name(MutantKind kind) {
  switch (kind) {
    case MutantKind::kReported:
      return "reported";
    case MutantKind::kUnchanged:
      return "unchanged";
    case MutantKind::kRelabelled:
      return "relabelled";
    case MutantKind::kOffersLess:
      return "offers_less";
    case MutantKind::kOffersNoMore:
      return "offers_no_more";
    case MutantKind::kSameEffect:
      return "same_effect";
    case MutantKind::kNoPlan:
      return "no_plan";
    case MutantKind::kBeyondTests:
      return "beyond_tests";
    case MutantKind::kAnother:
      return "another";
  }
  return "";
}

KernelMutant MutantClassifier::Classify(const KernelMutation& mutation) {
  const KernelFile& intact = IntactFileOf(mutation);
  const Result<KernelFile> changed = folder_.Load(mutation.ChangedText());
  KernelMutant mutant;
  if (!changed.ok()) {
    const std::string message = changed.status().message();
    // After the path of the file.
    mutant.report = message.substr(message.find(": ") + 2);
    return mutant;
  }
  mutant.solver = changed->solver_name();
  const bool same_program = SameProgramAndPlan(*changed, intact);
  if (same_program && SameOffer(*changed, intact)) {
    mutant.kind = SameLabels(*changed, intact) ? MutantKind::kUnchanged : MutantKind::kRelabelled;
  } else if (same_program && OffersNoMore(*changed, intact)) {
    mutant.kind = MutantKind::kOffersLess;
  } else {
    Comparison comparison(*changed, intact);
    mutant.use = comparison.FirstNewUse();
    if (!mutant.use.has_value() && same_program && !comparison.found_refused()) {
      mutant.use = UseAtLimits(*changed, intact);
    }
    mutant.kind = mutant.use.has_value()
                      ? MutantKind::kAnother
                      : KindOfHarmless(*changed, intact, comparison.found_refused());
  }
  return mutant;
}

const KernelFile& MutantClassifier::IntactFileOf(const KernelMutation& mutation) {
  const auto known = intact_.find(mutation.file_name);
  if (known != intact_.end()) return known->second;
  return intact_.emplace(mutation.file_name, *folder_.Load(mutation.original.dump())).first->second;
}

}  // namespace attune::kernel
