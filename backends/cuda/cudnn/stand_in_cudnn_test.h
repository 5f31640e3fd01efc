// A cuDNN for tests without a GPU: it records the attributes of descriptors, and the test supplies
// its engines.
#pragma once

#include <cudnn.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backends/cuda/cudnn/cudnn.h"
#include "backends/cuda/cudnn/cudnn_knobs.h"

namespace attune::cuda {

struct StandInEngine {
  int64_t index = 0;
  bool compiles = false;  // Reports run-time compilation.
  std::vector<cudnnBackendNumericalNote_t> notes = {};
  std::vector<KnobRange> knobs = {};
  bool makes_plans = true;
  int64_t workspace_bytes = 0;
};

// One at a time in a thread. Not moved: the functions find it by its address.
class StandInCudnn {
 public:
  explicit StandInCudnn(std::string version) : cudnn_(ReportOf(std::move(version))) {
    current_ = this;
    cudnn_.cudnnGetErrorString = [](cudnnStatus_t) { return "refused"; };
    cudnn_.cudnnBackendCreateDescriptor = [](cudnnBackendDescriptorType_t type,
                                             cudnnBackendDescriptor_t* made) {
      ++current_->descriptors_made;
      *made = new Descriptor{type, {}, nullptr, {}};
      return CUDNN_STATUS_SUCCESS;
    };
    cudnn_.cudnnBackendDestroyDescriptor = [](cudnnBackendDescriptor_t gone) {
      delete static_cast<Descriptor*>(gone);
      return CUDNN_STATUS_SUCCESS;
    };
    cudnn_.cudnnBackendSetAttribute =
        [](cudnnBackendDescriptor_t to, cudnnBackendAttributeName_t name,
           cudnnBackendAttributeType_t type, int64_t count, const void* values) {
          const auto* bytes = static_cast<const char*>(values);
          static_cast<Descriptor*>(to)->given[name].assign(bytes, bytes + count * SizeOf(type));
          if (name == CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT) {
            current_->alignments_bytes.push_back(*static_cast<const int64_t*>(values));
          }
          if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR && count == 1) {
            current_->NoteTensor(name, **static_cast<Descriptor* const*>(values));
          }
          return CUDNN_STATUS_SUCCESS;
        };
    cudnn_.cudnnSetStream = [](cudnnHandle_t, cudaStream_t) { return CUDNN_STATUS_SUCCESS; };
    cudnn_.cudnnBackendExecute = [](cudnnHandle_t, cudnnBackendDescriptor_t,
                                    cudnnBackendDescriptor_t pack) {
      current_->NoteAddresses(*static_cast<Descriptor*>(pack));
      return CUDNN_STATUS_SUCCESS;
    };
    cudnn_.cudnnBackendFinalize = [](cudnnBackendDescriptor_t made) {
      return current_->Finalize(*static_cast<Descriptor*>(made));
    };
    cudnn_.cudnnBackendGetAttribute =
        [](cudnnBackendDescriptor_t from, cudnnBackendAttributeName_t name,
           cudnnBackendAttributeType_t type, int64_t room, int64_t* count, void* values) {
          return current_->Tell(*static_cast<Descriptor*>(from), {name, type, room, count, values});
        };
  }
  ~StandInCudnn() { current_ = nullptr; }
  StandInCudnn(const StandInCudnn&) = delete;
  StandInCudnn& operator=(const StandInCudnn&) = delete;

  const Cudnn& cudnn() const { return cudnn_; }

  std::vector<StandInEngine> engines;
  // Engines as they come, of every mode.
  std::map<cudnnBackendHeurMode_t, std::vector<int64_t>> recommended;
  bool takes_json = true;
  std::vector<int64_t> alignments_bytes;  // One per tensor that was described.

  // Descriptors of these types are refused.
  std::set<cudnnBackendDescriptorType_t> refused;

  // Parts of graphs, in the order of their descriptions.
  std::vector<cudnnBackendDescriptorType_t> operations;
  std::vector<cudnnPointwiseMode_t> pointwise_modes;
  std::map<cudnnBackendAttributeName_t, int64_t> tensor_ids;  // Keyed by attribute of an operation.
  std::set<int64_t> virtual_ids;
  std::set<int64_t> value_ids;

  // Arguments of the last launch.
  std::map<int64_t, const void*> addresses;
  std::map<int64_t, float> numbers;

  int descriptors_made = 0;
  std::vector<int64_t> engines_made;  // One per plan that was requested.
  int plans_read = 0;

