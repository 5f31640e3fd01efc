// The operands of a problem in device memory, walled in by red zones.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "attune/base/status.h"
#include "attune/device/device.h"
#include "attune/problem/problem.h"
#include "attune/trial/trial.h"
#include "attune/verify/problem_data.h"

namespace attune {

// The alignment of an operand of `problem`; 64 if the problem promises none.
size_t AlignmentBytes(const Problem& problem);
// The offset in `buffer`, at least `from_bytes`, of an operand that starts at a multiple of
// `alignment_bytes` and, below 64, of no larger power of two. It is less than two alignments later
// where that is at least 64.
size_t AlignedStart(const Buffer& buffer, size_t from_bytes, size_t alignment_bytes);

// Every operand and the workspace lie in buffers of their own between two red zones. An operand
// starts at a multiple of the problem's alignment_bytes and, below 64, of no larger power of two,
// so that a candidate that assumes a larger alignment fails. Not thread-safe.
class BoundOperands {
 public:
  static constexpr size_t kRedzoneBytes = 4096;

  // Allocates and fills. Borrows `device` and `data`, which must outlive the result.
  static Result<BoundOperands> Create(Device& device, const Problem& problem,
                                      const ProblemData& data);

  // From now on the device fills and checks operands itself, if it can (Device::memory_operations)
  // and has the memory for copies of inputs and reference. Saves two transfers of every operand for
  // each verified candidate.
  Status KeepOnDevice();

  // Makes the workspace at least this large. Views from before are invalid.
  Status ReserveWorkspace(size_t size_bytes);

  // Restores the initial state: inputs uploaded, in-out operands with their initial content,
  // outputs, gaps, workspace and red zones poisoned (poison.h).
  Status Reset();
  // The same for outputs and in-out operands only: enough between runs that left the rest alone.
  Status PoisonOutputs();

  // The arguments of Executable::Run; valid as long as this object, until ReserveWorkspace.
  Arguments arguments() const;

  // Each of these checks the present content of the device memory; the outer Status is about
  // reading it. A Failure (kOutOfBounds) names operand, side and distance.
  Result<std::optional<Failure>> CheckRedzones();
  // Inputs, their gaps included, are bit for bit as uploaded.
  Result<std::optional<Failure>> CheckInputs();
  // How far operand `i` is from its reference. REQUIRES: it is written.
  Result<OutputComparison> CompareOutput(size_t i, const ComparisonTerms& terms) const;
  // Writes one element of operand `i` at an offset in elements, or reads `count` elements from
  // there.
  Status Write(size_t i, int64_t offset, std::span<const std::byte> element);
  Result<std::vector<std::byte>> Read(size_t i, int64_t offset, int64_t count) const;
  // The span of operand `i`, gaps included, as bytes.
  Result<std::vector<std::byte>> Download(size_t i) const { return Download(slots_[i]); }
  // The same of the last operand.
  Result<std::vector<std::byte>> DownloadOutput() const { return Download(slots_.back()); }

 private:
  struct Slot {
    Operand operand;
    std::unique_ptr<Buffer> buffer;
    size_t offset_bytes = 0;  // First byte within the buffer; a red zone lies before it.
    size_t size_bytes = 0;
    std::unique_ptr<Buffer> pristine;  // Its initial content, if kept on the device.
    uint64_t fingerprint = 0;          // Fingerprint of that.
  };
  BoundOperands(Device& device, const ProblemData& data) : device_(&device), data_(&data) {}

  Result<std::vector<std::byte>> Download(const Slot& slot) const;
  Result<Slot> MakeSlot(Operand operand, size_t size_bytes, size_t alignment_bytes) const;
  // Red zones poisoned; the operand filled with `content`, or poisoned if that is empty.
  Status Fill(const Slot& slot, std::span<const std::byte> content) const;
  Status Poison(const Buffer& buffer, size_t begin_bytes, size_t end_bytes) const;
  Status MakePristine();
  Result<std::optional<Failure>> CheckSlot(const Slot& slot) const;
  // Offset of the first byte in [begin, end) that differs from `expected` (poison if empty), or
  // `end`.
  Result<size_t> FindDifference(const Buffer& buffer, size_t begin_bytes, size_t end_bytes,
                                std::span<const std::byte> expected) const;

  Device* device_;
  const ProblemData* data_;
  MemoryOperations* kept_by_ = nullptr;  // Null while the host fills and checks.
  std::unique_ptr<Buffer> reference_;    // If kept on the device.
  std::vector<Slot> slots_;
  std::vector<BufferView> views_;
  Slot workspace_;
};

}  // namespace attune
