#include "attune/verify/rotating_operands.h"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>

namespace attune {
namespace {

// The memory layout of one copy.
Result<std::vector<std::byte>> CopyOf(Device& device, const std::vector<Operand>& described,
                                      std::span<const BufferView> views, RotationPlan plan) {
  std::vector<std::vector<std::byte>> contents;
  for (size_t i = 0; i < described.size(); ++i) {
    contents.emplace_back(SpanBytes(described[i].tensor));
    ATTUNE_RETURN_IF_ERROR(device.Download(views[i], contents.back()));
  }
  plan.copies = 1;
  plan.total_bytes = plan.copy_bytes;
  std::vector<std::byte> copy(plan.copy_bytes);
  const std::vector<std::span<const std::byte>> sources(contents.begin(), contents.end());
  FillRotation(plan, sources, copy);
  return copy;
}

}  // namespace

Result<RotatingOperands> RotatingOperands::Create(Device& device, const Problem& problem,
                                                  const BoundOperands& operands,
                                                  int64_t budget_bytes, size_t limit_bytes) {
  const std::vector<Operand> described = Operands(problem);
  const size_t alignment_bytes = AlignmentBytes(problem);
  ATTUNE_ASSIGN_OR_RETURN(
      const RotationPlan plan,
      PlanRotation(described, budget_bytes, std::max<size_t>(alignment_bytes, 64), limit_bytes));
  // An operand that starts late by a small alignment ends late, too.
  auto block = device.Allocate(plan.total_bytes + 3 * std::max<size_t>(alignment_bytes, 64));
  if (!block.ok()) {
    return block.error().WithContext(fmt::format(
        "Allocating {} bytes for {} copies of the operands", plan.total_bytes, plan.copies));
  }
  const size_t begin = AlignedStart(**block, 0, alignment_bytes);
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<std::byte> copy,
                          CopyOf(device, described, operands.arguments().operands, plan));
  RotatingOperands rotating(std::move(*block), plan);
  for (size_t i = 0; i < plan.copies; ++i) {
    const size_t start = begin + i * plan.copy_bytes;
    ATTUNE_RETURN_IF_ERROR(device.Upload(copy, rotating.block_->View(start)));
    std::vector<BufferView>& views = rotating.views_.emplace_back();
    for (const size_t offset : plan.operand_offsets) {
      views.push_back(rotating.block_->View(start + offset));
    }
  }
  return rotating;
}

Arguments RotatingOperands::Next(const Arguments& arguments) {
  Arguments next = arguments;
  next.operands = views_[rotation_.Next()];
  return next;
}

}  // namespace attune
