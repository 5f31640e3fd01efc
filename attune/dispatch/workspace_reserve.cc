#include "attune/dispatch/workspace_reserve.h"

#include <algorithm>
#include <utility>

#include "attune/base/process_room.h"

namespace attune {
namespace {

// Without spares, a workspace is doubled up to here: in large steps, touching is rare.
constexpr size_t kLargestStepBytes = size_t{64} << 20;

}  // namespace

Result<std::unique_ptr<Buffer>> WorkspaceReserve::Get(size_t needed_bytes, size_t current_bytes) {
  std::unique_ptr<Buffer> buffer = TakeSpare(needed_bytes);
  if (buffer == nullptr) {
    const size_t doubled = std::min(2 * current_bytes, kLargestStepBytes);
    ATTUNE_ASSIGN_OR_RETURN(buffer, device_.Allocate(std::max(needed_bytes, doubled)));
  }
  if (needed_bytes >= kFirstSignBytes) PrepareBeyond(needed_bytes, buffer->size_bytes());
  return buffer;
}

std::unique_ptr<Buffer> WorkspaceReserve::TakeSpare(size_t needed_bytes) {
  if (needed_bytes < kNoticeableBytes) return nullptr;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (spare_ == nullptr || spare_->size_bytes() < needed_bytes) return nullptr;
  handed_out_bytes_ += spare_->size_bytes();
  return std::move(spare_);
}

void WorkspaceReserve::PrepareBeyond(size_t needed_bytes, size_t size_bytes) {
  const size_t wanted = std::clamp(2 * needed_bytes, kSmallestSpareBytes, kLargestSpareBytes);
  // Touching takes a core from libraries that compute on every one, so there is no more of it than
  // what calls needed is a sign of.
  if (spares_ == Spares::kNone || size_bytes >= wanted) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const bool is_there = spare_ != nullptr && spare_->size_bytes() >= wanted;
    if (is_there || is_preparing_ || handed_out_bytes_ + wanted > kMostHandedOutBytes) return;
    is_preparing_ = true;
  }
  if (queue_.Push([this, wanted] { MakeSpare(wanted); })) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  is_preparing_ = false;
}

void WorkspaceReserve::MakeSpare(size_t size_bytes) {
  // Exceeding the memory of a cgroup ends the program.
  const bool has_room = MemoryRoom() >= kMemoryReserveBytes + size_bytes &&
                        AddressRoom() >= kAddressReserveBytes + size_bytes;
  auto made = has_room ? device_.AllocateTouched(size_bytes, is_stopping_)
                       : Result<std::unique_ptr<Buffer>>(ResourceExhausted("for a spare"));
  const std::lock_guard<std::mutex> lock(mutex_);
  is_preparing_ = false;
  // Where memory is short, whoever needs it asks for it.
  if (made.ok()) spare_ = std::move(*made);
}

}  // namespace attune
