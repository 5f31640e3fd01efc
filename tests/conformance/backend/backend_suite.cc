#include "tests/conformance/backend/backend_suite.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "attune/base/random.h"
#include "attune/problem/other_op.h"
#include "attune/verify/bound_operands.h"
#include "attune/verify/problem_data.h"
#include "attune/verify/special_values.h"
#include "attune/verify/verifier.h"
#include "tests/conformance/backend/special_products.h"

namespace attune {
namespace {

constexpr int kRandomProducts = 400;
constexpr int kRandomProductsToCompile = 8;

// Small, and each of them odd in another way.
const char* const kProblems[] = {
    "gemm@1{m=1,n=1,k=1}",
    "gemm@1{m=37,n=29,k=41}",
    "gemm@1{m=64,n=64,k=64}",
    "gemm@1{m=33,n=17,k=65,ta=t}",
    "gemm@1{m=33,n=17,k=65,tb=t}",
    "gemm@1{m=33,n=17,k=65,ta=t,tb=t,lda=71,ldb=23,ldc=40}",
    "gemm@1{m=130,n=1,k=77}",
    "gemm@1{m=1,n=130,k=77}",
    "gemm@1{m=24,n=20,k=31,batch=3}",
    "gemm@1{m=24,n=20,k=31,batch=3,sa=0,sb=700,sc=500}",
    "gemm@1{m=24,n=20,k=31,alpha=other,beta=other,ldc=27}",
    "gemm@1{m=24,n=20,k=31,beta=one}",
    "gemm@1{m=24,n=20,k=31,bias=row,act=relu}",
    "gemm@1{m=24,n=20,k=31,bias=column,act=gelu}",
    "gemm@1{m=24,n=20,k=31,act=tanh}",
    "gemm@1{m=24,n=20,k=31,act=sigmoid,det=1}",
    "gemm@1{m=24,n=20,k=31,align=4}",
    "gemm@1{m=40,n=24,k=56,type=f64}",
    "gemm@1{m=40,n=24,k=56,type=bf16}",
    "gemm@1{m=40,n=24,k=56,type=bf16,ctype=bf16,tb=t}",
    "gemm@1{m=40,n=24,k=56,type=f16,ctype=f16}",
    "gemm@1{m=33,n=17,k=65,ta=t,lda=71,ldb=67,ldc=35,type=bf16,ctype=bf16,alpha=other,beta=other}",
    "gemm@1{m=333,n=19,k=131,batch=3,sa=0,type=f16,ctype=f16}",
    "gemm@1{m=33,n=17,k=65,type=f16,ctype=f16,align=2}",
    "conv@1{dir=fwd,n=1,c=1,h=1,w=1,k=1,fh=1,fw=1}",
    "conv@1{dir=fwd,n=2,c=16,h=9,w=11,k=24,fh=3,fw=3,ph=1,pw=1}",
    "conv@1{dir=bwd_data,n=2,c=16,h=9,w=11,k=24,fh=3,fw=3,ph=1,pw=1}",
    "conv@1{dir=bwd_weights,n=2,c=16,h=9,w=11,k=24,fh=3,fw=3,ph=1,pw=1}",
    "conv@1{dir=fwd,n=2,c=5,h=14,w=13,k=7,fh=3,fw=5,ph=1,pw=2,sh=2,sw=3}",
    "conv@1{dir=bwd_data,n=2,c=5,h=14,w=13,k=7,fh=3,fw=5,ph=1,pw=2,sh=2,sw=3}",
    "conv@1{dir=bwd_weights,n=2,c=5,h=14,w=13,k=7,fh=3,fw=5,ph=1,pw=2,sh=2,sw=3}",
    "conv@1{dir=fwd,n=2,c=32,h=7,w=7,k=16,fh=1,fw=1}",
    "conv@1{dir=fwd,n=2,c=32,h=8,w=7,k=16,fh=1,fw=1,sh=2,sw=2}",
    "conv@1{dir=bwd_data,n=2,c=32,h=8,w=7,k=16,fh=1,fw=1,sh=2,sw=2}",
    "conv@1{dir=fwd,n=2,c=16,h=12,w=12,k=16,fh=3,fw=3,dh=2,dw=2,ph=2,pw=2,g=4}",
    "conv@1{dir=bwd_data,n=2,c=16,h=12,w=12,k=16,fh=3,fw=3,ph=1,pw=1,g=16}",
    "conv@1{dir=bwd_weights,n=2,c=16,h=12,w=12,k=16,fh=3,fw=3,ph=1,pw=1,g=2}",
    "conv@1{dir=fwd,n=2,c=16,h=10,w=10,k=16,fh=3,fw=3,ph=1,pw=1,layout=nhwc}",
    "conv@1{dir=bwd_data,n=2,c=16,h=10,w=10,k=16,fh=3,fw=3,ph=1,pw=1,layout=nhwc}",
    "conv@1{dir=bwd_weights,n=2,c=16,h=10,w=10,k=16,fh=3,fw=3,ph=1,pw=1,layout=nhwc}",
    "conv@1{dir=fwd,n=2,c=16,h=9,w=9,k=16,fh=3,fw=3,bias=1}",
    "conv@1{dir=fwd,n=1,c=8,d=5,h=6,w=7,k=8,fd=3,fh=3,fw=3,pd=1,ph=1,pw=1}",
    "conv@1{dir=bwd_data,n=1,c=8,d=5,h=6,w=7,k=8,fd=3,fh=3,fw=3,sd=2,layout=ndhwc}",
    "conv@1{dir=bwd_weights,n=1,c=8,d=5,h=6,w=7,k=8,fd=1,fh=3,fw=2}",
    "conv@1{dir=fwd,n=2,c=16,h=9,w=11,k=24,fh=3,fw=3,ph=1,pw=1,type=bf16}",
    "conv@1{dir=bwd_data,n=2,c=16,h=9,w=11,k=24,fh=3,fw=3,ph=1,pw=1,type=bf16}",
    "conv@1{dir=bwd_weights,n=2,c=16,h=9,w=11,k=24,fh=3,fw=3,ph=1,pw=1,type=bf16}",
    "conv@1{dir=bwd_data,n=2,c=32,h=7,w=7,k=16,fh=1,fw=1}",
    "conv@1{dir=bwd_weights,n=3,c=32,h=7,w=7,k=16,fh=1,fw=1}",
    "conv@1{dir=fwd,n=3,c=13,h=7,w=5,k=11,fh=1,fw=1,layout=nhwc}",
    "conv@1{dir=bwd_weights,n=3,c=13,h=7,w=5,k=11,fh=1,fw=1,type=bf16}",
    "conv@1{dir=fwd,n=3,c=12,h=7,w=5,k=18,fh=1,fw=1,g=3}",
    "conv@1{dir=fwd,mode=trans,n=1,c=6,h=7,w=8,k=4,fh=2,fw=3,sh=2,sw=3,oph=1,opw=2}",
    // Long sums of few results: worth being split.
    "gemm@1{m=33,n=17,k=1031,bias=column,act=gelu,beta=other}",
    "gemm@1{m=33,n=17,k=1031,ta=t,type=bf16,ctype=bf16}",
    // Integers, in the order that tensor cores take, and with options that libraries lack.
    "gemm@1{m=32,n=16,k=64,ta=t,type=i8,ctype=i32}",
    "gemm@1{m=32,n=16,k=64,ta=t,batch=2,alpha=other,beta=other,type=i8,ctype=i32}",
    "gemm@1{m=33,n=17,k=65,type=i8,ctype=i32,bias=column,act=relu,beta=one}",
    "softmax@2{outer=1,length=1}",
    "softmax@2{outer=37,length=61}",
    "softmax@2{outer=5,length=1000,log=1,type=f16}",
    "softmax@2{outer=3,length=4099,type=bf16}",
    "softmax@2{outer=3,length=19,inner=70}",
    "softmax@2{outer=3,length=130,inner=17,log=1,type=bf16}",
    "softmax@2{outer=24,length=40,mask=causal,queries=12,scaled=1}",
    "softmax@2{outer=24,length=40,mask=additive,queries=8,scaled=1,type=f16}",
    "softmax@2{outer=37,length=61,dir=bwd,align=4}",
    "softmax@2{outer=7,length=1024,dir=bwd,log=1,scaled=1,type=f16}",
    "softmax@2{outer=3,length=19,inner=70,dir=bwd,type=bf16,align=2}",
    "softmax@2{outer=2,length=20000,det=1}",
    "batch_norm@1{n=2,c=1}",
    "batch_norm@1{n=1,c=11,h=7,w=5,running=1,saved=1}",
    "batch_norm@1{n=5,c=19,h=9,w=7,running=1,saved=1,type=f16,align=4}",
    "batch_norm@1{n=4,c=16,h=8,w=8,saved=1,fuse=relu,type=bf16}",
    "batch_norm@1{n=4,c=64,h=8,w=8,layout=nhwc,running=1,saved=1,fuse=add_relu,type=f16}",
    "batch_norm@1{n=3,c=13,h=5,w=6,layout=nhwc,affine=0,fuse=add}",
    "batch_norm@1{n=2,c=9,d=3,h=4,w=5,running=1}",
    "batch_norm@1{n=2,c=9,d=3,h=4,w=5,layout=ndhwc,saved=1,det=1}",
    "batch_norm@1{mode=act,n=6,c=5,h=3,w=4,running=1,saved=1}",
    "batch_norm@1{mode=act,n=6,c=5,h=3,w=4,layout=nhwc,fuse=relu,type=bf16}",
    "batch_norm@1{n=2,c=3,h=150,w=130,running=1,saved=1}",
    "batch_norm@1{dir=infer,n=1,c=11,h=7,w=5}",
    "batch_norm@1{dir=infer,n=4,c=64,h=8,w=8,fuse=add_relu,type=f16}",
    "batch_norm@1{dir=infer,n=3,c=13,h=5,w=6,layout=nhwc,fuse=relu,type=bf16,align=4}",
    "batch_norm@1{dir=infer,mode=act,n=3,c=5,h=3,w=4,affine=0,fuse=add}",
    "batch_norm@1{dir=infer,n=3,c=16,d=2,h=5,w=6,layout=ndhwc,type=f16}",
    "batch_norm@1{dir=bwd,n=2,c=1}",
    "batch_norm@1{dir=bwd,n=5,c=19,h=9,w=7,saved=1,type=f16,align=4}",
    "batch_norm@1{dir=bwd,n=4,c=16,h=8,w=8,fuse=relu,type=bf16}",
    "batch_norm@1{dir=bwd,n=4,c=64,h=8,w=8,layout=nhwc,saved=1,fuse=add_relu,type=f16}",
    "batch_norm@1{dir=bwd,n=3,c=13,h=5,w=6,layout=nhwc,affine=0,det=1}",
    "batch_norm@1{dir=bwd,n=2,c=9,d=3,h=4,w=5,saved=1}",
    "batch_norm@1{dir=bwd,mode=act,n=6,c=5,h=3,w=4,saved=1,fuse=add_relu}",
    "batch_norm@1{dir=bwd,n=2,c=3,h=150,w=130}",
    "batch_norm@1{dir=bwd,n=3,c=24,h=5,w=7,layout=nhwc,saved=1,fuse=relu,type=bf16}",
    "batch_norm@1{dir=bwd,mode=act,n=6,c=5,h=3,w=4,layout=nhwc,type=f16}",
    "batch_norm@1{n=2,c=9,d=3,h=4,w=5,saved=1,fuse=add_relu,type=f16}",
    "batch_norm@1{dir=bwd,n=2,c=9,d=3,h=4,w=5,layout=ndhwc,saved=1,type=bf16}",
    "batch_norm@1{n=1,c=1,h=301,w=257,running=1,saved=1,type=bf16}",
    "batch_norm@1{n=3,c=200,h=3,w=3,layout=nhwc,running=1,saved=1}",
    "softmax@2{outer=24,length=40,mask=additive,queries=6,type=bf16}",
    "softmax@2{outer=2,length=5000,inner=3,log=1}",
    "softmax@2{outer=2,length=300,inner=33,dir=bwd,log=1,type=f16}",
};

// Index 0, every value of "threads" in the default config, and some more.
std::vector<Config> ConfigsToTry(const ConfigSpace& space, size_t samples) {
  const Config standard = space.At(0);
  std::vector<Config> configs = {standard};
  for (const Parameter& parameter : space.parameters()) {
    if (parameter.name != "threads") continue;
    for (const ParameterValue& value : parameter.values) {
      Config config = standard;
      config[parameter.name] = value;
      if (config != standard && space.IndexOf(config).has_value()) configs.push_back(config);
    }
  }
  Random random(space.size());
  for (size_t i = 0; i < samples; ++i) configs.push_back(space.At(space.Sample(random)));
  return configs;
}

// One problem on one device, ready to verify candidates.
class Bench {
 public:
  static Result<std::unique_ptr<Bench>> Create(const BackendUnderTest& subject,
                                               const std::string& text) {
    auto bench = std::make_unique<Bench>();
    ATTUNE_ASSIGN_OR_RETURN(bench->device_, subject.backend->Open(subject.device));
    ATTUNE_ASSIGN_OR_RETURN(bench->problem_, ParseProblem(text));
    ATTUNE_ASSIGN_OR_RETURN(auto data, ProblemData::Create(bench->problem_, 20));
    bench->data_ = std::make_unique<ProblemData>(std::move(data));
    ATTUNE_ASSIGN_OR_RETURN(auto operands,
                            BoundOperands::Create(*bench->device_, bench->problem_, *bench->data_));
    bench->operands_ = std::make_unique<BoundOperands>(std::move(operands));
    return bench;
  }

