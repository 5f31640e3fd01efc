#include "attune/verify/bound_operands.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "attune/problem/own_kernel.h"
#include "attune/verify/output_comparison.h"
#include "attune/verify/poison.h"

namespace attune {
namespace {

// Transfers use blocks, so that checking a large operand does not need its size again.
constexpr size_t kBlockBytes = size_t{4} << 20;
constexpr size_t kWorkspaceAlignment = 64;
constexpr size_t kOwnKernelAlignment = 256;
// For every buffer, see Device::Allocate.
constexpr size_t kBufferAlignment = 64;

size_t RoundUp(size_t value, size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

Failure OutOfBounds(std::string message) {
  return {FailureKind::kOutOfBounds, Phase::kVerify, std::move(message)};
}

}  // namespace

size_t AlignmentBytes(const Problem& problem) {
  // The alignment of allocations in CUDA and OpenCL, which authors of kernels expect.
  if (IsOwnKernel(problem)) return kOwnKernelAlignment;
  return static_cast<size_t>(FieldOr(problem, kAlignmentField, 64));
}

size_t AlignedStart(const Buffer& buffer, size_t from_bytes, size_t alignment_bytes) {
  const size_t start = RoundUp(from_bytes, std::max(alignment_bytes, kBufferAlignment));
  // Buffers start at a multiple of 64, so this is one of `alignment_bytes` and of nothing larger.
  if (alignment_bytes < kBufferAlignment) return start + alignment_bytes;
  // Probes past the beginning, because only there a view distinguishes handles that are addresses
  // from others, which start on a page.
  const size_t probe = start + alignment_bytes;
  const BufferView view = buffer.View(probe);
  if (view.offset_bytes != 0) return start;
  const auto address = reinterpret_cast<uintptr_t>(view.handle);
  return start + (RoundUp(address, alignment_bytes) - address);
}

Result<BoundOperands> BoundOperands::Create(Device& device, const Problem& problem,
                                            const ProblemData& data) {
  BoundOperands bound(device, data);
  const size_t alignment_bytes = AlignmentBytes(problem);
  for (Operand& operand : Operands(problem)) {
    const size_t size_bytes = SpanBytes(operand.tensor);
    ATTUNE_ASSIGN_OR_RETURN(Slot slot,
                            bound.MakeSlot(std::move(operand), size_bytes, alignment_bytes));
    bound.views_.push_back(slot.buffer->View(slot.offset_bytes));
    bound.slots_.push_back(std::move(slot));
  }
  ATTUNE_RETURN_IF_ERROR(bound.Reset());
  return bound;
}

Result<BoundOperands::Slot> BoundOperands::MakeSlot(Operand operand, size_t size_bytes,
                                                    size_t alignment_bytes) const {
  Slot slot;
  slot.operand = std::move(operand);
  slot.size_bytes = size_bytes;
  // Room for both red zones and for starting up to two alignments late.
  auto buffer = device_->Allocate(size_bytes + 2 * kRedzoneBytes + 3 * alignment_bytes);
  if (!buffer.ok()) {
    return buffer.error().WithContext(
        fmt::format("Allocating {} bytes for {}", size_bytes, slot.operand.name));
  }
  slot.buffer = std::move(*buffer);
  slot.offset_bytes = AlignedStart(*slot.buffer, kRedzoneBytes, alignment_bytes);
  return slot;
}

Status BoundOperands::KeepOnDevice() {
  if (kept_by_ != nullptr) return Status::Ok();
  kept_by_ = device_->memory_operations();
  if (kept_by_ == nullptr) return Status::Ok();
  const Status made = MakePristine();
  if (made.ok()) return made;
  kept_by_ = nullptr;
  reference_.reset();
  for (Slot& slot : slots_) slot.pristine.reset();
  // Without room for the copies, the host does it.
  return made.code() == StatusCode::kResourceExhausted ? Status::Ok() : made;
}

Status BoundOperands::MakePristine() {
  for (size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    const auto content = data_->input(i);
    if (content.empty()) continue;
    ATTUNE_ASSIGN_OR_RETURN(slot.pristine, device_->Allocate(content.size()));
    ATTUNE_RETURN_IF_ERROR(device_->Upload(content, slot.pristine->View(0)));
    ATTUNE_ASSIGN_OR_RETURN(slot.fingerprint,
                            kept_by_->Fingerprint(slot.pristine->View(0), content.size()));
  }
  const auto reference = std::as_bytes(data_->reference());
  ATTUNE_ASSIGN_OR_RETURN(reference_, device_->Allocate(reference.size()));
  return device_->Upload(reference, reference_->View(0));
}

Status BoundOperands::ReserveWorkspace(size_t size_bytes) {
  if (size_bytes <= workspace_.size_bytes) return Status::Ok();
  // Freed first: two workspaces of gigabytes may not fit.
  workspace_ = Slot();
  Operand operand{"the workspace", OperandRole::kOut, {}};
  ATTUNE_ASSIGN_OR_RETURN(workspace_,
                          MakeSlot(std::move(operand), size_bytes, kWorkspaceAlignment));
  return Fill(workspace_, {});
}

Status BoundOperands::Reset() {
  for (size_t i = 0; i < slots_.size(); ++i) {
    ATTUNE_RETURN_IF_ERROR(Fill(slots_[i], data_->input(i)));
  }
  if (workspace_.buffer == nullptr) return Status::Ok();
  return Fill(workspace_, {});
}

Status BoundOperands::PoisonOutputs() {
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].operand.role == OperandRole::kIn) continue;
    ATTUNE_RETURN_IF_ERROR(Fill(slots_[i], data_->input(i)));
  }
  return Status::Ok();
}

