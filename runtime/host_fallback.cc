#include "runtime/host_fallback.h"

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace attune {
namespace {

// The memory of one launch lives as long as the launch: the plan stays in its slot when a better
// one has taken its place.
class CopyingExecutable final : public Executable {
 public:
  CopyingExecutable(const Problem& problem, Device& device, Device& processor,
                    std::unique_ptr<Executable> executable)
      : device_(device), processor_(processor), executable_(std::move(executable)) {
    for (const Operand& operand : Operands(problem)) {
      spans_.push_back(SpanBytes(operand.tensor));
      is_written_.push_back(operand.role != OperandRole::kIn);
    }
  }

  // Of the device, nothing.
  size_t workspace_bytes() const override { return 0; }

  Status Run(const Arguments& arguments) override {
    std::vector<std::unique_ptr<Buffer>> copies;
    std::vector<BufferView> views;
    for (size_t i = 0; i < spans_.size(); ++i) {
      ATTUNE_ASSIGN_OR_RETURN(auto copy, processor_.Allocate(spans_[i]));
      views.push_back(copy->View(0));
      // Outputs, too: they may be inputs, and gaps between their elements keep their content.
      ATTUNE_RETURN_IF_ERROR(device_.Download(arguments.operands[i], BytesOf(*copy, spans_[i])));
      copies.push_back(std::move(copy));
    }
    ATTUNE_ASSIGN_OR_RETURN(const auto workspace,
                            processor_.Allocate(executable_->workspace_bytes()));
    Arguments here = arguments;
    here.operands = views;
    here.workspace = workspace->View(0);
    ATTUNE_RETURN_IF_ERROR(executable_->Run(here));
    ATTUNE_RETURN_IF_ERROR(processor_.Synchronize());
    for (size_t i = 0; i < spans_.size(); ++i) {
      if (!is_written_[i]) continue;
      ATTUNE_RETURN_IF_ERROR(device_.Upload(BytesOf(*copies[i], spans_[i]), arguments.operands[i]));
    }
    return Status::Ok();
  }

 private:
  static std::span<std::byte> BytesOf(const Buffer& buffer, size_t size_bytes) {
    return {static_cast<std::byte*>(buffer.handle()), size_bytes};
  }

  Device& device_;
  Device& processor_;
  const std::unique_ptr<Executable> executable_;
  std::vector<size_t> spans_;
  std::vector<bool> is_written_;
};

}  // namespace

HostFallback::HostFallback(const Backend& host, Device& device, bool ieee_special_values)
    : host_(host),
      device_(device),
      ieee_special_values_(ieee_special_values),
      processor_(host.Open("cpu")),
      because_(fmt::format("Nothing that computes it on {} is compiled yet: the processor does, on "
                           "copies of the operands.",
                           Text(device.target()))) {}

std::optional<Candidate> HostFallback::For(const Problem& problem) const {
  if (!processor_.ok()) return std::nullopt;
  const Target& target = (*processor_)->target();
  for (const auto& solver : host_.solvers()) {
    const SolverTraits& traits = solver->traits();
    // The refusals of others are sentences, which a caller would wait for.
    if (!traits.instant || traits.operator_name != OperatorName(problem)) continue;
    const bool is_unwanted = ieee_special_values_ && problem.op().PromisesSpecialValues() &&
                             !solver->KeepsSpecialValues(problem);
    if (is_unwanted || !solver->IsApplicable(problem, target).ok()) continue;
    auto config = solver->DefaultConfig(problem, target);
    if (config.ok()) return Candidate{solver->id(), *std::move(config)};
  }
  return std::nullopt;
}

Result<std::unique_ptr<Executable>> HostFallback::Load(const Problem& problem,
                                                       const Candidate& candidate) {
  const Solver* solver = FindSolver(host_.solvers(), candidate.solver);
  if (solver == nullptr || !processor_.ok()) {
    return Unavailable(fmt::format("The processor does not have {}.", Text(candidate)));
  }
  ATTUNE_ASSIGN_OR_RETURN(auto executable,
                          solver->Load(Artifact{}, problem, candidate.config, **processor_));
  return std::unique_ptr<Executable>(
      std::make_unique<CopyingExecutable>(problem, device_, **processor_, std::move(executable)));
}

}  // namespace attune