  // Some of the configs that the solver lists on the device: the first, and as many others from all
  // over the list.
  Result<std::vector<Config>> ListedConfigs(const Solver& solver, size_t samples) {
    ATTUNE_ASSIGN_OR_RETURN(const std::vector<Config> listed, solver.ListOn(*device_, problem_));
    if (listed.empty()) return listed;
    std::vector<Config> configs = {listed.front()};
    Random random(listed.size());
    for (size_t i = 0; i < samples; ++i) configs.push_back(listed[random.Below(listed.size())]);
    return configs;
  }

  // True if the library behind `solver` refuses the problem: it lists no config, and its own answer
  // is unsupported.
  bool IsRefused(const Solver& solver, const Config& standard) {
    if (!solver.traits().listed_on_device || solver.traits().instant) return false;
    const auto listed = solver.ListOn(*device_, problem_);
    if (!listed.ok() || !listed->empty()) return false;
    const Result<Artifact> artifact = Build(solver, standard);
    if (!artifact.ok()) return false;
    const Status loaded = solver.Load(*artifact, problem_, standard, *device_).status();
    return loaded.code() == StatusCode::kUnsupported && !loaded.message().empty();
  }

  // The fault of this config, as a sentence; nothing if all is well.
  std::optional<std::string> Try(const Solver& solver, const Config& config) {
    Result<Artifact> artifact = Build(solver, config);
    if (!artifact.ok()) return "Build: " + artifact.status().ToString();
    auto executable = solver.Load(*artifact, problem_, config, *device_);
    if (!executable.ok()) return "Load: " + executable.status().ToString();
    const Verdict verdict = Verify(**executable, *device_, *operands_, *data_, problem_);
    if (!verdict.failure.has_value()) return std::nullopt;
    return std::string(Name(verdict.failure->kind)) + ": " + verdict.failure->message;
  }

