// Batch norm of a packed tensor outer x channels x inner, over outer and inner.
//
// FORM 0, planes: channels first. A block computes a part of one channel.
// FORM 1, rows: channels last, or one channel per activation; inner is 1. A block computes a part
// of the rows of TX * VEC channels. FORM 2, images: channels first with small images. A block
// computes a part of the rows, channels x inner long, of BLOCK_CHANNELS channels, which have at
// most TX * VEC elements of a row.
//
// `parts` blocks share the values of a channel. They may be a thread block cluster that
// exchanges its sums in one launch; without, each writes its sums to the workspace and the next
// launch adds them.

#define LANES (FORM == 0 ? 1 : VEC)  // Means of a thread: one, or one for each of its columns.
#define LANE(i) (FORM == 0 ? 0 : (i))
#define TY (THREADS / TX)
#define WARPS (THREADS / 32)
#define FORWARD (DIRECTION != 2)
#define TRAINING (DIRECTION == 0)
#define INFERENCE (DIRECTION == 1)

// Registers for RESIDENT threads of a multiprocessor.
#define BOUNDS __launch_bounds__(THREADS, RESIDENT > THREADS ? RESIDENT / THREADS : 1)

// Data that is read for the last time does not displace other data.
__device__ __forceinline__ Pack load(const ELEMENT* from, bool last) {
  Pack pack;
  if (HINTS && last) {
    pack.word = __ldcs((const WORD*)from);
  } else {
    pack.word = *(const WORD*)from;
  }
  return pack;
}

__device__ __forceinline__ void store(const Pack& pack, ELEMENT* to) {
  if (HINTS) {
    __stcs((WORD*)to, pack.word);
  } else {
    *(WORD*)to = pack.word;
  }
}

struct Tensor {
  int outer;
  int channels;
  int inner;
  int parts;
  int part_size;  // vectors() of a part, but of the last ones.

  __device__ __forceinline__ long long row() const { return (long long)channels * inner; }
  __device__ __forceinline__ unsigned columns() const { return inner / VEC; }
  // The vectors that the threads of one column go over: those of a channel, or rows.
  __device__ __forceinline__ unsigned vectors() const {
    return FORM == 0 ? outer * columns() : outer;
  }
  __device__ __forceinline__ unsigned part_begin(int part) const {
    const unsigned long long begin = (unsigned long long)part_size * part;
    return begin < vectors() ? (unsigned)begin : vectors();
  }
  // Values of a channel in one part, and in all of them.
  __device__ __forceinline__ float part_values(int part) const {
    return (float)((part_begin(part + 1) - part_begin(part)) * (unsigned)(FORM == 0 ? VEC : inner));
  }
  __device__ __forceinline__ float values() const { return (float)((long long)outer * inner); }
};

// The work of one thread: every TY-th vector of its part, in its columns.
struct Share {
  Tensor tensor;
  int part;
  unsigned part_begin;
  int first_channel;  // The first channel of the block.
  int tx, ty;
  bool active;
  int count;
  int image_channels[LANES];  // FORM 2: the channel of each column, from first_channel on.

  __device__ __forceinline__ Share(const Tensor& tensor, int group, int part)
      : tensor(tensor),
        part(part),
        part_begin(tensor.part_begin(part)),
        first_channel(group * BLOCK_CHANNELS),
        tx(threadIdx.x % TX),
        ty(threadIdx.x / TX) {
    if (FORM == 2) {
      const int left = tensor.channels - first_channel;
      active = tx * VEC < (left < BLOCK_CHANNELS ? left : BLOCK_CHANNELS) * tensor.inner;
#pragma unroll
      for (int l = 0; l < LANES; ++l)
        image_channels[l] = active ? (unsigned)(tx * VEC + l) / tensor.inner : 0;
    } else {
      active = FORM == 0 || first_channel + tx * VEC < tensor.channels;
    }
    const int left = (int)(tensor.part_begin(part + 1) - part_begin) - ty;
    count = active && left > 0 ? (left + TY - 1) / TY : 0;
  }

