// The walk of host.batch_norm over a tensor: rows of slots, in blocks and tiles.
#pragma once

#include <algorithm>
#include <cstdint>

#include "attune/ops/batch_norm/batch_norm.h"
#include "backends/host/batch_norm/batch_norm_kernels.h"

namespace attune::host::batch_norm {

// The tensor as rows of slots. A run is a slot with the adjacent values of a
// group. A column is a slot of one value; then a group has several slots if its
// values are adjacent, or if a row of few groups is joined with the next rows.
struct View {
  int64_t rows = 1;
  int64_t slots = 1;
  int64_t length = 1;
  int64_t slot_step = 1;
  int64_t tail_slots = 0;  // Slots of a last row that is not full.
  int64_t groups = 1;
  int64_t slots_of_group = 1;
  bool is_joined = false;  // Slot s is of group s % groups, otherwise of s / slots_of_group.

  int64_t row_step() const { return slots * slot_step; }
  bool is_columns() const { return slot_step == 1; }
  bool has_slot_for_each_group() const { return slots_of_group == 1; }
  // Slot `i` of a group.
  int64_t SlotOf(int64_t group, int64_t i) const {
    return is_joined ? i * groups + group : group * slots_of_group + i;
  }
};
// REQUIRES: `as_columns` if values of a group are not adjacent.
View ViewOf(const BatchNormShape& shape, bool as_columns);

// The part of a thread: rows, slots and values of a slot. Arrays for slots
// begin with `slot`.
struct Region {
  int64_t row = 0;
  int64_t row_end = 0;
  int64_t slot = 0;
  int64_t slot_end = 0;
  int64_t begin = 0;  // The first value of a slot.
  int64_t end = 0;
  bool has_tail = false;

  // Values of a slot.
  int64_t CountOf(const View& view, int64_t of_slot) const {
    return (row_end - row) * (end - begin) + (has_tail && of_slot < view.tail_slots ? 1 : 0);
  }
};

struct Tiling {
  int64_t slots = 1;  // In a tile, and in a block if threads have whole groups.
  int64_t rows = 1;
  int64_t length = 1;
};
// Tiles of about `elements` with `adjacent` elements of a row. A run is added up in `lanes`.
Tiling TilingOf(const View& view, int64_t adjacent, int64_t elements, int64_t lanes);

// A part of a region that is read by one call of a kernel.
struct Piece {
  int64_t row = 0;
  int64_t rows = 1;
  int64_t slot = 0;
  int64_t slots = 1;
  int64_t begin = 0;
  int64_t length = 1;
  int64_t before = 0;  // Values of each slot in the pieces before this.
};

class Pieces {
 public:
  Pieces(const View& view, const Tiling& tiling, const Region& region);
  int64_t size() const { return row_count_ * slot_count_ * length_count_ + tail_count_; }
  Piece At(int64_t index) const;

 private:
  Piece Tail() const;

  const View view_;
  const Tiling tiling_;
  const Region region_;
  int64_t row_count_ = 0;
  int64_t slot_count_ = 0;
  int64_t length_count_ = 0;
  int64_t tail_count_ = 0;
};

// The region of one of `parts` threads that split the values of every slot.
Region PartOf(const View& view, int part, int parts);

}  // namespace attune::host::batch_norm
