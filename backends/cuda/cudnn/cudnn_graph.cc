#include "backends/cuda/cudnn/cudnn_graph.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace attune::cuda {
namespace {

constexpr const char* kEngine = "engine";
constexpr const char* kKnobs = "knobs";
constexpr int64_t kMostRecommendations = 64;
constexpr int64_t kMostKnobs = 64;

Config ConfigWith(int64_t engine, const KnobValues& knobs) {
  return {{kEngine, engine}, {kKnobs, TextOf(knobs)}};
}

void AddNew(Config config, std::vector<Config>& configs) {
  const bool is_new = std::find(configs.begin(), configs.end(), config) == configs.end();
  if (is_new) configs.push_back(std::move(config));
}

}  // namespace

bool ServesUntriedOfCudnn(const Config& config) {
  if (!config.contains(kKnobs)) return true;
  const Result<KnobValues> knobs = ParseKnobs(StringAt(config, kKnobs));
  return knobs.ok() && !knobs->contains(CUDNN_KNOB_TYPE_KERNEL_CFG);
}

struct CudnnGraph::Descriptors {
  Descriptors(CudnnGraphParts its_parts, const CudnnEngineTerms& its_terms, uint64_t its_seed,
              CudnnDescriptor its_graph)
      : parts(std::move(its_parts)),
        terms(its_terms),
        seed(its_seed),
        graph(std::move(its_graph)) {}

  const Cudnn& cudnn() const { return parts.cudnn(); }
  cudnnHandle_t handle() const { return parts.handle(); }

  const CudnnGraphParts parts;
  const CudnnEngineTerms terms;
  const uint64_t seed;
  const CudnnDescriptor graph;
};

Result<CudnnGraph> CudnnGraph::Create(CudnnGraphParts parts, const CudnnEngineTerms& terms,
                                      uint64_t seed) {
  ATTUNE_ASSIGN_OR_RETURN(CudnnDescriptor graph, parts.MakeGraph());
  return CudnnGraph(
      std::make_shared<const Descriptors>(std::move(parts), terms, seed, std::move(graph)));
}

Result<CudnnDescriptor> CudnnGraph::Engine(int64_t index) const {
  ATTUNE_ASSIGN_OR_RETURN(
      CudnnDescriptor engine,
      CudnnDescriptor::Create(descriptors_->cudnn(), CUDNN_BACKEND_ENGINE_DESCRIPTOR));
  ATTUNE_RETURN_IF_ERROR(
      engine.SetDescriptor(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, descriptors_->graph));
  ATTUNE_RETURN_IF_ERROR(engine.SetOne(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, index));
  ATTUNE_RETURN_IF_ERROR(engine.Finalize());
  return engine;
}

bool CudnnGraph::Allows(const CudnnDescriptor& engine) const {
  const CudnnEngineTerms& terms = descriptors_->terms;
  const auto notes = engine.GetAll<cudnnBackendNumericalNote_t>(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                                                CUDNN_TYPE_NUMERICAL_NOTE);
  bool has_tensor_cores = false;
  for (const cudnnBackendNumericalNote_t note : notes) {
    // For f32 a tensor core means TF32.
    const bool rounds_inputs = note == CUDNN_NUMERICAL_NOTE_TENSOR_CORE ||
                               note == CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS;
    if (terms.is_exact && rounds_inputs) return false;
    has_tensor_cores |= rounds_inputs;
    const bool transforms =
        note == CUDNN_NUMERICAL_NOTE_FFT || note == CUDNN_NUMERICAL_NOTE_WINOGRAD;
    if (terms.is_direct && transforms) return false;
    if (note == CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION) return false;
    if (terms.is_deterministic && note == CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC) return false;
  }
  return has_tensor_cores || !terms.is_direct;
}

Result<std::optional<Config>> CudnnGraph::ConfigOf(const CudnnDescriptor& engine_config) const {
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<CudnnDescriptor> engines,
                          engine_config.GetDescriptors(CUDNN_ATTR_ENGINECFG_ENGINE,
                                                       CUDNN_BACKEND_ENGINE_DESCRIPTOR, 1));
  if (engines.empty() || !Allows(engines.front())) return std::optional<Config>();
  ATTUNE_ASSIGN_OR_RETURN(const int64_t index,
                          engines.front().GetInt64(CUDNN_ATTR_ENGINE_GLOBAL_INDEX));
  KnobValues knobs;
  ATTUNE_ASSIGN_OR_RETURN(
      const std::vector<CudnnDescriptor> choices,
      engine_config.GetDescriptors(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
                                   CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, kMostKnobs));
  for (const CudnnDescriptor& choice : choices) {
    const auto types = choice.GetAll<cudnnBackendKnobType_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE,
                                                             CUDNN_TYPE_KNOB_TYPE);
    ATTUNE_ASSIGN_OR_RETURN(const int64_t value,
                            choice.GetInt64(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE));
    if (!types.empty()) knobs[types.front()] = value;
  }
  return std::optional<Config>(ConfigWith(index, knobs));
}