  // The l-th mean's channel among those of the block. Threads without columns have the first.
  __device__ __forceinline__ int local_channel(int l) const {
    return FORM == 0 || !active ? 0 : FORM == 1 ? tx * VEC + l : image_channels[l];
  }
  __device__ __forceinline__ int channel(int l) const { return first_channel + local_channel(l); }
  // True if column l is the first of its channel.
  __device__ __forceinline__ bool leads(int l) const {
    return active && (FORM != 2 || tx * VEC + l == image_channels[l] * tensor.inner);
  }
  // True if this thread writes the results of the channel.
  __device__ __forceinline__ bool owns(int l) const { return ty == 0 && leads(l); }
  // Any value of the l-th channel in this part.
  __device__ __forceinline__ long long some_offset(int l) const {
    const unsigned index = part_begin < tensor.vectors() ? part_begin : 0;
    const long long of_channel = (long long)channel(l) * tensor.inner;
    if (FORM != 0) return index * tensor.row() + of_channel;
    return index / tensor.columns() * tensor.row() + of_channel + index % tensor.columns() * VEC;
  }
};

// Goes over the offsets of a share.
struct Walk {
  long long offset;
  long long step;
  long long wrap;
  int column;
  int column_step;
  int columns;

  __device__ __forceinline__ Walk(const Share& share, int begin) {
    const Tensor& tensor = share.tensor;
    const unsigned index = share.part_begin + share.ty + (unsigned)begin * TY;
    const long long first = (long long)share.first_channel * tensor.inner;
    if (FORM != 0) {
      offset = index * tensor.row() + first + share.tx * VEC;
      step = TY * tensor.row();
    } else {
      columns = tensor.columns();
      column = index % columns;
      offset = index / columns * tensor.row() + first + (long long)column * VEC;
      column_step = TY % columns;
      step = TY / columns * tensor.row() + column_step * VEC;
      wrap = tensor.row() - tensor.inner;
    }
  }
  template <bool kBack>
  __device__ __forceinline__ void advance() {
    offset += kBack ? -step : step;
    if (FORM != 0) return;
    column += kBack ? -column_step : column_step;
    if (kBack ? column < 0 : column >= columns) {
      column += kBack ? columns : -columns;
      offset += kBack ? -wrap : wrap;
    }
  }
};

struct Nothing {
  __device__ __forceinline__ void operator()(int) const {}
};

// Goes over the vectors [begin, end) of a share, UNROLL at a time; it reads the first ones when it
// is made, so that they arrive while sums are exchanged. Backwards, the vectors that an earlier
// pass read last come first: they are still in the L2 cache.
template <bool kBack, class Loaded, class Load>
class Visit {
 public:
  __device__ __forceinline__ Visit(const Share& share, int begin, int end, const Load& load)
      : load_(load), left_(end - begin), t_(kBack ? end - 1 : begin), walk_(share, t_) {
    read();
  }

  // Calls use(t, offset, loaded) for each vector and after(n) behind each group, when n are done.
  template <class Use, class After>
  __device__ __forceinline__ void run(const Use& use, const After& after) {
    int done = 0;
    while (left_ > 0) {
      if (left_ >= UNROLL) {
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) use(kBack ? t_ - u : t_ + u, offset(u), loaded_[u]);
      } else {
#pragma unroll
        for (int u = 0; u < UNROLL - 1; ++u) {
          if (u < left_) use(kBack ? t_ - u : t_ + u, offset(u), loaded_[u]);
        }
      }
      left_ -= UNROLL;
      t_ += kBack ? -UNROLL : UNROLL;
      read();
      done += UNROLL;
      after(done);
    }
  }
  template <class Use>
  __device__ __forceinline__ void run(const Use& use) {
    run(use, Nothing());
  }

 private:
  // Rows are one step apart, so that their offsets need no registers.
  __device__ __forceinline__ long long offset(int u) const {
    return FORM == 0 ? offsets_[u] : first_ + u * (kBack ? -walk_.step : walk_.step);
  }
  __device__ __forceinline__ void read() {
    first_ = walk_.offset;
    if (left_ >= UNROLL) {
#pragma unroll
      for (int u = 0; u < UNROLL; ++u) read_one(u);
    } else {
#pragma unroll
      for (int u = 0; u < UNROLL - 1; ++u) {
        if (u < left_) read_one(u);
      }
    }
  }
  __device__ __forceinline__ void read_one(int u) {
    if (FORM == 0) offsets_[u] = walk_.offset;
    loaded_[u] = load_(kBack ? t_ - u : t_ + u, walk_.offset);
    walk_.template advance<kBack>();
  }

  Load load_;
  int left_;
  int t_;
  Walk walk_;
  Loaded loaded_[UNROLL];
  long long first_;
  long long offsets_[UNROLL];
};

template <bool kBack, class Loaded, class Load>
__device__ __forceinline__ Visit<kBack, Loaded, Load> visit(const Share& share, int begin, int end,
                                                            const Load& load) {
  return Visit<kBack, Loaded, Load>(share, begin, end, load);
}
