#include "attune/verify/reference_on_device.h"

#include <memory>
#include <span>
#include <vector>

namespace attune {

Status ComputeReferenceOn(Device& device, Executable& executable, const Problem& problem,
                          ReferenceDraft& draft) {
  const std::vector<Operand> operands = Operands(problem);
  std::vector<std::unique_ptr<Buffer>> buffers;
  std::vector<BufferView> views;
  const auto place = [&](size_t size_bytes) -> Status {
    ATTUNE_ASSIGN_OR_RETURN(auto buffer, device.Allocate(size_bytes));
    views.push_back(buffer->View(0));
    buffers.push_back(std::move(buffer));
    return Status::Ok();
  };
  for (size_t i = 0; i < operands.size(); ++i) {
    const std::span<const std::byte> input = draft.data().input(i);
    if (input.empty()) {
      views.emplace_back();
      continue;
    }
    ATTUNE_RETURN_IF_ERROR(place(input.size()));
    ATTUNE_RETURN_IF_ERROR(device.Upload(input, views.back()));
  }
  const std::span<std::byte> reference = std::as_writable_bytes(draft.reference());
  ATTUNE_RETURN_IF_ERROR(place(reference.size()));
  // What is downloaded is all of it.
  const TensorDesc& output = operands.back().tensor;
  if (SpanElements(output) != ElementCount(output)) {
    ATTUNE_RETURN_IF_ERROR(device.Upload(reference, views.back()));
  }
  Arguments arguments;
  arguments.operands = views;
  arguments.alpha = draft.data().alpha();
  arguments.beta = draft.data().beta();
  std::unique_ptr<Buffer> workspace;
  if (executable.workspace_bytes() > 0) {
    ATTUNE_ASSIGN_OR_RETURN(workspace, device.Allocate(executable.workspace_bytes()));
    arguments.workspace = workspace->View(0);
  }
  ATTUNE_RETURN_IF_ERROR(executable.Run(arguments));
  ATTUNE_RETURN_IF_ERROR(device.Synchronize());
  return device.Download(views[operands.size()], reference);
}

}  // namespace attune