Arguments BoundOperands::arguments() const {
  Arguments arguments;
  arguments.operands = views_;
  if (workspace_.buffer != nullptr) {
    arguments.workspace = workspace_.buffer->View(workspace_.offset_bytes);
  }
  arguments.alpha = data_->alpha();
  arguments.beta = data_->beta();
  return arguments;
}

Status BoundOperands::Fill(const Slot& slot, std::span<const std::byte> content) const {
  const size_t end_bytes = slot.offset_bytes + slot.size_bytes;
  if (content.empty()) return Poison(*slot.buffer, 0, slot.buffer->size_bytes());
  ATTUNE_RETURN_IF_ERROR(Poison(*slot.buffer, 0, slot.offset_bytes));
  const BufferView view = slot.buffer->View(slot.offset_bytes);
  ATTUNE_RETURN_IF_ERROR(slot.pristine == nullptr
                             ? device_->Upload(content, view)
                             : kept_by_->Copy(slot.pristine->View(0), view, slot.size_bytes));
  return Poison(*slot.buffer, end_bytes, slot.buffer->size_bytes());
}

Status BoundOperands::Poison(const Buffer& buffer, size_t begin_bytes, size_t end_bytes) const {
  // The pattern has the phase of the range.
  if (kept_by_ != nullptr) {
    return kept_by_->Fill(buffer.View(begin_bytes), end_bytes - begin_bytes, kPoisonWord);
  }
  std::vector<std::byte> block(std::min(kBlockBytes, end_bytes - begin_bytes));
  FillWithPoison(block);
  for (size_t at = begin_bytes; at < end_bytes; at += block.size()) {
    const size_t size_bytes = std::min(block.size(), end_bytes - at);
    ATTUNE_RETURN_IF_ERROR(device_->Upload(std::span(block).first(size_bytes), buffer.View(at)));
  }
  return Status::Ok();
}

Result<size_t> BoundOperands::FindDifference(const Buffer& buffer, size_t begin_bytes,
                                             size_t end_bytes,
                                             std::span<const std::byte> expected) const {
  std::vector<std::byte> block(std::min(kBlockBytes, end_bytes - begin_bytes));
  for (size_t at = begin_bytes; at < end_bytes; at += block.size()) {
    const auto part = std::span(block).first(std::min(block.size(), end_bytes - at));
    ATTUNE_RETURN_IF_ERROR(device_->Download(buffer.View(at), part));
    size_t difference = 0;
    if (expected.empty()) {
      difference = FindSpoiled(part);
    } else {
      const auto right = expected.subspan(at - begin_bytes, part.size());
      if (std::memcmp(part.data(), right.data(), part.size()) == 0) continue;
      difference = static_cast<size_t>(
          std::mismatch(part.begin(), part.end(), right.begin()).first - part.begin());
    }
    if (difference < part.size()) return at + difference;
  }
  return end_bytes;
}

