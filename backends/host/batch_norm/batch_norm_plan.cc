#include "backends/host/batch_norm/batch_norm_plan.h"

namespace attune::host::batch_norm {
namespace {

// Rows of fewer groups are joined, so that vectors and loops are full.
constexpr int64_t kJoinedSlots = 256;
// A boundary between threads inside of a slot is at a multiple of so many
// values.
constexpr int64_t kValuesOfLines = 64;

int64_t CeilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

View ViewOf(const BatchNormShape& shape, bool as_columns) {
  View view;
  view.rows = shape.outer;
  view.groups = shape.groups;
  view.slots = shape.groups;
  if (!as_columns) {
    view.length = shape.inner;
    view.slot_step = shape.inner;
  } else if (shape.inner > 1) {
    view.slots_of_group = shape.inner;
    view.slots = shape.groups * shape.inner;
  } else if (shape.groups < kJoinedSlots && shape.outer > 1) {
    view.slots_of_group = std::min(shape.outer, CeilDivide(kJoinedSlots, shape.groups));
    view.slots = shape.groups * view.slots_of_group;
    view.is_joined = true;
    view.rows = shape.outer / view.slots_of_group;
    view.tail_slots = shape.outer % view.slots_of_group * shape.groups;
  }
  return view;
}

Tiling TilingOf(const View& view, int64_t adjacent, int64_t elements, int64_t lanes) {
  Tiling tiling;
  const int64_t of_group = view.is_columns() ? view.slots_of_group : 1;
  const int64_t width = of_group * view.length;
  tiling.slots = std::clamp<int64_t>(adjacent / width, 1, view.groups) * of_group;
  if (view.is_joined) tiling.slots = view.slots;
  // At most kMostTerms numbers are added in f32 to each lane.
  tiling.length = std::min({view.length, elements, kMostTerms * lanes});
  if (tiling.length < view.length) return tiling;
  // The numbers that are added in f32 one after the other.
  const int64_t terms = view.is_columns() ? 1 : view.length / lanes + 3;
  const int64_t rows = elements / (tiling.slots * view.length);
  tiling.rows = std::clamp<int64_t>(std::min(rows, kMostTerms / terms), 1, view.rows + 1);
  return tiling;
}

Pieces::Pieces(const View& view, const Tiling& tiling, const Region& region)
    : view_(view), tiling_(tiling), region_(region) {
  row_count_ = CeilDivide(region.row_end - region.row, tiling.rows);
  slot_count_ = CeilDivide(region.slot_end - region.slot, tiling.slots);
  length_count_ = CeilDivide(region.end - region.begin, tiling.length);
  tail_count_ = region.has_tail && view.tail_slots > 0 ? 1 : 0;
}

Piece Pieces::At(int64_t index) const {
  if (index == row_count_ * slot_count_ * length_count_) return Tail();
  Piece piece;
  piece.begin = region_.begin + index % length_count_ * tiling_.length;
  index /= length_count_;
  piece.slot = region_.slot + index % slot_count_ * tiling_.slots;
  piece.row = region_.row + index / slot_count_ * tiling_.rows;
  piece.rows = std::min(tiling_.rows, region_.row_end - piece.row);
  piece.slots = std::min(tiling_.slots, region_.slot_end - piece.slot);
  piece.length = std::min(tiling_.length, region_.end - piece.begin);
  piece.before = (piece.row - region_.row) * (region_.end - region_.begin) +
                 piece.rows * (piece.begin - region_.begin);
  return piece;
}

Piece Pieces::Tail() const {
  Piece piece;
  piece.row = view_.rows;
  piece.slots = view_.tail_slots;
  piece.before = region_.row_end - region_.row;
  return piece;
}

Region PartOf(const View& view, int part, int parts) {
  Region region{0, view.rows, 0, view.slots, 0, view.length, part == parts - 1};
  const bool splits_slots =
      view.rows < 4 * parts && view.rows % parts != 0 && view.length >= kValuesOfLines * parts;
  if (splits_slots) {
    const int64_t lines = CeilDivide(view.length, kValuesOfLines);
    region.begin = std::min(view.length, lines * part / parts * kValuesOfLines);
    region.end = std::min(view.length, lines * (part + 1) / parts * kValuesOfLines);
  } else {
    region.row = view.rows * part / parts;
    region.row_end = view.rows * (part + 1) / parts;
  }
  return region;
}

}  // namespace attune::host::batch_norm