Result<std::vector<Config>> CudnnGraph::RecommendationsOf(cudnnBackendHeurMode_t mode) const {
  ATTUNE_ASSIGN_OR_RETURN(
      CudnnDescriptor heuristic,
      CudnnDescriptor::Create(descriptors_->cudnn(), CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR));
  ATTUNE_RETURN_IF_ERROR(
      heuristic.SetDescriptor(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, descriptors_->graph));
  ATTUNE_RETURN_IF_ERROR(heuristic.SetOne(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode));
  std::vector<Config> configs;
  if (!heuristic.Finalize().ok()) return configs;
  ATTUNE_ASSIGN_OR_RETURN(
      const std::vector<CudnnDescriptor> answers,
      heuristic.GetDescriptors(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR,
                               kMostRecommendations));
  for (const CudnnDescriptor& answer : answers) {
    ATTUNE_ASSIGN_OR_RETURN(std::optional<Config> config, ConfigOf(answer));
    if (config.has_value()) AddNew(*std::move(config), configs);
  }
  return configs;
}

Result<std::vector<Config>> CudnnGraph::Recommendations() const {
  std::vector<Config> configs;
  for (const cudnnBackendHeurMode_t mode :
       {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_B, CUDNN_HEUR_MODE_FALLBACK}) {
    ATTUNE_ASSIGN_OR_RETURN(const std::vector<Config> of_mode, RecommendationsOf(mode));
    for (const Config& config : of_mode) AddNew(config, configs);
  }
  return configs;
}

namespace {

bool CompilesAtRunTime(const CudnnDescriptor& engine) {
  const auto notes = engine.GetAll<cudnnBackendBehaviorNote_t>(CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE,
                                                               CUDNN_TYPE_BEHAVIOR_NOTE);
  return std::find(notes.begin(), notes.end(), CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION) !=
         notes.end();
}

Result<std::vector<KnobRange>> KnobsOf(const CudnnDescriptor& engine) {
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<CudnnDescriptor> infos,
                          engine.GetDescriptors(CUDNN_ATTR_ENGINE_KNOB_INFO,
                                                CUDNN_BACKEND_KNOB_INFO_DESCRIPTOR, kMostKnobs));
  std::vector<KnobRange> knobs;
  for (const CudnnDescriptor& info : infos) {
    const auto types =
        info.GetAll<cudnnBackendKnobType_t>(CUDNN_ATTR_KNOB_INFO_TYPE, CUDNN_TYPE_KNOB_TYPE);
    ATTUNE_ASSIGN_OR_RETURN(const int64_t least, info.GetInt64(CUDNN_ATTR_KNOB_INFO_MINIMUM_VALUE));
    ATTUNE_ASSIGN_OR_RETURN(const int64_t most, info.GetInt64(CUDNN_ATTR_KNOB_INFO_MAXIMUM_VALUE));
    ATTUNE_ASSIGN_OR_RETURN(const int64_t stride, info.GetInt64(CUDNN_ATTR_KNOB_INFO_STRIDE));
    if (!types.empty()) knobs.push_back({types.front(), least, most, stride});
  }
  return knobs;
}

