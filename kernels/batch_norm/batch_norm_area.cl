// The values that a work-group of batch norm reads, and sums over them. A tensor has rows of
// neighbouring values that are `stride` apart. With COLUMNS == 0 a work-group has part of one
// group, whose values fill rows of `inner`; with COLUMNS == 1 it has WG_X * VEC neighbouring
// groups, each of which is a column. Needs float_vectors.cl.

#define ITEMS (WG_X * WG_Y)
#define LX ((int)get_local_id(0))
#define LY ((int)get_local_id(1))
#define ITEM (LY * WG_X + LX)
// Vectors summed before their sum is added to the others: errors of long sums grow with it.
#define BLOCK 32

#if COLUMNS
typedef VECTOR WIDE;     // One number of each group of a work-item.
#define SLOT LY          // Work-items that share a group, from SLOT of SLOTS.
#define SLOTS WG_Y
#define RESULTS WG_X     // Work-items whose sums are not added to each other.
#define RESULT LX
#else
typedef float WIDE;
#define SLOT ITEM
#define SLOTS ITEMS
#define RESULTS 1
#define RESULT 0
#endif

typedef struct {
  long base;    // The offset of the first row.
  long stride;  // Elements from row to row.
  int length;   // Elements of a row.
  int row, row_end;
  int column, column_end;  // In vectors.
  int group, group_lanes;  // The first group of the work-item, and the number of groups from it on.
  int part;
} Area;

Area area_of(int outer, int groups, int inner, int row_parts, int column_parts) {
  Area area;
  const int block = (int)get_group_id(0);
  area.part = (int)get_group_id(1);
  area.stride = (long)groups * inner;
  const int row_part = area.part % row_parts;
  area.row = (int)((long)outer * row_part / row_parts);
  area.row_end = (int)((long)outer * (row_part + 1) / row_parts);
#if COLUMNS
  area.base = 0;
  area.length = groups;
  area.column = block * WG_X;
  area.column_end = min(area.column + WG_X, (groups - 1) / VEC + 1);
  // Bounded, because it must fit into an int. A work-item behind the last group has no group.
  area.group = min((long)(area.column + LX) * VEC, (long)groups);
  area.group_lanes = groups - area.group;
#else
  const int column_part = area.part / row_parts;
  const int vectors = (inner - 1) / VEC + 1;
  area.base = (long)block * inner;
  area.length = inner;
  area.column = (int)((long)vectors * column_part / column_parts);
  area.column_end = (int)((long)vectors * (column_part + 1) / column_parts);
  area.group = block;
  area.group_lanes = 1;
#endif
  return area;
}

// The vectors of a work-item, always in the same order. `t` counts them.
#define EACH_VECTOR                                                               \
  int t = 0;                                                                      \
  for (int row = area.row + LY; row < area.row_end; row += WG_Y)                  \
    for (int column = area.column + LX; column < area.column_end; column += WG_X, ++t)
#define AT (area.base + row * area.stride + column * (long)VEC)
#define LANES (area.length - column * VEC)

// The first KEEP vectors of a work-item stay in local memory.
#define KEPT(kept) ((kept) + (t * ITEMS + ITEM) * VEC)
#define READ(tensor, kept) (t < KEEP ? LOAD_NUMBERS(KEPT(kept)) : load_lanes((tensor) + AT, LANES))
#define KEEP_VECTOR(value, kept) \
  if (t < KEEP) STORE_NUMBERS(value, KEPT(kept));

// A number of each group.
#if COLUMNS
WIDE groups_at(__global const float* from, Area area) {
  from += area.group;
  if (area.group_lanes >= VEC) return LOAD_NUMBERS(from);
  float numbers[VEC];
  for (int lane = 0; lane < VEC; ++lane) {
    numbers[lane] = lane < area.group_lanes ? from[lane] : 0.0f;
  }
  return LOAD_NUMBERS(numbers);
}
void put_groups(WIDE value, __global float* to, Area area) {
  to += area.group;
  float numbers[VEC];
  STORE_NUMBERS(value, numbers);
  for (int lane = 0; lane < VEC; ++lane) {
    if (lane < area.group_lanes) to[lane] = numbers[lane];
  }
}
#else
#define groups_at(from, area) ((from)[(area).group])
#define put_groups(value, to, area) ((to)[(area).group] = (value))
#endif

// Count, mean and sum of squared differences from it. Means are relative to the first value of the
// group, which keeps their rounding errors in proportion to the deviation.
typedef struct {
  VECTOR n, mean, m2;
} Moments;
typedef struct {
  WIDE n, mean, m2;
} GroupMoments;

// Chan, Golub, LeVeque 1983. The square of a large step may be infinite, and is not multiplied by 0.
#define MERGE(TYPE, a, b)                                    \
  {                                                          \
    const TYPE total = (a).n + (b).n;                        \
    const TYPE share = (b).n / fmax(total, (TYPE)(1.0f));    \
    const TYPE step = (b).mean - (a).mean;                   \
    (a).mean += step * share;                                \
    (a).m2 += (b).m2 + step * (a).n * share * step;          \
    (a).n = total;                                           \
  }

// Adds a block, whose sums are relative to `shift`, and clears it. Infinite squares stay infinite.
void add_block(Moments* all, Moments* block, VECTOR shift) {
  const VECTOR step = block->mean / fmax(block->n, (VECTOR)(1.0f));
  const VECTOR m2 = block->m2 - block->mean * step;
  const VECTOR rest = select(m2, (VECTOR)(0.0f), m2 < 0.0f);  // A NaN stays one.
  block->m2 = select(rest, block->m2, isinf(block->m2));
  block->mean = shift + step;
  MERGE(VECTOR, *all, *block)
  block->n = block->mean = block->m2 = (VECTOR)(0.0f);
}

