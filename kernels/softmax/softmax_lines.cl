// Softmax of lines, each by the work-items of one work-group. With COLUMNS == 0 lines are
// contiguous: a vector is part of a line, WG_X work-items share it, and a work-group has WG_Y
// lines. With COLUMNS == 1 the elements of a line are `inner` apart: a vector has elements of VEC
// lines, which WG_Y work-items share, and a work-group has WG_X vectors side by side. Needs
// float_vectors.cl.

#define ITEMS (WG_X * WG_Y)
#define LX ((int)get_local_id(0))
#define LY ((int)get_local_id(1))
#define ITEM (LY * WG_X + LX)

#if COLUMNS
typedef VECTOR WIDE;  // One number of each line of a work-item.
#define SLOT LY       // Work-items that share a line: SLOT of SLOTS, STEP apart.
#define SLOTS WG_Y
#define STEP WG_X
#else
typedef float WIDE;
#define SLOT LX
#define SLOTS WG_X
#define STEP 1
#endif

#define OPERAND(name) __global const ELEMENT *name, long name##_offset
#define RESULT(name) __global ELEMENT *name, long name##_offset

// The vectors of a work-group's lines.
typedef struct {
  long first;  // Offset of the first one.
  long step;
  int count;
  int lanes;       // Lanes of every vector if COLUMNS, else the elements of the line.
  int visible;     // Elements of the line that the mask does not hide.
  long mask_first;
} Lines;

Lines lines_of(int outer, int length, int inner, int queries) {
  Lines lines;
#if COLUMNS
  const int blocks = (inner - 1) / (WG_X * VEC) + 1;
  const int group = (int)get_group_id(0);
  const long column = (long)(group % blocks * WG_X + LX) * VEC;
  lines.first = (long)(group / blocks) * length * inner + column;
  lines.step = inner;
  lines.lanes = (int)max(inner - column, 0L);
  lines.count = lines.lanes > 0 ? length : 0;
  lines.visible = length;
  lines.mask_first = 0;
#else
  const long line = (long)get_group_id(0) * WG_Y + LY;
  lines.first = line * length;
  lines.step = VEC;
  lines.lanes = length;
  // A line that does not exist has no vectors.
  lines.count = line < outer ? (length - 1) / VEC + 1 : 0;
  const int query = (int)(line % queries);
  lines.visible = MASK == 1 ? min(query + 1, length) : length;
  lines.mask_first = (long)query * length;
#endif
  return lines;
}

// The vectors of a work-item, always in the same order. `t` counts them.
#define EACH_VECTOR \
  int t = 0;        \
  for (int i = SLOT; i < lines.count; i += SLOTS, ++t)
#define AT (lines.first + i * lines.step)
#if COLUMNS
#define LANES lines.lanes
#else
#define LANES (lines.lanes - i * VEC)
#endif

// The first KEEP vectors of a work-item stay in local memory.
#define KEPT(kept) ((kept) + (t * ITEMS + ITEM) * VEC)
#define KEEP_VECTOR(value, kept) \
  if (t < KEEP) STORE_NUMBERS(value, KEPT(kept));

float largest_of(VECTOR lanes) {
  float numbers[VEC];
  STORE_NUMBERS(lanes, numbers);
  float largest = numbers[0];
  for (int lane = 1; lane < VEC; ++lane) largest = fmax(largest, numbers[lane]);
  return largest;
}

float sum_of(VECTOR lanes) {
  float numbers[VEC];
  STORE_NUMBERS(lanes, numbers);
  for (int half_way = VEC / 2; half_way > 0; half_way /= 2) {
    for (int lane = 0; lane < half_way; ++lane) numbers[lane] += numbers[lane + half_way];
  }
  return numbers[0];
}

#if COLUMNS
#define LARGEST_OF_LANES(lanes) (lanes)
#define SUM_OF_LANES(lanes) (lanes)
#else
#define LARGEST_OF_LANES(lanes) largest_of(lanes)
#define SUM_OF_LANES(lanes) sum_of(lanes)
#endif

// The sum over all work-items that share a line, for each of them.
WIDE merged_sum(WIDE own, __local WIDE* scratch) {
  if (SLOTS == 1) return own;
  scratch[ITEM] = own;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int half_way = SLOTS / 2; half_way > 0; half_way /= 2) {
    if (SLOT < half_way) scratch[ITEM] += scratch[ITEM + half_way * STEP];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  const WIDE sum = scratch[ITEM - SLOT * STEP];
  barrier(CLK_LOCAL_MEM_FENCE);
  return sum;
}