Result<CudnnDescriptor> WithKnobs(const Cudnn& cudnn, const CudnnDescriptor& engine,
                                  const KnobValues& knobs) {
  std::vector<CudnnDescriptor> choices;
  std::vector<cudnnBackendDescriptor_t> pointers;
  for (const auto& [type, value] : knobs) {
    ATTUNE_ASSIGN_OR_RETURN(CudnnDescriptor choice,
                            CudnnDescriptor::Create(cudnn, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR));
    ATTUNE_RETURN_IF_ERROR(choice.SetOne(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE,
                                         static_cast<cudnnBackendKnobType_t>(type)));
    ATTUNE_RETURN_IF_ERROR(
        choice.SetOne(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, value));
    ATTUNE_RETURN_IF_ERROR(choice.Finalize());
    pointers.push_back(choice.get());
    choices.push_back(std::move(choice));
  }
  ATTUNE_ASSIGN_OR_RETURN(CudnnDescriptor made,
                          CudnnDescriptor::Create(cudnn, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
  ATTUNE_RETURN_IF_ERROR(made.SetDescriptor(CUDNN_ATTR_ENGINECFG_ENGINE, engine));
  if (!pointers.empty()) {
    ATTUNE_RETURN_IF_ERROR(made.SetRaw(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
                                       CUDNN_TYPE_BACKEND_DESCRIPTOR, std::ssize(pointers),
                                       pointers.data()));
  }
  ATTUNE_RETURN_IF_ERROR(made.Finalize());
  return made;
}

}  // namespace

Status CudnnGraph::AddVariants(int64_t index, uint64_t seed, std::vector<Config>& configs) const {
  const Result<CudnnDescriptor> engine = Engine(index);
  // It does not compute this graph.
  if (!engine.ok() || !Allows(*engine)) return Status::Ok();
  ATTUNE_ASSIGN_OR_RETURN(std::vector<KnobRange> knobs, KnobsOf(*engine));
  if (CompilesAtRunTime(*engine)) {
    // More slices than there are steps make kernels with blocks that wait for absent ones for ever:
    // engine 77 of cuDNN 9.14 with 19 slices of 2x24x9x11 by 3x3.
    std::erase_if(knobs,
                  [](const KnobRange& knob) { return knob.type == CUDNN_KNOB_TYPE_SPLIT_K_SLC; });
  }
  for (const KnobValues& chosen : VariantsOf(knobs, seed)) {
    if (!WithKnobs(descriptors_->cudnn(), *engine, chosen).ok()) continue;
    configs.push_back(ConfigWith(index, chosen));
  }
  return Status::Ok();
}

Result<std::vector<Config>> CudnnGraph::Enumeration() const {
  ATTUNE_ASSIGN_OR_RETURN(const int64_t count, descriptors_->graph.GetInt64(
                                                   CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT));
  const uint64_t seed = descriptors_->seed;
  std::vector<Config> configs;
  for (int64_t index = 0; index < count; ++index) {
    ATTUNE_RETURN_IF_ERROR(AddVariants(index, seed + static_cast<uint64_t>(index), configs));
  }
  return configs;
}

Result<std::vector<Config>> CudnnGraph::AllConfigs() const {
  ATTUNE_ASSIGN_OR_RETURN(std::vector<Config> configs, Recommendations());
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<Config> others, Enumeration());
  std::set<Config> known(configs.begin(), configs.end());
  for (const Config& other : others) {
    if (known.insert(other).second) configs.push_back(other);
  }
  // Compiling a plan takes half a second, enough to try a hundred other plans.
  std::map<int64_t, bool> is_quick;
  for (const Config& config : configs) {
    const int64_t index = IntegerAt(config, kEngine);
    if (is_quick.contains(index)) continue;
    ATTUNE_ASSIGN_OR_RETURN(const CudnnDescriptor engine, Engine(index));
    is_quick[index] = !CompilesAtRunTime(engine);
  }
  std::stable_partition(configs.begin(), configs.end(), [&](const Config& config) {
    return is_quick.at(IntegerAt(config, kEngine));
  });
  return configs;
}

Result<CudnnPlan> CudnnGraph::PlanOf(const CudnnDescriptor& engine, const KnobValues& knobs) const {
  const Cudnn& cudnn = descriptors_->cudnn();
  ATTUNE_ASSIGN_OR_RETURN(const CudnnDescriptor engine_config, WithKnobs(cudnn, engine, knobs));
  ATTUNE_ASSIGN_OR_RETURN(CudnnPlan plan, MakePlan(cudnn, descriptors_->handle(), engine_config));
  plan.is_compiled = CompilesAtRunTime(engine);
  return plan;
}

Result<CudnnPlan> CudnnGraph::PlanOf(const Config& config) const {
  ATTUNE_ASSIGN_OR_RETURN(const CudnnDescriptor engine, Engine(IntegerAt(config, kEngine)));
  if (!Allows(engine)) return Unsupported("This engine computes with other numbers than asked.");
  ATTUNE_ASSIGN_OR_RETURN(const KnobValues knobs, ParseKnobs(StringAt(config, kKnobs)));
  return PlanOf(engine, knobs);
}