 private:
  struct Descriptor {
    cudnnBackendDescriptorType_t type;
    std::map<cudnnBackendAttributeName_t, std::string> given;
    const StandInEngine* engine;  // For engines, their configs and plans.
    KnobRange knob;               // For descriptors of knobs.
  };
  struct Question {
    cudnnBackendAttributeName_t name;
    cudnnBackendAttributeType_t type;
    int64_t room;
    int64_t* count;
    void* values;
  };

  static LibraryReport ReportOf(std::string version) {
    LibraryReport report;
    report.name = "cudnn";
    report.available = true;
    report.version = std::move(version);
    report.build_id = "stand-in";
    return report;
  }

  static int64_t SizeOf(cudnnBackendAttributeType_t type) {
    if (type == CUDNN_TYPE_CHAR || type == CUDNN_TYPE_BOOLEAN) return 1;
    const bool is_wide = type == CUDNN_TYPE_HANDLE || type == CUDNN_TYPE_VOID_PTR ||
                         type == CUDNN_TYPE_BACKEND_DESCRIPTOR || type == CUDNN_TYPE_INT64 ||
                         type == CUDNN_TYPE_DOUBLE;
    return is_wide ? 8 : 4;
  }

  template <class T>
  static T Given(const Descriptor& descriptor, cudnnBackendAttributeName_t name) {
    T value = {};
    if (const auto place = descriptor.given.find(name); place != descriptor.given.end()) {
      std::memcpy(&value, place->second.data(), std::min(sizeof(T), place->second.size()));
    }
    return value;
  }

  template <class T>
  static cudnnStatus_t Answer(const Question& question, const std::vector<T>& values) {
    *question.count = static_cast<int64_t>(values.size());
    const auto written = static_cast<size_t>(std::min(question.room, *question.count));
    if (written > 0) std::memcpy(question.values, values.data(), written * sizeof(T));
    return CUDNN_STATUS_SUCCESS;
  }

  // Lets `fill` write each of the descriptors that the caller made, with its number.
  template <class Fill>
  static cudnnStatus_t AnswerDescriptors(const Question& question, size_t there, const Fill& fill) {
    *question.count = static_cast<int64_t>(there);
    for (int64_t i = 0; i < std::min(question.room, *question.count); ++i) {
      fill(*static_cast<Descriptor*>(static_cast<cudnnBackendDescriptor_t*>(question.values)[i]),
           static_cast<size_t>(i));
    }
    return CUDNN_STATUS_SUCCESS;
  }

  const StandInEngine* Find(int64_t index) const {
    const auto place = std::find_if(engines.begin(), engines.end(),
                                    [&](const StandInEngine& each) { return each.index == index; });
    return place == engines.end() ? nullptr : &*place;
  }

  static std::string JsonOf(const StandInEngine& engine) {
    return "{\"engine\":" + std::to_string(engine.index) + "}";
  }

  void NoteTensor(cudnnBackendAttributeName_t name, const Descriptor& referred) {
    if (referred.type != CUDNN_BACKEND_TENSOR_DESCRIPTOR) return;
    tensor_ids[name] = Given<int64_t>(referred, CUDNN_ATTR_TENSOR_UNIQUE_ID);
  }

