#include "apps/attune/counted_call.h"

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "attune/base/diverted_errors.h"
#include "attune/base/element.h"
#include "attune/compile/builder.h"
#include "attune/compile/default_kernel_cache.h"
#include "attune/device/call_counter.h"

namespace attune {
namespace {

constexpr uint64_t kSeed = 1;
constexpr size_t kLeastBytes = 64;

// Memory of a call, kept as long as it runs.
class CallMemory {
 public:
  explicit CallMemory(Device& device) : device_(device) {}

  Result<BufferView> Allocate(size_t size_bytes) {
    ATTUNE_ASSIGN_OR_RETURN(auto buffer, device_.Allocate(std::max(size_bytes, kLeastBytes)));
    buffers_.push_back(std::move(buffer));
    return buffers_.back()->View(0);
  }

  // With random numbers.
  Result<BufferView> Fill(const TensorDesc& tensor) {
    ATTUNE_ASSIGN_OR_RETURN(const BufferView view, Allocate(SpanBytes(tensor)));
    std::vector<std::byte> content(SpanBytes(tensor));
    GenerateElements(tensor.type, kSeed, 0, SpanElements(tensor), content.data());
    ATTUNE_RETURN_IF_ERROR(device_.Upload(content, view));
    return view;
  }

 private:
  Device& device_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
};

Result<std::unique_ptr<Executable>> LoadOn(Device& device, const BuildRequest& request) {
  const OpenedKernelCache cache = OpenDefaultKernelCache();
  const DivertedErrors errors(-1);  // PoCL's clang prints its warning count.
  Builder builder(*cache.cache);
  const BuildOutcome built = builder.Build(request, device.target());
  if (built.failure() != nullptr) {
    return Unavailable(fmt::format("It was not built to be counted: {}", built.failure()->message));
  }
  ATTUNE_ASSIGN_OR_RETURN(LoadedCandidate loaded, builder.Load(request, *built.artifact(), device));
  return std::move(loaded.executable);
}

}  // namespace

Result<std::vector<std::vector<double>>> CountCall(const Place& place, const Problem& problem,
                                                   const Candidate& candidate,
                                                   const std::vector<std::string>& counters) {
  const Solver* const solver = FindSolver(place.backend->solvers(), candidate.solver);
  if (solver == nullptr) {
    return NotFound(fmt::format("There is no solver '{}' here.", Text(candidate.solver)));
  }
  ATTUNE_ASSIGN_OR_RETURN(const auto device, place.backend->Open(place.device_spec));
  auto* const counter = dynamic_cast<CallCounter*>(device.get());
  if (counter == nullptr) {
    return Unsupported(
        fmt::format("Nothing here counts on devices such as '{}'.", place.device_spec));
  }
  ATTUNE_ASSIGN_OR_RETURN(const auto executable,
                          LoadOn(*device, {solver, problem, candidate.config}));
  CallMemory memory(*device);
  std::vector<BufferView> operands;
  for (const Operand& operand : Operands(problem)) {
    ATTUNE_ASSIGN_OR_RETURN(const BufferView view, memory.Fill(operand.tensor));
    operands.push_back(view);
  }
  Arguments arguments;
  arguments.operands = operands;
  ATTUNE_ASSIGN_OR_RETURN(arguments.workspace, memory.Allocate(executable->workspace_bytes()));
  ATTUNE_RETURN_IF_ERROR(executable->Run(arguments));
  ATTUNE_RETURN_IF_ERROR(device->Synchronize());
  return counter->Count(*executable, arguments, counters);
}

}  // namespace attune
