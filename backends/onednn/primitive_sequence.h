// Primitives that run one after the other on the operands of one call: reorders in, the
// computation, reorders out.
#pragma once

#include <functional>
#include <new>
#include <string>
#include <unordered_map>
#include <vector>

#include <oneapi/dnnl/dnnl.hpp>

#include "attune/base/status.h"
#include "attune/device/device.h"
#include "backends/onednn/onednn_adapter.h"

namespace attune::onednn {

// An exception of the library as a Status; `doing` names the action that failed.
Status StatusFrom(const dnnl::error& error, const std::string& doing);

// Calls `body`, which returns a Status or a Result, where exceptions of the library end.
// kResourceExhausted, without a call, if the library may not find the memory that it needs.
template <class Body>
auto AtLibraryEdge(const std::string& doing, const Body& body) -> decltype(body()) {
  ATTUNE_RETURN_IF_ERROR(CheckMemory());
  try {
    return body();
  } catch (const dnnl::error& error) {
    return StatusFrom(error, doing);
  } catch (const std::bad_alloc&) {
    return ResourceExhausted("No memory was left while " + doing + ".");
  }
}

// The values of a tensor of f32 that is bound to a sequence; valid while the sequence runs.
inline float* FloatsOf(const dnnl::memory& memory) {
  return static_cast<float*>(memory.get_data_handle());
}

// An Executable. Intermediate tensors and scratchpads live in the caller's workspace, so that a
// launch allocates nothing. Building it throws dnnl::error; running it does not.
class PrimitiveSequence final : public Executable {
 public:
  using PrimitiveArguments = std::unordered_map<int, dnnl::memory>;

  PrimitiveSequence(dnnl::engine engine, int threads);

  // Operand `index` of the call as `desc`; its address is taken at every launch.
  dnnl::memory BindOperand(size_t index, const dnnl::memory::desc& desc);
  // A part of the workspace of its own.
  dnnl::memory BindWorkspace(const dnnl::memory::desc& desc);

  // Operand `index`, stored as `stored`, in the layout `wanted`: itself, or a copy that a reorder
  // appended here makes at every launch.
  dnnl::memory Input(size_t index, const dnnl::memory::desc& stored,
                     const dnnl::memory::desc& wanted);
  // `from` in the layout `wanted`: itself, or a copy that a reorder appended here makes.
  dnnl::memory InLayout(const dnnl::memory& from, const dnnl::memory::desc& wanted);
  // Appends the reorder from `produced` to operand `index`, stored as `stored`.
  void Output(size_t index, const dnnl::memory::desc& stored, const dnnl::memory& produced);

  void Append(dnnl::primitive primitive, PrimitiveArguments arguments);
  // The same, with a piece of workspace as the scratchpad.
  void Append(dnnl::primitive primitive, PrimitiveArguments arguments,
              const dnnl::memory::desc& scratchpad);
  // Appends a computation of ours on memory that is bound here. It allocates nothing.
  using Computation = std::function<void(const Arguments&)>;
  void Append(Computation computation);

  size_t workspace_bytes() const override { return workspace_bytes_; }
  Status Run(const Arguments& arguments) override;

 private:
  struct Operand {
    size_t index;
    dnnl::memory memory;
  };
  struct Piece {
    size_t offset_bytes;
    dnnl::memory memory;
  };
  struct Step {
    dnnl::primitive primitive;
    PrimitiveArguments arguments;
    Computation computation;  // Empty: the primitive.
  };

  bool TryAppendReorder(const dnnl::memory& from, const dnnl::memory& to);
  void AppendReorder(const dnnl::memory& from, const dnnl::memory& to);
  void Place(const Arguments& arguments);
  void RunStep(const Step& step, const Arguments& arguments);

  dnnl::engine engine_;
  dnnl::stream stream_;
  int threads_;
  std::vector<Operand> operands_;
  std::vector<Piece> pieces_;
  std::vector<Step> steps_;
  size_t workspace_bytes_ = 0;
  void* placed_workspace_ = nullptr;
};

}  // namespace attune::onednn