  // A message if this config loses NaN, infinity or denormal numbers.
  std::optional<std::string> TrySpecialValues(const Solver& solver, const Config& config) {
    Result<Artifact> artifact = Build(solver, config);
    if (!artifact.ok()) return "Build: " + artifact.status().ToString();
    auto executable = solver.Load(*artifact, problem_, config, *device_);
    if (!executable.ok()) return "Load: " + executable.status().ToString();
    const Verdict verdict = Verify(**executable, *device_, *operands_, *data_, problem_);
    if (verdict.failure.has_value()) return verdict.failure->message;
    const auto failure = CheckSpecialValues(**executable, *device_, *operands_, *data_, problem_);
    return failure.has_value() ? std::optional(failure->message) : std::nullopt;
  }

  Result<double> TimeNs(const Solver& solver, const Config& config, CacheState cache) {
    ATTUNE_ASSIGN_OR_RETURN(const Artifact artifact, Build(solver, config));
    ATTUNE_ASSIGN_OR_RETURN(auto executable, solver.Load(artifact, problem_, config, *device_));
    ATTUNE_RETURN_IF_ERROR(operands_->ReserveWorkspace(executable->workspace_bytes()));
    return device_->TimeNs(*executable, operands_->arguments(), {.launches = 2, .cache = cache});
  }

