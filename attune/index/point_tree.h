// The problems of one family as a k-d tree without pointers: the middle of a range of points is its
// root, with the left subtree before it. Private to this module.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attune/base/status.h"
#include "attune/index/index_file.h"
#include "attune/index/index_format.h"

namespace attune {

// Brings `points` into the order of a tree and fills their `split`. The same points give the same
// tree, in whatever order they come. REQUIRES: every `problem` is there once.
void ArrangeAsTree(std::span<PointRow> points);

struct PointQuery {
  Position position = {};
  Fingerprint excluded;  // Key of a problem to leave out.
  size_t limit = 0;
  double max_distance = 0;
};

struct FoundPoint {
  double distance = 0;
  uint32_t problem = 0;

  friend auto operator<=>(const FoundPoint&, const FoundPoint&) = default;
};

// The points of `family` nearest to the query, nearest first, equally near ones by their problem.
Result<std::vector<FoundPoint>> FindNearest(const IndexFile& file, const FamilyRow& family,
                                            const PointQuery& query);

}  // namespace attune
