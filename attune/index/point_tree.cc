#include "attune/index/point_tree.h"

#include <algorithm>
#include <utility>

namespace attune {
namespace {

// The coordinate over which the points are spread widest; the first of several.
uint32_t WidestCoordinate(std::span<const PointRow> points) {
  uint32_t widest = 0;
  float widest_spread = -1;
  for (uint32_t i = 0; i < kPositionSize; ++i) {
    const auto [low, high] = std::minmax_element(
        points.begin(), points.end(),
        [i](const PointRow& a, const PointRow& b) { return a.position[i] < b.position[i]; });
    const float spread = high->position[i] - low->position[i];
    if (spread <= widest_spread) continue;
    widest = i;
    widest_spread = spread;
  }
  return widest;
}

// A range of points, first to last exclusive.
struct Range {
  uint64_t first = 0;
  uint64_t last = 0;

  bool empty() const { return first >= last; }
  uint64_t middle() const { return first + (last - first) / 2; }
  Range left() const { return {first, middle()}; }
  Range right() const { return {middle() + 1, last}; }
};

class Search {
 public:
  Search(const IndexFile& file, const PointQuery& query) : file_(file), query_(query) {}

  // `bound` holds, for each coordinate, the point of the region of `range` that is nearest to the
  // query.
  Status Visit(const Range& range, const Position& bound) {
    if (range.empty() || !MayHold(bound)) return Status::Ok();
    ATTUNE_ASSIGN_OR_RETURN(const PointRow point, file_.At<PointRow>(range.middle()));
    if (point.split >= kPositionSize) {
      return file_.Damaged(Section::kPoints, range.middle(), "it divides no coordinate");
    }
    ATTUNE_RETURN_IF_ERROR(Consider(point));
    const float plane = point.position[point.split];
    const bool is_left = query_.position[point.split] < plane;
    Position far_bound = bound;
    far_bound[point.split] = plane;
    ATTUNE_RETURN_IF_ERROR(Visit(is_left ? range.left() : range.right(), bound));
    return Visit(is_left ? range.right() : range.left(), far_bound);
  }

  // Nearest first.
  std::vector<FoundPoint> Take() {
    std::sort_heap(heap_.begin(), heap_.end());
    return std::move(heap_);
  }

 private:
  // Equal distances pass, because the order among them counts.
  bool MayHold(const Position& bound) const {
    const double distance = Distance(query_.position, bound);
    if (!(distance <= query_.max_distance)) return false;
    return heap_.size() < query_.limit || distance <= heap_.front().distance;
  }

  Status Consider(const PointRow& point) {
    const FoundPoint found{Distance(query_.position, point.position), point.problem};
    if (!(found.distance <= query_.max_distance)) return Status::Ok();
    const bool is_full = heap_.size() == query_.limit;
    if (is_full && !(found < heap_.front())) return Status::Ok();
    ATTUNE_ASSIGN_OR_RETURN(const ProblemRow row, file_.At<ProblemRow>(point.problem));
    if (Fingerprint{row.key_high, row.key_low} == query_.excluded) return Status::Ok();
    if (is_full) {
      std::pop_heap(heap_.begin(), heap_.end());
      heap_.pop_back();
    }
    heap_.push_back(found);
    std::push_heap(heap_.begin(), heap_.end());
    return Status::Ok();
  }

  const IndexFile& file_;
  const PointQuery& query_;
  std::vector<FoundPoint> heap_;  // The farthest in front.
};

}  // namespace

void ArrangeAsTree(std::span<PointRow> points) {
  if (points.empty()) return;
  const uint32_t split = WidestCoordinate(points);
  const auto middle = points.begin() + static_cast<ptrdiff_t>(points.size() / 2);
  std::nth_element(
      points.begin(), middle, points.end(), [split](const PointRow& a, const PointRow& b) {
        return std::pair(a.position[split], a.problem) < std::pair(b.position[split], b.problem);
      });
  middle->split = split;
  const size_t left_count = points.size() / 2;
  ArrangeAsTree(points.first(left_count));
  ArrangeAsTree(points.subspan(left_count + 1));
}

Result<std::vector<FoundPoint>> FindNearest(const IndexFile& file, const FamilyRow& family,
                                            const PointQuery& query) {
  if (query.limit == 0) return std::vector<FoundPoint>();
  const uint64_t first = family.first_point;
  Search search(file, query);
  // The region of the root is unknown: it may lie around the query.
  ATTUNE_RETURN_IF_ERROR(search.Visit({first, first + family.point_count}, query.position));
  return search.Take();
}

}  // namespace attune
