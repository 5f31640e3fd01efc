#include "backends/cuda/conv/cudnn_graph.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "attune/base/fingerprint.h"
#include "attune/ops/conv/conv.h"
#include "attune/problem/problem.h"
#include "backends/cuda/conv/cudnn_words.h"

// Handles of graphs and plans are deprecated in newer versions, and needed in older ones.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace attune::cuda {
namespace {

constexpr const char* kEngine = "engine";
constexpr const char* kKnobs = "knobs";
constexpr int64_t kMostRecommendations = 64;
constexpr int64_t kMostKnobs = 64;

Config ConfigWith(int64_t engine, const KnobValues& knobs) {
  return {{kEngine, engine}, {kKnobs, TextOf(knobs)}};
}

std::vector<int64_t> LastOf(const Spatial& extents, int rank) {
  return {extents.end() - rank, extents.end()};
}

void AddNew(Config config, std::vector<Config>& configs) {
  const bool is_new = std::find(configs.begin(), configs.end(), config) == configs.end();
  if (is_new) configs.push_back(std::move(config));
}

// Names of the tensors in a plan's list of addresses: in the order of Operands(conv).
constexpr int64_t kIds[] = {1, 2, 3};

}  // namespace

bool ServesUntriedOfCudnn(const Config& config) {
  if (!config.contains(kKnobs)) return true;
  const Result<KnobValues> knobs = ParseKnobs(StringAt(config, kKnobs));
  return knobs.ok() && !knobs->contains(CUDNN_KNOB_TYPE_KERNEL_CFG);
}

struct CudnnGraph::Descriptors {
  Descriptors(const Cudnn& library, cudnnHandle_t its_handle, const Conv& problem,
              CudnnEngines allowed)
      : cudnn(library), handle(its_handle), conv(problem), engines(allowed) {}

  Status Create() {
    const std::vector<Operand> operands = Operands(conv);
    for (size_t i = 0; i < operands.size(); ++i) {
      ATTUNE_RETURN_IF_ERROR(AddTensor(operands[i].tensor, kIds[i]));
    }
    ATTUNE_RETURN_IF_ERROR(AddConvolution());
    ATTUNE_RETURN_IF_ERROR(AddOperation());
    ATTUNE_ASSIGN_OR_RETURN(
        CudnnDescriptor made,
        CudnnDescriptor::Create(cudnn, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR));
    ATTUNE_RETURN_IF_ERROR(
        made.SetOne(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle));
    ATTUNE_RETURN_IF_ERROR(made.SetDescriptor(CUDNN_ATTR_OPERATIONGRAPH_OPS, parts.back()));
    ATTUNE_RETURN_IF_ERROR(made.Finalize());
    graph.emplace(std::move(made));
    return Status::Ok();
  }

  const Cudnn& cudnn;
  const cudnnHandle_t handle;
  const Conv conv;
  const CudnnEngines engines;
  std::vector<CudnnDescriptor> parts;  // Three tensors, the convolution, the operation.
  std::optional<CudnnDescriptor> graph;

 private:
  Status AddTensor(const TensorDesc& tensor, int64_t id) {
    ATTUNE_ASSIGN_OR_RETURN(CudnnDescriptor made,
                            CudnnDescriptor::Create(cudnn, CUDNN_BACKEND_TENSOR_DESCRIPTOR));
    const int64_t alignment_bytes = std::min(conv.alignment_bytes, 16);
    ATTUNE_RETURN_IF_ERROR(
        made.SetOne(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, CudnnTypeOf(tensor.type)));
    ATTUNE_RETURN_IF_ERROR(made.SetInt64s(CUDNN_ATTR_TENSOR_DIMENSIONS, tensor.extents));
    ATTUNE_RETURN_IF_ERROR(made.SetInt64s(CUDNN_ATTR_TENSOR_STRIDES, tensor.strides));
    ATTUNE_RETURN_IF_ERROR(made.SetOne(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, id));
    ATTUNE_RETURN_IF_ERROR(
        made.SetOne(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, alignment_bytes));
    ATTUNE_RETURN_IF_ERROR(made.Finalize());
    parts.push_back(std::move(made));
    return Status::Ok();
  }

