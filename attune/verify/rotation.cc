#include "attune/verify/rotation.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include <fmt/format.h>

namespace attune {
namespace {

size_t RoundedUp(size_t bytes, size_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

}  // namespace

Result<RotationPlan> PlanRotation(std::span<const Operand> operands, int64_t budget_bytes,
                                  size_t alignment_bytes, size_t limit_bytes) {
  assert(alignment_bytes > 0);
  RotationPlan plan;
  for (const Operand& operand : operands) {
    plan.operand_offsets.push_back(plan.copy_bytes);
    plan.copy_bytes += RoundedUp(SpanBytes(operand.tensor), alignment_bytes);
  }
  if (plan.copy_bytes > limit_bytes) {
    return ResourceExhausted(fmt::format("One copy of the operands has {} bytes; the limit is {}.",
                                         plan.copy_bytes, limit_bytes));
  }
  if (plan.copy_bytes > 0 && budget_bytes > 0) {
    const size_t wanted = static_cast<size_t>(budget_bytes) / plan.copy_bytes + 1;
    plan.copies = std::min({wanted, kMaxRotationCopies, limit_bytes / plan.copy_bytes});
  }
  plan.total_bytes = plan.copies * plan.copy_bytes;
  return plan;
}

void FillRotation(const RotationPlan& plan, std::span<const std::span<const std::byte>> sources,
                  std::span<std::byte> block) {
  assert(sources.size() == plan.operand_offsets.size() && block.size() >= plan.total_bytes);
  for (size_t copy = 0; copy < plan.copies; ++copy) {
    for (size_t i = 0; i < sources.size(); ++i) {
      if (sources[i].empty()) continue;
      std::memcpy(block.data() + copy * plan.copy_bytes + plan.operand_offsets[i],
                  sources[i].data(), sources[i].size());
    }
  }
}

}  // namespace attune
