#include "backends/onednn/primitive_sequence.h"

#include <new>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "attune/base/guest_thread.h"
#include "attune/base/signals_blocked.h"
#include "backends/onednn/onednn_adapter.h"

namespace attune::onednn {
namespace {

constexpr size_t kPieceAlignmentBytes = 64;

char* Address(const BufferView& view) {
  return static_cast<char*>(view.handle) + view.offset_bytes;
}

}  // namespace

Status StatusFrom(const dnnl::error& error, const std::string& doing) {
  std::string message = fmt::format("oneDNN failed with status {} while {}: {}.",
                                    static_cast<int>(error.status), doing, error.what());
  switch (error.status) {
    case dnnl_out_of_memory:
      return ResourceExhausted(std::move(message));
    case dnnl_unimplemented:
      return Unsupported(std::move(message));
    case dnnl_invalid_arguments:
      return InvalidArgument(std::move(message));
    default:
      return Internal(std::move(message));
  }
}

PrimitiveSequence::PrimitiveSequence(dnnl::engine engine, int threads)
    : engine_(std::move(engine)), stream_(engine_), threads_(threads) {}

dnnl::memory PrimitiveSequence::BindOperand(size_t index, const dnnl::memory::desc& desc) {
  operands_.push_back({index, dnnl::memory(desc, engine_, DNNL_MEMORY_NONE)});
  return operands_.back().memory;
}

dnnl::memory PrimitiveSequence::BindWorkspace(const dnnl::memory::desc& desc) {
  pieces_.push_back({workspace_bytes_, dnnl::memory(desc, engine_, DNNL_MEMORY_NONE)});
  const size_t size_bytes = desc.get_size();
  workspace_bytes_ +=
      (size_bytes + kPieceAlignmentBytes - 1) / kPieceAlignmentBytes * kPieceAlignmentBytes;
  return pieces_.back().memory;
}

bool PrimitiveSequence::TryAppendReorder(const dnnl::memory& from, const dnnl::memory& to) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const dnnl::reorder::primitive_desc pd(engine_, from.get_desc(), engine_, to.get_desc(),
                                         attributes, true);
  if (!pd) return false;
  Append(dnnl::reorder(pd), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}, pd.scratchpad_desc());
  return true;
}

// The formats of the Winograd weights are reached from the dense format only.
void PrimitiveSequence::AppendReorder(const dnnl::memory& from, const dnnl::memory& to) {
  if (TryAppendReorder(from, to)) return;
  const dnnl::memory dense = BindWorkspace(InDenseFormat(from.get_desc()));
  if (TryAppendReorder(from, dense) && TryAppendReorder(dense, to)) return;
  throw dnnl::error(dnnl_unimplemented, "there is no reorder between these formats");
}

dnnl::memory PrimitiveSequence::Input(size_t index, const dnnl::memory::desc& stored,
                                      const dnnl::memory::desc& wanted) {
  return InLayout(BindOperand(index, stored), wanted);
}

dnnl::memory PrimitiveSequence::InLayout(const dnnl::memory& from,
                                         const dnnl::memory::desc& wanted) {
  if (from.get_desc() == wanted) return from;
  const dnnl::memory copy = BindWorkspace(wanted);
  AppendReorder(from, copy);
  return copy;
}

void PrimitiveSequence::Output(size_t index, const dnnl::memory::desc& stored,
                               const dnnl::memory& produced) {
  AppendReorder(produced, BindOperand(index, stored));
}

void PrimitiveSequence::Append(dnnl::primitive primitive, PrimitiveArguments arguments) {
  steps_.push_back({std::move(primitive), std::move(arguments), nullptr});
}

void PrimitiveSequence::Append(Computation computation) {
  steps_.push_back({dnnl::primitive(), {}, std::move(computation)});
}

void PrimitiveSequence::Append(dnnl::primitive primitive, PrimitiveArguments arguments,
                               const dnnl::memory::desc& scratchpad) {
  if (scratchpad.get_size() > 0) {
    arguments.insert({DNNL_ARG_SCRATCHPAD, BindWorkspace(scratchpad)});
  }
  Append(std::move(primitive), std::move(arguments));
}

// The workspace is placed only when it moved: oneDNN 2 clears the padding of a blocked tensor
// whenever its address is set, which a launch must not pay for.
void PrimitiveSequence::Place(const Arguments& arguments) {
  for (const Operand& operand : operands_) {
    operand.memory.set_data_handle(Address(arguments.operands[operand.index]));
  }
  char* const workspace = workspace_bytes_ > 0 ? Address(arguments.workspace) : nullptr;
  if (workspace == placed_workspace_) return;
  for (const Piece& piece : pieces_) {
    piece.memory.set_data_handle(workspace + piece.offset_bytes);
  }
  placed_workspace_ = workspace;
}

void PrimitiveSequence::RunStep(const Step& step, const Arguments& arguments) {
  if (!step.computation) return step.primitive.execute(stream_, step.arguments);
  stream_.wait();
  step.computation(arguments);
}

Status PrimitiveSequence::Run(const Arguments& arguments) {
  std::optional<SignalsBlocked> signals;
  if (StartsTeam(threads_)) signals.emplace();
  if (!HasTeam(threads_)) {
    return ResourceExhausted(fmt::format(
        "cannot run oneDNN: the limits of this process leave too few threads for {}", threads_));
  }
  if (!GivesFullTeam(OpenMp(), threads_)) {
    return ResourceExhausted(
        fmt::format("cannot run oneDNN: OpenMP gives fewer than {} threads here", threads_));
  }
  const ThreadCountScope scope(threads_);
  try {
    Place(arguments);
    for (const Step& step : steps_) RunStep(step, arguments);
    stream_.wait();
  } catch (const dnnl::error& error) {
    return StatusFrom(error, "running a primitive");
  } catch (const std::bad_alloc&) {
    return ResourceExhausted("No memory was left while a oneDNN primitive ran.");
  }
  return Status::Ok();
}

}  // namespace attune::onednn