  Status AddConvolution() {
    ATTUNE_ASSIGN_OR_RETURN(CudnnDescriptor made,
                            CudnnDescriptor::Create(cudnn, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR));
    const int rank = conv.spatial_rank;
    const cudnnDataType_t compute = CudnnSumType(conv.type);
    const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
    const auto set = [&](cudnnBackendAttributeName_t name, const Spatial& values) {
      return made.SetInt64s(name, LastOf(values, rank));
    };
    ATTUNE_RETURN_IF_ERROR(
        made.SetOne(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, compute));
    ATTUNE_RETURN_IF_ERROR(
        made.SetOne(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, mode));
    ATTUNE_RETURN_IF_ERROR(
        made.SetOne(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, int64_t{rank}));
    ATTUNE_RETURN_IF_ERROR(set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, conv.pad));
    ATTUNE_RETURN_IF_ERROR(set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, conv.pad));
    ATTUNE_RETURN_IF_ERROR(set(CUDNN_ATTR_CONVOLUTION_DILATIONS, conv.dilation));
    ATTUNE_RETURN_IF_ERROR(set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, conv.stride));
    ATTUNE_RETURN_IF_ERROR(made.Finalize());
    parts.push_back(std::move(made));
    return Status::Ok();
  }

  // What an operation calls its parts: the three operands, the convolution, alpha and beta.
  struct OperationNames {
    cudnnBackendDescriptorType_t type;
    std::array<cudnnBackendAttributeName_t, 6> attributes;
  };
  OperationNames NamesOfOperation() const {
    switch (conv.direction) {
      case ConvDirection::kForward:
        return {
            CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
            {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
             CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
             CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
             CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
             CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA}};
      case ConvDirection::kBackwardData:
        return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
                {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
                 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA}};
      case ConvDirection::kBackwardWeights:
        break;
    }
    return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
            {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
             CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
             CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
             CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
             CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
             CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA}};
  }

  Status AddOperation() {
    const OperationNames names = NamesOfOperation();
    ATTUNE_ASSIGN_OR_RETURN(CudnnDescriptor made, CudnnDescriptor::Create(cudnn, names.type));
    for (size_t i = 0; i < parts.size(); ++i) {
      ATTUNE_RETURN_IF_ERROR(made.SetDescriptor(names.attributes[i], parts[i]));
    }
    if (conv.type == DataType::kF64) {
      ATTUNE_RETURN_IF_ERROR(made.SetOne(names.attributes[4], CUDNN_TYPE_DOUBLE, 1.0));
      ATTUNE_RETURN_IF_ERROR(made.SetOne(names.attributes[5], CUDNN_TYPE_DOUBLE, 0.0));
    } else {
      ATTUNE_RETURN_IF_ERROR(made.SetOne(names.attributes[4], CUDNN_TYPE_FLOAT, 1.0F));
      ATTUNE_RETURN_IF_ERROR(made.SetOne(names.attributes[5], CUDNN_TYPE_FLOAT, 0.0F));
    }
    ATTUNE_RETURN_IF_ERROR(made.Finalize());
    parts.push_back(std::move(made));
    return Status::Ok();
  }
};

Result<CudnnGraph> CudnnGraph::Create(const Cudnn& cudnn, cudnnHandle_t handle, const Conv& conv,
                                      CudnnEngines engines) {
  auto descriptors = std::make_shared<Descriptors>(cudnn, handle, conv, engines);
  ATTUNE_RETURN_IF_ERROR(descriptors->Create());
  return CudnnGraph(std::move(descriptors));
}

Result<CudnnDescriptor> CudnnGraph::Engine(int64_t index) const {
  ATTUNE_ASSIGN_OR_RETURN(
      CudnnDescriptor engine,
      CudnnDescriptor::Create(descriptors_->cudnn, CUDNN_BACKEND_ENGINE_DESCRIPTOR));
  ATTUNE_RETURN_IF_ERROR(
      engine.SetDescriptor(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, *descriptors_->graph));
  ATTUNE_RETURN_IF_ERROR(engine.SetOne(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, index));
  ATTUNE_RETURN_IF_ERROR(engine.Finalize());
  return engine;
}

bool CudnnGraph::Allows(const CudnnDescriptor& engine) const {
  const Conv& conv = descriptors_->conv;
  const bool is_strict_f32 = conv.type == DataType::kF32 && conv.math == MathMode::kStrict;
  const auto notes = engine.GetAll<cudnnBackendNumericalNote_t>(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                                                CUDNN_TYPE_NUMERICAL_NOTE);
  const bool is_direct = descriptors_->engines == CudnnEngines::kTensorCores;
  bool has_tensor_cores = false;
  for (const cudnnBackendNumericalNote_t note : notes) {
    // On f32 a tensor core is TF32.
    const bool rounds_inputs = note == CUDNN_NUMERICAL_NOTE_TENSOR_CORE ||
                               note == CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS;
    if (is_strict_f32 && rounds_inputs) return false;
    has_tensor_cores |= rounds_inputs;
    const bool transforms =
        note == CUDNN_NUMERICAL_NOTE_FFT || note == CUDNN_NUMERICAL_NOTE_WINOGRAD;
    if (is_direct && transforms) return false;
    if (note == CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION) return false;
    if (conv.deterministic && note == CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC) return false;
  }
  return has_tensor_cores || !is_direct;
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
      CudnnDescriptor::Create(descriptors_->cudnn, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR));
  ATTUNE_RETURN_IF_ERROR(
      heuristic.SetDescriptor(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, *descriptors_->graph));
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
  // It does not compute this convolution, which is what was asked.
  if (!engine.ok() || !Allows(*engine)) return Status::Ok();
  ATTUNE_ASSIGN_OR_RETURN(std::vector<KnobRange> knobs, KnobsOf(*engine));
  if (CompilesAtRunTime(*engine)) {
    // More slices than there are steps make kernels whose blocks wait for others that are not
    // there, for ever: engine 77 of cuDNN 9.14 with 19 slices of 2x24x9x11 by 3x3.
    std::erase_if(knobs,
                  [](const KnobRange& knob) { return knob.type == CUDNN_KNOB_TYPE_SPLIT_K_SLC; });
  }
  for (const KnobValues& chosen : VariantsOf(knobs, seed)) {
    if (!WithKnobs(descriptors_->cudnn, *engine, chosen).ok()) continue;
    configs.push_back(ConfigWith(index, chosen));
  }
  return Status::Ok();
}

