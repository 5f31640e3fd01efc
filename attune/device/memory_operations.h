// Operations of a device on its own memory, so that large data need not travel to the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "attune/base/data_type.h"
#include "attune/base/status.h"
#include "attune/base/tolerance.h"

namespace attune {

struct BufferView;

// Distance of an output from the right one.
struct OutputComparison {
  double worst_ratio = 0;    // |x - reference| / tolerance; infinite with a NaN or an infinity.
  int64_t worst_offset = 0;  // In elements; of the first one with this ratio.
  double worst_value = 0;
  int64_t wrong = 0;                   // Elements with a ratio above 1.
  int64_t elements = 0;                // Without gaps.
  std::optional<int64_t> spoiled_gap;  // Offset of the first element of a gap that was written to.
};

// The comparison of an output with its reference. An element is a gap where the reference is NaN.
struct ComparisonTerms {
  DataType type = DataType::kF32;  // f64, f32, f16 or bf16.
  int64_t elements = 0;            // Elements of the output's span and of the reference.
  GroupTolerance tolerance;
  uint16_t untouched = 0;  // The value of every 16 bits of a gap that was not written.
};

// Every call waits until it is done, and for work enqueued before. Used by the thread that owns the
// device.
class MemoryOperations {
 public:
  virtual ~MemoryOperations() = default;

  // Every 16 bits (little-endian) become `pattern`; of an odd size, the last byte its low one.
  // `to` is at an even address.
  virtual Status Fill(BufferView to, size_t size_bytes, uint16_t pattern) = 0;

  virtual Status Copy(BufferView from, BufferView to, size_t size_bytes) = 0;

  // The same for the same bytes; for others the same by a chance of 2^-64. `of` is at an even
  // address.
  virtual Result<uint64_t> Fingerprint(BufferView of, size_t size_bytes) = 0;

  // `reference` holds f64, one for each element of the output's span.
  virtual Result<OutputComparison> Compare(BufferView output, BufferView reference,
                                           const ComparisonTerms& terms) = 0;
};

}  // namespace attune