  // Tries to capture a launch, and returns the time of one launch after that.
  Result<double> TimeNsAfterCapture(const Solver& solver, const Config& config, Status& captured) {
    ATTUNE_ASSIGN_OR_RETURN(const Artifact artifact, Build(solver, config));
    ATTUNE_ASSIGN_OR_RETURN(auto executable, solver.Load(artifact, problem_, config, *device_));
    ATTUNE_RETURN_IF_ERROR(operands_->ReserveWorkspace(executable->workspace_bytes()));
    // As a candidate that qualifies: it has run before.
    ATTUNE_RETURN_IF_ERROR(executable->Run(operands_->arguments()));
    ATTUNE_RETURN_IF_ERROR(device_->Synchronize());
    captured = device_->TryCapture(*executable, operands_->arguments());
    return device_->TimeNs(*executable, operands_->arguments(), {});
  }

  const Problem& problem() const { return problem_; }
  const Target& target() const { return device_->target(); }

 private:
  Result<Artifact> Build(const Solver& solver, const Config& config) {
    ATTUNE_ASSIGN_OR_RETURN(const BuildRecipe recipe,
                            solver.Recipe(problem_, config, device_->target()));
    if (recipe.empty()) return Artifact();
    return solver.Build(recipe);
  }

  std::unique_ptr<Device> device_;
  Problem problem_;
  std::unique_ptr<ProblemData> data_;
  std::unique_ptr<BoundOperands> operands_;
};

const KnownException* FindException(const ConformanceCase& tried) {
  const auto& exceptions = tried.subject.exceptions;
  const auto found = std::find_if(exceptions.begin(), exceptions.end(), [&](const auto& known) {
    return known.solver == tried.solver->id().name && known.problem == tried.problem;
  });
  return found == exceptions.end() ? nullptr : &*found;
}

// The first thing that is wrong with any config of the case.
std::optional<std::string> FirstMistake(const ConformanceCase& tried) {
  auto bench = Bench::Create(tried.subject, tried.problem);
  if (!bench.ok()) return bench.status().ToString();
  const auto space = tried.solver->Space((*bench)->problem(), (*bench)->target());
  if (!space.ok()) return "Space: " + space.status().ToString();
  std::vector<Config> configs = ConfigsToTry(*space, tried.subject.sampled_configs);
  const auto listed = (*bench)->ListedConfigs(*tried.solver, tried.subject.sampled_configs);
  if (!listed.ok()) return "ListOn: " + listed.status().ToString();
  if ((*bench)->IsRefused(*tried.solver, space->At(0))) return std::nullopt;
  configs.insert(configs.end(), listed->begin(), listed->end());
  for (const Config& config : configs) {
    const auto mistake = (*bench)->Try(*tried.solver, config);
    if (!mistake.has_value()) continue;
    // Tuning finds out.
    const bool is_known = !tried.solver->ServesUntried(config) && mistake->starts_with("wrong");
    if (!is_known) return Text(Candidate{tried.solver->id(), config}) + ": " + *mistake;
  }
  return std::nullopt;
}

// The first listed problem for which a config of `solver` loses special values, among those for
// which KeepsSpecialValues() is `is_claimed`.
std::optional<std::string> LossInListed(const BackendUnderTest& subject, const Solver& solver,
                                        bool is_claimed) {
  for (const ConformanceCase& tried : CasesOf(subject)) {
    if (tried.solver != &solver || FindException(tried) != nullptr) continue;
    auto bench = Bench::Create(subject, tried.problem);
    if (!bench.ok()) return bench.status().ToString();
    if (solver.KeepsSpecialValues((*bench)->problem()) != is_claimed) continue;
    const auto space = solver.Space((*bench)->problem(), (*bench)->target());
    if (!space.ok()) return space.status().ToString();
    for (const Config& config : ConfigsToTry(*space, subject.sampled_configs)) {
      auto loss = (*bench)->TrySpecialValues(solver, config);
      if (loss.has_value()) {
        return fmt::format("{} on {}: {}", Text(Candidate{solver.id(), config}), tried.problem,
                           *loss);
      }
    }
  }
  return std::nullopt;
}

// The first random product for which a random config of `solver` loses special values.
std::optional<std::string> LossInRandom(const BackendUnderTest& subject, const Solver& solver) {
  const auto device = subject.backend->Open(subject.device);
  if (!device.ok()) return device.status().ToString();
  Random random(2026);
  const int products = solver.traits().compiles || solver.traits().compiles_when_loaded
                           ? kRandomProductsToCompile
                           : kRandomProducts;
  for (int i = 0; i < products; ++i) {
    const SpecialProduct product(
        random, i % 3 == 0 ? DataType::kF64 : DataType::kF32,
        i % 4 == 0 ? SpecialContent::kDenormal : SpecialContent::kNonFinite);
    const Problem problem = product.gemm();
    if (!solver.IsApplicable(problem, (*device)->target()).ok()) continue;
    const auto space = solver.Space(problem, (*device)->target());
    if (!space.ok()) return space.status().ToString();
    const Config config = space->At(space->Sample(random));
    const auto recipe = solver.Recipe(problem, config, (*device)->target());
    if (!recipe.ok()) return recipe.status().ToString();
    const Result<Artifact> artifact =
        recipe->empty() ? Result<Artifact>(Artifact()) : solver.Build(*recipe);
    if (!artifact.ok()) return artifact.status().ToString();
    auto executable = solver.Load(*artifact, problem, config, **device);
    // Spaces may list more than the library offers.
    if (executable.status().code() == StatusCode::kUnsupported) continue;
    if (!executable.ok()) return executable.status().ToString();
    const auto loss = product.Try(**executable, **device);
    if (!loss.ok()) return loss.status().ToString();
    if (loss->has_value()) return Text(Candidate{solver.id(), config}) + " on " + **loss;
  }
  return std::nullopt;
}

// The first case of each solver that its library does not refuse.
std::map<const Solver*, ConformanceCase> FirstCases(const BackendUnderTest& subject) {
  std::map<const Solver*, ConformanceCase> first;
  for (ConformanceCase& tried : CasesOf(subject)) {
    if (first.contains(tried.solver)) continue;
    auto bench = Bench::Create(subject, tried.problem);
    if (bench.ok()) {
      const auto space = tried.solver->Space((*bench)->problem(), (*bench)->target());
      if (space.ok() && (*bench)->IsRefused(*tried.solver, space->At(0))) continue;
    }
    first.emplace(tried.solver, std::move(tried));
  }
  return first;
}

std::unique_ptr<Device> OpenOrNull(const BackendUnderTest& subject) {
  auto device = subject.backend->Open(subject.device);
  return device.ok() ? std::move(*device) : nullptr;
}

}  // namespace

void PrintTo(const ConformanceCase& tried, std::ostream* out) {
  *out << Text(tried.solver->id()) << " on " << tried.problem;
}

void PrintTo(const BackendUnderTest& subject, std::ostream* out) {
  *out << subject.backend->name() << " device " << subject.device;
}

std::vector<ConformanceCase> CasesOf(const BackendUnderTest& subject) {
  std::vector<ConformanceCase> cases;
  const std::unique_ptr<Device> device = OpenOrNull(subject);
  if (device == nullptr) return cases;
  for (const auto& solver : subject.backend->solvers()) {
    for (const char* text : kProblems) {
      const auto problem = ParseProblem(text);
      if (!problem.ok() || !solver->IsApplicable(*problem, device->target()).ok()) continue;
      cases.push_back({subject, solver.get(), text});
    }
  }
  return cases;
}

std::string CaseName(const testing::TestParamInfo<ConformanceCase>& info) {
  std::string name = info.param.solver->id().name;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
  const auto problem = std::find(std::begin(kProblems), std::end(kProblems), info.param.problem);
  return name + "_problem" + std::to_string(problem - std::begin(kProblems));
}

TEST_P(SolverTest, ComputesTheRightResultWithTheDefaultAndWithSampledConfigs) {
  const KnownException* known = FindException(GetParam());

  const std::optional<std::string> mistake = FirstMistake(GetParam());

  if (known == nullptr) {
    EXPECT_EQ(mistake.value_or(""), "");
  } else {
    EXPECT_TRUE(mistake.has_value() || known->may_pass)
        << "Passes now; take it off the list: " << known->reason;
  }
}

TEST_P(SolverTest, CandidatesAreFoundAgainByTheirText) {
  const Solver& solver = *GetParam().solver;
  const Problem problem = *ParseProblem(GetParam().problem);
  const auto device = OpenOrNull(GetParam().subject);
  const auto space = solver.Space(problem, device->target());
  ASSERT_TRUE(space.ok()) << space.status().ToString();
  ASSERT_GE(space->size(), 1u);
  EXPECT_EQ(space->IndexOf(space->At(0)), 0u);
  EXPECT_EQ(solver.DefaultConfig(problem, device->target()), space->At(0));
  Random random(7);

  for (int i = 0; i < 10; ++i) {
    const uint64_t index = space->Sample(random);
    const Candidate candidate{solver.id(), space->At(index)};
    const auto parsed = ParseCandidate(Text(candidate));
    ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
    EXPECT_EQ(*parsed, candidate);
    EXPECT_EQ(space->IndexOf(parsed->config), index);
  }
}

TEST_P(SolverTest, SpaceAndRecipeAreTheSameEveryTime) {
  const Solver& solver = *GetParam().solver;
  const Problem problem = *ParseProblem(GetParam().problem);
  const auto device = OpenOrNull(GetParam().subject);
  const auto first = solver.Space(problem, device->target());
  const auto second = solver.Space(problem, device->target());
  ASSERT_TRUE(first.ok() && second.ok());

  EXPECT_EQ(first->size(), second->size());
  EXPECT_EQ(first->parameters(), second->parameters());
  const auto recipe = solver.Recipe(problem, first->At(0), device->target());
  const auto again = solver.Recipe(problem, second->At(0), device->target());
  ASSERT_TRUE(recipe.ok() && again.ok());
  EXPECT_EQ(*recipe, *again);
  EXPECT_EQ(recipe->empty(), !solver.traits().compiles);
}

TEST_P(BackendTest, DevicesAreListedWithTheirTargets) {
  const BackendUnderTest& subject = GetParam();
  bool listed = false;
  for (const DeviceReport& report : subject.backend->Devices()) {
    EXPECT_EQ(report.target.backend, subject.backend->name());
    const auto parsed = ParseTarget(Text(report.target));
    ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
    EXPECT_EQ(*parsed, report.target);
    listed = listed || report.spec == subject.device;
  }
  EXPECT_TRUE(listed);

  const auto device = subject.backend->Open(subject.device);
  ASSERT_TRUE(device.ok()) << device.status().ToString();
  EXPECT_EQ((*device)->target().backend, subject.backend->name());
}

TEST_P(BackendTest, UnknownDeviceIsNotFoundAndTheKnownOnesAreNamed) {
  const Status status = GetParam().backend->Open("no such device").status();

  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_NE(status.message().find(GetParam().device), std::string::npos) << status.message();
}

TEST_P(BackendTest, EnvironmentHasATextThatCanBeReadBack) {
  const Environment environment = GetParam().backend->DescribeEnvironment();

  const auto parsed = ParseEnvironment(Text(environment));

  ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
  EXPECT_EQ(*parsed, environment);
}

TEST_P(BackendTest, LibrariesAreThereOrSaidToBeMissing) {
  for (const LibraryReport& library : GetParam().backend->Libraries()) {
    EXPECT_FALSE(library.name.empty());
    EXPECT_EQ(library.available, library.missing.empty()) << library.name;
    EXPECT_TRUE(!library.available || !library.version.empty()) << library.name;
  }
}

TEST_P(BackendTest, SolverNamesAreDistinctAndCanBeParsed) {
  std::set<SolverId> seen;
  for (const auto& solver : GetParam().backend->solvers()) {
    EXPECT_TRUE(seen.insert(solver->id()).second) << Text(solver->id());
    EXPECT_EQ(FindSolver(GetParam().backend->solvers(), solver->id()), solver.get());
    const auto parsed = ParseCandidate(Text(Candidate{solver->id(), {}}));
    EXPECT_TRUE(parsed.ok()) << parsed.status().ToString();
    EXPECT_FALSE(solver->traits().description.empty()) << Text(solver->id());
  }
}

TEST_P(BackendTest, SolverThatIsNotApplicableSaysWhy) {
  const std::unique_ptr<Device> device = OpenOrNull(GetParam());
  ASSERT_NE(device, nullptr);
  Target elsewhere = device->target();
  elsewhere.backend = "elsewhere";
  std::vector<Problem> problems = {OtherOp{"pool", {}}};
  for (const char* text : kProblems) problems.push_back(*ParseProblem(text));

  for (const auto& solver : GetParam().backend->solvers()) {
    EXPECT_FALSE(solver->IsApplicable(problems[0], device->target()).ok()) << Text(solver->id());
    for (const Problem& problem : problems) {
      const Status status = solver->IsApplicable(problem, device->target());
      if (status.ok()) {
        EXPECT_EQ(OperatorName(problem), solver->traits().operator_name);
        const Status abroad = solver->IsApplicable(problem, elsewhere);
        EXPECT_FALSE(abroad.ok()) << Text(solver->id()) << " runs on a foreign target.";
        continue;
      }
      EXPECT_TRUE(status.code() == StatusCode::kUnsupported ||
                  status.code() == StatusCode::kUnavailable)
          << Text(solver->id()) << ": " << status.ToString();
      EXPECT_GT(status.message().size(), 10u) << Text(solver->id());
    }
  }
}

TEST_P(BackendTest, SolversDeclareIeeeSpecialValuesTruthfully) {
  for (const auto& solver : GetParam().backend->solvers()) {
    if (solver->traits().operator_name != "gemm") continue;

    const bool has_trait = solver->traits().ieee_special_values;
    const auto in_listed = LossInListed(GetParam(), *solver, true);
    const auto in_random = LossInRandom(GetParam(), *solver);
    const auto elsewhere = LossInListed(GetParam(), *solver, false);

    EXPECT_EQ(in_listed.value_or(""), "");
    EXPECT_TRUE(!has_trait || !in_random.has_value()) << in_random.value_or("");
    EXPECT_TRUE(has_trait || in_random.has_value() || elsewhere.has_value())
        << Text(solver->id()) << " loses nothing, so it should declare ieee_special_values.";
  }
}

TEST_P(BackendTest, EverySolverIsTimedWarmAndCold) {
  const std::map<const Solver*, ConformanceCase> first = FirstCases(GetParam());
  ASSERT_FALSE(first.empty());

  for (const auto& [solver, tried] : first) {
    auto bench = Bench::Create(GetParam(), tried.problem);
    ASSERT_TRUE(bench.ok()) << bench.status().ToString();
    const auto space = solver->Space((*bench)->problem(), (*bench)->target());
    ASSERT_TRUE(space.ok()) << space.status().ToString();
    for (const CacheState cache : {CacheState::kWarm, CacheState::kCold}) {
      const auto time_ns = (*bench)->TimeNs(*solver, space->At(0), cache);
      ASSERT_TRUE(time_ns.ok()) << Text(solver->id()) << ": " << time_ns.status().ToString();
      EXPECT_GT(*time_ns, 0) << Text(solver->id());
    }
  }
}

TEST_P(BackendTest, EverySolverCanBeCapturedOrSaysWhyNotAndRunsOnAfterIt) {
  const std::map<const Solver*, ConformanceCase> first = FirstCases(GetParam());

  for (const auto& [solver, tried] : first) {
    auto bench = Bench::Create(GetParam(), tried.problem);
    ASSERT_TRUE(bench.ok()) << bench.status().ToString();
    const auto space = solver->Space((*bench)->problem(), (*bench)->target());
    ASSERT_TRUE(space.ok()) << space.status().ToString();
    Status captured;

    const auto time_ns = (*bench)->TimeNsAfterCapture(*solver, space->At(0), captured);

    ASSERT_TRUE(time_ns.ok()) << Text(solver->id()) << ": " << time_ns.status().ToString();
    EXPECT_GT(*time_ns, 0) << Text(solver->id());
    if (captured.ok()) continue;
    EXPECT_GT(captured.message().size(), 10u) << Text(solver->id());
    // For readers of a GPU's results: lists solvers that graphs leave out.
    RecordProperty(solver->id().name, captured.message());
  }
}

TEST_P(BackendTest, LastResortsComeAfterEverythingElseOfTheirOperator) {
  std::map<std::string, std::string> last_resorts;

  for (const auto& solver : GetParam().backend->solvers()) {
    const SolverTraits& traits = solver->traits();
    if (traits.last_resort) {
      last_resorts[traits.operator_name] = solver->id().name;
    } else {
      EXPECT_FALSE(last_resorts.contains(traits.operator_name))
          << solver->id().name << " comes after " << last_resorts[traits.operator_name];
    }
  }
}

}  // namespace attune