  void NoteAddresses(const Descriptor& pack) {
    const std::string& ids = pack.given.at(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
    const std::string& pointers = pack.given.at(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
    addresses.clear();
    for (size_t at = 0; at < ids.size(); at += sizeof(int64_t)) {
      int64_t id = 0;
      const void* address = nullptr;
      std::memcpy(&id, ids.data() + at, sizeof(id));
      std::memcpy(&address, pointers.data() + at, sizeof(address));
      addresses[id] = address;
      if (value_ids.contains(id)) numbers[id] = *static_cast<const float*>(address);
    }
  }

  cudnnStatus_t Finalize(Descriptor& made) {
    if (refused.contains(made.type)) return CUDNN_STATUS_NOT_SUPPORTED;
    switch (made.type) {
      case CUDNN_BACKEND_TENSOR_DESCRIPTOR: {
        const auto id = Given<int64_t>(made, CUDNN_ATTR_TENSOR_UNIQUE_ID);
        if (Given<bool>(made, CUDNN_ATTR_TENSOR_IS_VIRTUAL)) virtual_ids.insert(id);
        if (Given<bool>(made, CUDNN_ATTR_TENSOR_IS_BY_VALUE)) value_ids.insert(id);
        return CUDNN_STATUS_SUCCESS;
      }
      case CUDNN_BACKEND_POINTWISE_DESCRIPTOR:
        pointwise_modes.push_back(Given<cudnnPointwiseMode_t>(made, CUDNN_ATTR_POINTWISE_MODE));
        return CUDNN_STATUS_SUCCESS;
      case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
      case CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR:
      case CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR:
        operations.push_back(made.type);
        return CUDNN_STATUS_SUCCESS;
      case CUDNN_BACKEND_ENGINE_DESCRIPTOR:
        made.engine = Find(Given<int64_t>(made, CUDNN_ATTR_ENGINE_GLOBAL_INDEX));
        return made.engine == nullptr ? CUDNN_STATUS_NOT_SUPPORTED : CUDNN_STATUS_SUCCESS;
      case CUDNN_BACKEND_ENGINECFG_DESCRIPTOR:
        made.engine = Given<Descriptor*>(made, CUDNN_ATTR_ENGINECFG_ENGINE)->engine;
        return CUDNN_STATUS_SUCCESS;
      case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
        return FinalizePlan(made);
      default:
        return CUDNN_STATUS_SUCCESS;
    }
  }

  cudnnStatus_t FinalizePlan(Descriptor& made) {
    const auto text = made.given.find(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION);
    if (text != made.given.end()) {
      const auto place =
          std::find_if(engines.begin(), engines.end(),
                       [&](const StandInEngine& each) { return JsonOf(each) == text->second; });
      if (!takes_json || place == engines.end()) return CUDNN_STATUS_NOT_SUPPORTED;
      made.engine = &*place;
      ++plans_read;
      return CUDNN_STATUS_SUCCESS;
    }
    made.engine = Given<Descriptor*>(made, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG)->engine;
    engines_made.push_back(made.engine->index);
    return made.engine->makes_plans ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED;
  }

  cudnnStatus_t Tell(const Descriptor& from, const Question& question) const {
    using Numbers = std::vector<int64_t>;
    switch (question.name) {
      case CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT: {
        int64_t count = 0;
        for (const StandInEngine& engine : engines) count = std::max(count, engine.index + 1);
        return Answer(question, Numbers{count});
      }
      case CUDNN_ATTR_ENGINEHEUR_RESULTS:
        return TellRecommended(from, question);
      case CUDNN_ATTR_ENGINECFG_ENGINE:
        return AnswerDescriptors(question, 1,
                                 [&](Descriptor& to, size_t) { to.engine = from.engine; });
      case CUDNN_ATTR_ENGINE_GLOBAL_INDEX:
        return Answer(question, Numbers{from.engine->index});
      case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE:
        return Answer(question, from.engine->notes);
      case CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE: {
        std::vector<cudnnBackendBehaviorNote_t> notes;
        if (from.engine->compiles) notes.push_back(CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION);
        return Answer(question, notes);
      }
      case CUDNN_ATTR_ENGINE_KNOB_INFO:
        return AnswerDescriptors(
            question, from.engine->knobs.size(),
            [&](Descriptor& to, size_t i) { to.knob = from.engine->knobs[i]; });
      case CUDNN_ATTR_KNOB_INFO_TYPE:
        return Answer(question, std::vector{static_cast<cudnnBackendKnobType_t>(from.knob.type)});
      case CUDNN_ATTR_KNOB_INFO_MINIMUM_VALUE:
        return Answer(question, Numbers{from.knob.least});
      case CUDNN_ATTR_KNOB_INFO_MAXIMUM_VALUE:
        return Answer(question, Numbers{from.knob.most});
      case CUDNN_ATTR_KNOB_INFO_STRIDE:
        return Answer(question, Numbers{from.knob.stride});
      case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
        return Answer(question, Numbers{from.engine->workspace_bytes});
      case CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION: {
        // Like the library: only compiled plans have a text.
        if (!from.engine->compiles) return CUDNN_STATUS_NOT_SUPPORTED;
        const std::string text = JsonOf(*from.engine);
        return Answer(question, std::vector<char>(text.begin(), text.end()));
      }
      default:
        *question.count = 0;
        return CUDNN_STATUS_SUCCESS;
    }
  }

  cudnnStatus_t TellRecommended(const Descriptor& from, const Question& question) const {
    const auto mode = Given<cudnnBackendHeurMode_t>(from, CUDNN_ATTR_ENGINEHEUR_MODE);
    const auto place = recommended.find(mode);
    const std::vector<int64_t> indices =
        place == recommended.end() ? std::vector<int64_t>() : place->second;
    return AnswerDescriptors(question, indices.size(),
                             [&](Descriptor& to, size_t i) { to.engine = Find(indices[i]); });
  }

  static inline thread_local StandInCudnn* current_ = nullptr;
  Cudnn cudnn_;
};

}  // namespace attune::cuda