WIDE merged_largest(WIDE own, __local WIDE* scratch) {
  if (SLOTS == 1) return own;
  scratch[ITEM] = own;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int half_way = SLOTS / 2; half_way > 0; half_way /= 2) {
    if (SLOT < half_way) {
      scratch[ITEM] = fmax(scratch[ITEM], scratch[ITEM + half_way * STEP]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  const WIDE largest = scratch[ITEM - SLOT * STEP];
  barrier(CLK_LOCAL_MEM_FENCE);
  return largest;
}

#define KERNEL __kernel __attribute__((reqd_work_group_size(WG_X, WG_Y, 1)))

#if BACKWARD

#define SHARE_AT (t < KEEP ? LOAD_NUMBERS(KEPT(kept)) : load_lanes(y + AT, LANES))
#define CHANGE_AT (t < KEEP ? LOAD_NUMBERS(KEPT(kept_dy)) : load_lanes(dy + AT, LANES))

KERNEL void softmax_lines(OPERAND(y), OPERAND(dy), RESULT(dx), int outer, int length, int inner,
                          int queries, float alpha) {
  __local WIDE scratch[ITEMS];
  __local float kept[KEEP > 0 ? 2 * KEEP * ITEMS * VEC : 1];
  __local float* const kept_dy = kept + KEEP * ITEMS * VEC;
  const Lines lines = lines_of(outer, length, inner, queries);
  y += y_offset;
  dy += dy_offset;
  dx += dx_offset;
  const float scale = SCALED ? alpha : 1.0f;
  VECTOR sum = (VECTOR)(0.0f);
  {
    EACH_VECTOR {
      const VECTOR share = load_lanes(y + AT, LANES);
      const VECTOR change = load_lanes(dy + AT, LANES);
      KEEP_VECTOR(share, kept)
      KEEP_VECTOR(change, kept_dy)
      sum += LOGARITHM ? change : change * share;
    }
  }
  const WIDE all = merged_sum(SUM_OF_LANES(sum), scratch);
  EACH_VECTOR {
    const VECTOR share = SHARE_AT;
    const VECTOR change = CHANGE_AT;
    const VECTOR result = LOGARITHM ? change - exp(share) * all : share * (change - all);
    store_lanes(result * scale, dx + AT, LANES);
  }
}

#else

// The arguments of the exponential; minus infinity behind the last visible element.
VECTOR z_at(Lines lines, __global const ELEMENT* x, __global const ELEMENT* mask, float scale,
            int i) {
  VECTOR z = load_lanes(x + AT, LANES) * scale;
#if MASK == 2
  z += load_lanes(mask + lines.mask_first + (long)i * VEC, LANES);
#endif
#if COLUMNS
  return z;
#else
  const int visible = lines.visible - i * VEC;
  if (visible >= VEC) return z;
  float numbers[VEC];
  STORE_NUMBERS(z, numbers);
  for (int lane = 0; lane < VEC; ++lane) {
    numbers[lane] = lane < visible ? numbers[lane] : -INFINITY;
  }
  return LOAD_NUMBERS(numbers);
#endif
}

#define Z_AT z_at(lines, x, mask, scale, i)
#define KEPT_OR_Z (t < KEEP ? LOAD_NUMBERS(KEPT(kept)) : Z_AT)

KERNEL void softmax_lines(OPERAND(x), OPERAND(mask), RESULT(y), int outer, int length, int inner,
                          int queries, float alpha) {
  __local WIDE scratch[ITEMS];
  __local float kept[KEEP > 0 ? KEEP * ITEMS * VEC : 1];
  const Lines lines = lines_of(outer, length, inner, queries);
  x += x_offset;
  mask += mask_offset;
  y += y_offset;
  const float scale = SCALED ? alpha : 1.0f;
  // Finite, so that a difference from it is never NaN where z is not.
  VECTOR largest = (VECTOR)(-FLT_MAX);
  VECTOR sum = (VECTOR)(0.0f);
  {
    EACH_VECTOR {
      const VECTOR z = Z_AT;
      KEEP_VECTOR(z, kept)
      const VECTOR next = fmax(largest, z);
#if PASSES == 1
      // The sum so far is relative to the largest so far.
      sum = sum * exp(largest - next) + exp(z - next);
#endif
      largest = next;
    }
  }
  const WIDE top = merged_largest(LARGEST_OF_LANES(largest), scratch);
#if PASSES == 1
  sum *= exp(largest - top);
#else
  {
    EACH_VECTOR {
      const VECTOR term = exp(KEPT_OR_Z - top);
#if !LOGARITHM
      KEEP_VECTOR(term, kept)
#endif
      sum += term;
    }
  }
#endif
  const WIDE all = merged_sum(SUM_OF_LANES(sum), scratch);
  const WIDE share = LOGARITHM ? log(all) : 1.0f / all;
  EACH_VECTOR {
#if LOGARITHM
    const VECTOR result = (KEPT_OR_Z - top) - share;
#elif PASSES == 1
    const VECTOR result = exp(KEPT_OR_Z - top) * share;
#else
    const VECTOR result =
        (t < KEEP ? LOAD_NUMBERS(KEPT(kept)) : exp(Z_AT - top)) * share;
#endif
    store_lanes(result, y + AT, LANES);
  }
}
#endif