Result<CudnnKeptPlan> CudnnGraph::PlanWith(std::string_view json, const Config& config) const {
  if (!json.empty()) {
    auto read = PlanFromJson(descriptors_->cudnn(), descriptors_->handle(), json);
    if (read.ok()) return CudnnKeptPlan{std::move(*read), true, {}};
  }
  ATTUNE_ASSIGN_OR_RETURN(CudnnPlan made, config.empty() ? FirstPlan() : PlanOf(config));
  // Other plans are made in some 0.1 ms, which reading a file does not beat.
  std::string to_keep = made.is_compiled ? JsonOf(made) : std::string();
  return CudnnKeptPlan{std::move(made), false, std::move(to_keep)};
}

Result<CudnnPlan> CudnnGraph::FirstPlan() const {
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<Config> configs, Recommendations());
  std::string refusal;
  for (const Config& config : configs) {
    Result<CudnnPlan> plan = PlanOf(config);
    if (plan.ok()) return plan;
    if (refusal.empty()) refusal = " " + plan.error().message();
  }
  return Unsupported(
      fmt::format("cuDNN recommends no engine for this problem that can be made here.{} Tune the "
                  "problem: solvers that are not cuDNN's compute it, and its other engines are "
                  "tried too.",
                  refusal));
}

std::vector<CudnnEngineChoice> CudnnGraph::QuickRecommendations() const {
  std::vector<CudnnEngineChoice> choices;
  const Result<std::vector<Config>> configs = Recommendations();
  if (!configs.ok()) return choices;
  for (const Config& config : *configs) {
    const Result<KnobValues> knobs = ParseKnobs(StringAt(config, kKnobs));
    if (!knobs.ok()) continue;
    const CudnnEngineChoice choice{IntegerAt(config, kEngine), *knobs};
    if (QuickEngine(choice).ok()) choices.push_back(choice);
  }
  return choices;
}

Result<CudnnDescriptor> CudnnGraph::QuickEngine(const CudnnEngineChoice& choice) const {
  ATTUNE_ASSIGN_OR_RETURN(CudnnDescriptor engine, Engine(choice.index));
  if (Allows(engine) && !CompilesAtRunTime(engine)) return engine;
  return Unsupported("This engine compiles, or computes with other numbers than asked.");
}

Result<CudnnQuickPlan> CudnnGraph::QuickPlan(std::span<const CudnnEngineChoice> choices) const {
  const Cudnn& cudnn = descriptors_->cudnn();
  for (const CudnnEngineChoice& choice : choices) {
    const Result<CudnnDescriptor> engine = QuickEngine(choice);
    if (!engine.ok()) continue;
    const Result<CudnnDescriptor> engine_config = WithKnobs(cudnn, *engine, choice.knobs);
    if (!engine_config.ok()) continue;
    Result<CudnnPlan> plan = MakePlan(cudnn, descriptors_->handle(), *engine_config);
    if (plan.ok() && plan->workspace_bytes <= kMostQuickBytes) {
      return CudnnQuickPlan{*std::move(plan), choice};
    }
  }
  return Unsupported(
      "No engine of cuDNN is known to be made quickly for this problem; another solver computes "
      "it.");
}

const Cudnn& CudnnGraph::library() const { return descriptors_->cudnn(); }

Status CudnnGraph::Run(const CudnnPlan& plan, const CudnnCall& call) const {
  const void* const addresses[] = {call.first, call.second, call.output};
  return Run(plan, addresses, call.workspace, call.stream);
}

Status CudnnGraph::Run(const CudnnPlan& plan, std::span<const void* const> addresses,
                       void* workspace, CUstream stream) const {
  const Cudnn& cudnn = descriptors_->cudnn();
  const std::vector<int64_t>& ids = descriptors_->parts.ids();
  assert(addresses.size() == ids.size());
  ATTUNE_ASSIGN_OR_RETURN(CudnnDescriptor pack,
                          CudnnDescriptor::Create(cudnn, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR));
  ATTUNE_RETURN_IF_ERROR(pack.SetInt64s(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids));
  ATTUNE_RETURN_IF_ERROR(pack.SetRaw(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
                                     std::ssize(addresses), addresses.data()));
  ATTUNE_RETURN_IF_ERROR(
      pack.SetOne(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace));
  ATTUNE_RETURN_IF_ERROR(pack.Finalize());
  return cudnn.EnqueueOn(stream, descriptors_->handle(), [&] {
    return cudnn.Check(
        cudnn.cudnnBackendExecute(descriptors_->handle(), plan.plan.get(), pack.get()),
        "cannot run a plan");
  });
}

}  // namespace attune::cuda
