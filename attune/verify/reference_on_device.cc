#include "attune/verify/reference_on_device.h"

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "attune/base/element.h"
#include "attune/verify/poison.h"

namespace attune {
namespace {

// Operands of one run, in memory of the device.
class PlacedOperands {
 public:
  explicit PlacedOperands(Device& device) : device_(device) {}

  // Adds a buffer without setting its content.
  Status AddBlank(size_t size_bytes) {
    ATTUNE_ASSIGN_OR_RETURN(auto buffer, device_.Allocate(size_bytes));
    views_.push_back(buffer->View(0));
    buffers_.push_back(std::move(buffer));
    return Status::Ok();
  }
  Status Add(std::span<const std::byte> content) {
    ATTUNE_RETURN_IF_ERROR(AddBlank(content.size()));
    return device_.Upload(content, views_.back());
  }
  // For an absent operand.
  void AddNothing() { views_.emplace_back(); }
  const std::vector<BufferView>& views() const { return views_; }

 private:
  Device& device_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
  std::vector<BufferView> views_;
};

Status RunToEnd(Device& device, Executable& executable, Arguments arguments) {
  std::unique_ptr<Buffer> workspace;
  if (executable.workspace_bytes() > 0) {
    ATTUNE_ASSIGN_OR_RETURN(workspace, device.Allocate(executable.workspace_bytes()));
    arguments.workspace = workspace->View(0);
  }
  ATTUNE_RETURN_IF_ERROR(executable.Run(arguments));
  return device.Synchronize();
}

}  // namespace

Status ComputeReferenceOn(Device& device, Executable& executable, const Problem& problem,
                          ReferenceDraft& draft) {
  const std::vector<Operand> operands = Operands(problem);
  PlacedOperands placed(device);
  for (size_t i = 0; i < operands.size(); ++i) {
    const std::span<const std::byte> input = draft.data().input(i);
    if (input.empty()) {
      placed.AddNothing();
      continue;
    }
    ATTUNE_RETURN_IF_ERROR(placed.Add(input));
  }
  const std::span<std::byte> reference = std::as_writable_bytes(draft.reference());
  ATTUNE_RETURN_IF_ERROR(placed.AddBlank(reference.size()));
  // The download covers all of the reference.
  const TensorDesc& output = operands.back().tensor;
  if (SpanElements(output) != ElementCount(output)) {
    ATTUNE_RETURN_IF_ERROR(device.Upload(reference, placed.views().back()));
  }
  Arguments arguments;
  arguments.operands = placed.views();
  arguments.alpha = draft.data().alpha();
  arguments.beta = draft.data().beta();
  ATTUNE_RETURN_IF_ERROR(RunToEnd(device, executable, arguments));
  return device.Download(placed.views()[operands.size()], reference);
}

Status ComputeOwnReferenceOn(Device& device, Executable& executable, const Problem& problem,
                             ReferenceDraft& draft) {
  const std::vector<Operand> operands = Operands(problem);
  PlacedOperands placed(device);
  for (size_t i = 0; i < operands.size(); ++i) {
    std::vector<std::byte> blank;
    if (operands[i].role == OperandRole::kOut) {
      blank.resize(SpanBytes(operands[i].tensor));
      FillWithPoison(blank);
    }
    ATTUNE_RETURN_IF_ERROR(placed.Add(blank.empty() ? draft.data().input(i) : blank));
  }
  Arguments arguments;
  arguments.operands = placed.views();
  ATTUNE_RETURN_IF_ERROR(RunToEnd(device, executable, arguments));
  size_t begin = 0;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].role == OperandRole::kIn) continue;
    std::vector<std::byte> output(SpanBytes(operands[i].tensor));
    ATTUNE_RETURN_IF_ERROR(device.Download(placed.views()[i], output));
    const size_t count = draft.data().reference(i).size();
    Decode(operands[i].tensor.type, output, draft.reference().subspan(begin, count));
    begin += count;
  }
  return Status::Ok();
}

}  // namespace attune