Result<std::optional<Failure>> BoundOperands::CheckSlot(const Slot& slot) const {
  const size_t end_bytes = slot.offset_bytes + slot.size_bytes;
  const size_t total_bytes = slot.buffer->size_bytes();
  ATTUNE_ASSIGN_OR_RETURN(const size_t before,
                          FindDifference(*slot.buffer, 0, slot.offset_bytes, {}));
  if (before != slot.offset_bytes) {
    return OutOfBounds(fmt::format("Wrote {} bytes before the start of {} ({} bytes).",
                                   slot.offset_bytes - before, slot.operand.name, slot.size_bytes));
  }
  ATTUNE_ASSIGN_OR_RETURN(const size_t after,
                          FindDifference(*slot.buffer, end_bytes, total_bytes, {}));
  if (after != total_bytes) {
    return OutOfBounds(fmt::format("Wrote {} bytes past the end of {} ({} bytes).",
                                   after - end_bytes + 1, slot.operand.name, slot.size_bytes));
  }
  return std::optional<Failure>();
}

Result<std::optional<Failure>> BoundOperands::CheckRedzones() {
  for (const Slot& slot : slots_) {
    ATTUNE_ASSIGN_OR_RETURN(auto failure, CheckSlot(slot));
    if (failure.has_value()) return failure;
  }
  if (workspace_.buffer == nullptr) return std::optional<Failure>();
  return CheckSlot(workspace_);
}

Result<std::optional<Failure>> BoundOperands::CheckInputs() {
  for (size_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    if (slot.operand.role != OperandRole::kIn) continue;
    const size_t end_bytes = slot.offset_bytes + slot.size_bytes;
    if (slot.pristine != nullptr) {
      ATTUNE_ASSIGN_OR_RETURN(
          const uint64_t now,
          kept_by_->Fingerprint(slot.buffer->View(slot.offset_bytes), slot.size_bytes));
      if (now == slot.fingerprint) continue;
    }
    ATTUNE_ASSIGN_OR_RETURN(const size_t changed, FindDifference(*slot.buffer, slot.offset_bytes,
                                                                 end_bytes, data_->input(i)));
    if (changed == end_bytes) continue;
    return std::optional(
        OutOfBounds(fmt::format("Changed input {} at byte {} of {}.", slot.operand.name,
                                changed - slot.offset_bytes, slot.size_bytes)));
  }
  return std::optional<Failure>();
}

Result<OutputComparison> BoundOperands::CompareOutput(size_t i,
                                                      const ComparisonTerms& terms) const {
  const Slot& slot = slots_[i];
  const std::span<const double> reference = data_->reference(i);
  if (kept_by_ != nullptr) {
    const auto begin_bytes =
        static_cast<size_t>(reference.data() - data_->reference().data()) * sizeof(double);
    return kept_by_->Compare(slot.buffer->View(slot.offset_bytes), reference_->View(begin_bytes),
                             terms);
  }
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<std::byte> output, Download(slot));
  return CompareOnHost(output, reference, terms);
}

Status BoundOperands::Write(size_t i, int64_t offset, std::span<const std::byte> element) {
  const Slot& slot = slots_[i];
  const size_t at = slot.offset_bytes + static_cast<size_t>(offset) * element.size();
  return device_->Upload(element, slot.buffer->View(at));
}

Result<std::vector<std::byte>> BoundOperands::Read(size_t i, int64_t offset, int64_t count) const {
  const Slot& slot = slots_[i];
  const size_t size_bytes = SizeBytes(slot.operand.tensor.type);
  std::vector<std::byte> bytes(static_cast<size_t>(count) * size_bytes);
  const size_t at = slot.offset_bytes + static_cast<size_t>(offset) * size_bytes;
  ATTUNE_RETURN_IF_ERROR(device_->Download(slot.buffer->View(at), bytes));
  return bytes;
}

Result<std::vector<std::byte>> BoundOperands::Download(const Slot& slot) const {
  std::vector<std::byte> bytes(slot.size_bytes);
  ATTUNE_RETURN_IF_ERROR(device_->Download(slot.buffer->View(slot.offset_bytes), bytes));
  return bytes;
}

}  // namespace attune