// Moments of the vectors of a work-item, by lane. A block is summed relative to the mean of the
// blocks before it, the first one to its first value: values far from that add as much to the
// variance, so that cancellation costs no more than the length of a block.
Moments item_moments(Area area, __global const ELEMENT* x, WIDE origin, __local float* kept) {
  Moments all;
  all.n = all.mean = all.m2 = (VECTOR)(0.0f);
  Moments block = all;
  VECTOR shift = (VECTOR)(0.0f);
  EACH_VECTOR {
    const VECTOR value = load_lanes(x + AT, LANES);
    KEEP_VECTOR(value, kept)
    const VECTOR relative = value - origin;
    if (t == 0) shift = relative;
    const VECTOR weights = weights_of(LANES);
    const VECTOR difference = (relative - shift) * weights;
    block.n += weights;
    block.mean += difference;
    block.m2 = fma(difference, difference, block.m2);
    if (t % BLOCK == BLOCK - 1) {
      add_block(&all, &block, shift);
      shift = all.mean;
    }
  }
  add_block(&all, &block, shift);
  return all;
}

// Counts and means alone.
Moments item_means(Area area, __global const ELEMENT* x, WIDE origin, __local float* kept) {
  Moments all;
  all.n = all.mean = all.m2 = (VECTOR)(0.0f);
  VECTOR sum = (VECTOR)(0.0f);
  VECTOR block = sum;
  EACH_VECTOR {
    const VECTOR value = load_lanes(x + AT, LANES);
    KEEP_VECTOR(value, kept)
    const VECTOR weights = weights_of(LANES);
    all.n += weights;
    block += (value - origin) * weights;
    if (t % BLOCK == BLOCK - 1) {
      sum += block;
      block = (VECTOR)(0.0f);
    }
  }
  all.mean = (sum + block) / fmax(all.n, (VECTOR)(1.0f));
  return all;
}

// Moments relative to a mean that is known, but for its rounding.
Moments item_deviations(Area area, __global const ELEMENT* x, WIDE origin, WIDE mean,
                        __local float* kept) {
  Moments all;
  all.n = all.mean = all.m2 = (VECTOR)(0.0f);
  Moments block = all;
  EACH_VECTOR {
    const VECTOR weights = weights_of(LANES);
    const VECTOR difference = ((READ(x, kept) - origin) - mean) * weights;
    block.n += weights;
    block.mean += difference;
    block.m2 = fma(difference, difference, block.m2);
    if (t % BLOCK == BLOCK - 1) add_block(&all, &block, (VECTOR)(mean));
  }
  add_block(&all, &block, (VECTOR)(mean));
  return all;
}

GroupMoments moments_of_lanes(Moments lanes) {
  GroupMoments all;
#if COLUMNS || VEC == 1
  all.n = lanes.n;
  all.mean = lanes.mean;
  all.m2 = lanes.m2;
#else
  float n[VEC], mean[VEC], m2[VEC];
  STORE_NUMBERS(lanes.n, n);
  STORE_NUMBERS(lanes.mean, mean);
  STORE_NUMBERS(lanes.m2, m2);
  all.n = all.mean = all.m2 = 0.0f;
  for (int lane = 0; lane < VEC; ++lane) {
    GroupMoments one;
    one.n = n[lane];
    one.mean = mean[lane];
    one.m2 = m2[lane];
    MERGE(float, all, one)
  }
#endif
  return all;
}

WIDE sum_of_lanes(VECTOR lanes) {
#if COLUMNS || VEC == 1
  return lanes;
#else
  float numbers[VEC];
  STORE_NUMBERS(lanes, numbers);
  for (int half_way = VEC / 2; half_way > 0; half_way /= 2) {
    for (int lane = 0; lane < half_way; ++lane) numbers[lane] += numbers[lane + half_way];
  }
  return numbers[0];
#endif
}

// The moments of all work-items that share a group, for each of them.
GroupMoments merged_moments(GroupMoments own, __local WIDE* scratch) {
  if (SLOTS == 1) return own;
  scratch[ITEM] = own.n;
  scratch[ITEMS + ITEM] = own.mean;
  scratch[2 * ITEMS + ITEM] = own.m2;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int half_way = ITEMS / 2; half_way >= RESULTS; half_way /= 2) {
    if (ITEM < half_way) {
      GroupMoments other;
      other.n = scratch[ITEM + half_way];
      other.mean = scratch[ITEMS + ITEM + half_way];
      other.m2 = scratch[2 * ITEMS + ITEM + half_way];
      MERGE(WIDE, own, other)
      scratch[ITEM] = own.n;
      scratch[ITEMS + ITEM] = own.mean;
      scratch[2 * ITEMS + ITEM] = own.m2;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  own.n = scratch[RESULT];
  own.mean = scratch[ITEMS + RESULT];
  own.m2 = scratch[2 * ITEMS + RESULT];
  barrier(CLK_LOCAL_MEM_FENCE);
  return own;
}

WIDE merged_sum(WIDE own, __local WIDE* scratch) {
  if (SLOTS == 1) return own;
  scratch[ITEM] = own;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int half_way = ITEMS / 2; half_way >= RESULTS; half_way /= 2) {
    if (ITEM < half_way) scratch[ITEM] += scratch[ITEM + half_way];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  const WIDE sum = scratch[RESULT];
  barrier(CLK_LOCAL_MEM_FENCE);
  return sum;
}