Result<std::vector<Config>> CudnnGraph::Enumeration() const {
  ATTUNE_ASSIGN_OR_RETURN(const int64_t count, descriptors_->graph->GetInt64(
                                                   CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT));
  const uint64_t seed = FingerprintOf(Text(Problem(descriptors_->conv))).low;
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
  // A plan that is compiled takes half a second, in which a hundred others are tried.
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
  const Cudnn& cudnn = descriptors_->cudnn;
  ATTUNE_ASSIGN_OR_RETURN(const CudnnDescriptor engine_config, WithKnobs(cudnn, engine, knobs));
  ATTUNE_ASSIGN_OR_RETURN(CudnnPlan plan, MakePlan(cudnn, descriptors_->handle, engine_config));
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
    auto read = PlanFromJson(descriptors_->cudnn, descriptors_->handle, json);
    if (read.ok()) return CudnnKeptPlan{std::move(*read), true, {}};
  }
  ATTUNE_ASSIGN_OR_RETURN(CudnnPlan made, config.empty() ? FirstPlan() : PlanOf(config));
  // Other plans are made in some 0.1 ms, which reading a file does not beat.
  std::string to_keep = made.is_compiled ? JsonOf(made) : std::string();
  return CudnnKeptPlan{std::move(made), false, std::move(to_keep)};
}

Result<CudnnPlan> CudnnGraph::FirstPlan() const {
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<Config> configs, Recommendations());
  for (const Config& config : configs) {
    Result<CudnnPlan> plan = PlanOf(config);
    if (plan.ok()) return plan;
  }
  return Unsupported(
      "cuDNN recommends no engine for this convolution that can be made here. Tune the problem: "
      "solvers that are not cuDNN's compute it, and its other engines are tried too.");
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
  const Cudnn& cudnn = descriptors_->cudnn;
  for (const CudnnEngineChoice& choice : choices) {
    const Result<CudnnDescriptor> engine = QuickEngine(choice);
    if (!engine.ok()) continue;
    const Result<CudnnDescriptor> engine_config = WithKnobs(cudnn, *engine, choice.knobs);
    if (!engine_config.ok()) continue;
    Result<CudnnPlan> plan = MakePlan(cudnn, descriptors_->handle, *engine_config);
    if (plan.ok() && plan->workspace_bytes <= kMostQuickBytes) {
      return CudnnQuickPlan{*std::move(plan), choice};
    }
  }
  return Unsupported(
      "No engine of cuDNN is known to be made quickly for this convolution; another solver "
      "computes it.");
}

const Cudnn& CudnnGraph::library() const { return descriptors_->cudnn; }

Status CudnnGraph::Run(const CudnnPlan& plan, const CudnnCall& call) const {
  const Cudnn& cudnn = descriptors_->cudnn;
  ATTUNE_ASSIGN_OR_RETURN(CudnnDescriptor pack,
                          CudnnDescriptor::Create(cudnn, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR));
  const void* addresses[] = {call.first, call.second, call.output};
  ATTUNE_RETURN_IF_ERROR(
      pack.SetRaw(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 3, kIds));
  ATTUNE_RETURN_IF_ERROR(
      pack.SetRaw(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 3, addresses));
  ATTUNE_RETURN_IF_ERROR(
      pack.SetOne(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, call.workspace));
  ATTUNE_RETURN_IF_ERROR(pack.Finalize());
  return cudnn.EnqueueOn(call.stream, descriptors_->handle, [&] {
    return cudnn.Check(cudnn.cudnnBackendExecute(descriptors_->handle, plan.plan.get(), pack.get()),
                       "cannot run a plan");
  });
}

}  // namespace attune::cuda
