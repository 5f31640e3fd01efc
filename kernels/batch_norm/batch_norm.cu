// The kernels of batch norm: batch_norm_vectors.cu describes the forms.

// The arguments of every kernel; operands that the problem does not have are null.
#define PARAMETERS                                                                          \
  const ELEMENT *__restrict__ x, const ELEMENT *__restrict__ dy, ELEMENT *__restrict__ y,   \
      const ELEMENT *__restrict__ residual, const float *__restrict__ gamma,                \
      const float *__restrict__ beta, const float *__restrict__ mean,                       \
      const float *__restrict__ variance, float *__restrict__ running_mean,                 \
      float *__restrict__ running_variance, float *__restrict__ saved_mean,                 \
      float *__restrict__ saved_inverse_deviation, float *__restrict__ dgamma,              \
      float *__restrict__ dbeta, ELEMENT *__restrict__ dresidual, ELEMENT *__restrict__ dx, \
      float2 *workspace, int outer, int channels, int inner, int keep, float epsilon,       \
      float momentum

struct Norm {
  float mean[LANES];
  float inverse_deviation[LANES];
  float scale[LANES];  // gamma times the inverse deviation.
};

// gamma and beta, to be read before the sums are exchanged.
struct Affine {
  float gamma[LANES];
  float beta[LANES];

  __device__ __forceinline__ Affine(const Share& share, const float* of_gamma,
                                    const float* of_beta) {
#pragma unroll
    for (int l = 0; l < LANES; ++l) {
      gamma[l] = AFFINE ? of_gamma[share.channel(l)] : 1.0f;
      beta[l] = AFFINE && FORWARD ? of_beta[share.channel(l)] : 0.0f;
    }
  }
};

__device__ __forceinline__ Norm norm_of(const Statistics& statistics, const Share& share,
                                        const Affine& affine, float epsilon) {
  Norm norm;
  const float of_values = 1 / share.tensor.values();
#pragma unroll
  for (int l = 0; l < LANES; ++l) {
    norm.mean[l] = statistics.mean[l];
    norm.inverse_deviation[l] = rsqrtf(statistics.squares[l] * of_values + epsilon);
    norm.scale[l] = norm.inverse_deviation[l] * affine.gamma[l];
  }
  return norm;
}

__device__ __forceinline__ void write_statistics(const Statistics& statistics, const Norm& norm,
                                                 const Share& share, float momentum,
                                                 float* running_mean, float* running_variance,
                                                 float* saved_mean,
                                                 float* saved_inverse_deviation) {
  if (share.part != 0 || share.ty != 0) return;
#pragma unroll
  for (int l = 0; l < LANES; ++l) {
    if (!share.owns(l)) continue;
    const int c = share.channel(l);
    if (RUNNING) {
      const float unbiased = statistics.squares[l] / (share.tensor.values() - 1);
      running_mean[c] = (1 - momentum) * running_mean[c] + momentum * norm.mean[l];
      running_variance[c] = (1 - momentum) * running_variance[c] + momentum * unbiased;
    }
    if (SAVED) {
      saved_mean[c] = norm.mean[l];
      saved_inverse_deviation[c] = norm.inverse_deviation[l];
    }
  }
}

struct Normalised {
  Pack x;
  Pack residual;
};

// Reads what `normalise` needs. x_at(t, offset) reads x.
template <class Read>
__device__ __forceinline__ auto visit_normalised(const Share& share, int begin, int end,
                                                 const ELEMENT* residual, const Read& x_at) {
  return visit<true, Normalised>(share, begin, end, [=](int t, long long offset) {
    Normalised loaded;
    loaded.x = x_at(t, offset);
    if (ADD) loaded.residual = load(residual + offset, true);
    return loaded;
  });
}

template <class Vectors>
__device__ __forceinline__ void normalise(Vectors& vectors, const Norm& norm, const Affine& affine,
                                          ELEMENT* y) {
  vectors.run([&](int, long long offset, const Normalised& loaded) {
    float values[VEC];
#pragma unroll
    for (int i = 0; i < VEC; ++i) {
      const int l = LANE(i);
      values[i] = (real_of(loaded.x.elements[i]) - norm.mean[l]) * norm.scale[l] + affine.beta[l];
      if (ADD) values[i] += real_of(loaded.residual.elements[i]);
      if (RELU) values[i] = values[i] < 0 ? 0.0f : values[i];
    }
    store(packed(values), y + offset);
  });
}

struct Gradients {
  Pack x;
  Pack g;
  Pack y;
};

__device__ __forceinline__ Gradients load_gradients(const ELEMENT* x, const ELEMENT* dy,
                                                    const ELEMENT* y, long long offset, bool last) {
  Gradients loaded;
  loaded.x = load(x + offset, last);
  loaded.g = load(dy + offset, last);
  if (RELU) loaded.y = load(y + offset, last);
  return loaded;
}

__device__ __forceinline__ void mask_gradient(Gradients& loaded) {
  if (RELU) {
#pragma unroll
    for (int i = 0; i < VEC; ++i) {
      if (real_of(loaded.y.elements[i]) <= 0) loaded.g.elements[i] = 0;
    }
  }
}

// The sums of g and g (x - mean) of this block.
template <class Vectors, class Keep>
__device__ __forceinline__ void sum_gradients(Vectors& vectors, const Share& share,
                                              const Norm& norm, ELEMENT* dresidual,
                                              const Keep& kept_of, float (&sums)[2][LANES],
                                              Shared& shared) {
  float own[2][VEC] = {};
  vectors.run([&](int t, long long offset, Gradients& loaded) {
    mask_gradient(loaded);
    if (ADD && RELU) store(loaded.g, dresidual + offset);
    kept_of(t, loaded);
#pragma unroll
    for (int i = 0; i < VEC; ++i) {
      const float g = real_of(loaded.g.elements[i]);
      own[0][i] += g;
      own[1][i] += g * (real_of(loaded.x.elements[i]) - norm.mean[LANE(i)]);
    }
  });
#pragma unroll
  for (int k = 0; k < 2; ++k) {
#pragma unroll
    for (int l = 0; l < LANES; ++l) sums[k][l] = own[k][l];
    if (FORM == 0) {
#pragma unroll
      for (int i = 1; i < VEC; ++i) sums[k][0] += own[k][i];
    }
  }
  add_over_block<1>(sums, share, shared);
}

__device__ __forceinline__ void write_gradients(const float (&sums)[2][LANES], const Norm& norm,
                                                const Share& share, float* dgamma, float* dbeta) {
  if (!AFFINE || share.part != 0 || share.ty != 0) return;
#pragma unroll
  for (int l = 0; l < LANES; ++l) {
    if (!share.owns(l)) continue;
    dgamma[share.channel(l)] = sums[1][l] * norm.inverse_deviation[l];
    dbeta[share.channel(l)] = sums[0][l];
  }
}

// dx of vectors of gradients, which are already masked if kMasked.
template <bool kMasked, class Vectors>
__device__ __forceinline__ void differentiate(Vectors& vectors, const Share& share,
                                              const Norm& norm, const float (&sums)[2][LANES],
                                              ELEMENT* dx) {
  float mean_g[LANES];
  float slope[LANES];
  const float of_values = 1 / share.tensor.values();
#pragma unroll
  for (int l = 0; l < LANES; ++l) {
    mean_g[l] = sums[0][l] * of_values;
    slope[l] = sums[1][l] * of_values * norm.inverse_deviation[l] * norm.inverse_deviation[l];
  }
  vectors.run([&](int, long long offset, Gradients& loaded) {
    if (!kMasked) mask_gradient(loaded);
    float result[VEC];
#pragma unroll
    for (int i = 0; i < VEC; ++i) {
      const int l = LANE(i);
      const float g = real_of(loaded.g.elements[i]);
      const float deviation = real_of(loaded.x.elements[i]) - norm.mean[l];
      result[i] = (g - mean_g[l] - deviation * slope[l]) * norm.scale[l];
    }
    store(packed(result), dx + offset);
  });
}

// The mean and the inverse deviation as the forward pass saved them.
__device__ __forceinline__ Norm saved_norm(const Share& share, const Affine& affine,
                                           const float* mean, const float* inverse_deviation) {
  Norm norm;
#pragma unroll
  for (int l = 0; l < LANES; ++l) {
    norm.mean[l] = mean[share.channel(l)];
    norm.inverse_deviation[l] = inverse_deviation[share.channel(l)];
    norm.scale[l] = norm.inverse_deviation[l] * affine.gamma[l];
  }
  return norm;
}

// Training or backward in one launch. A thread keeps its first `keep` vectors in shared memory; it
// reads the others again.
#if CLUSTER
#define CLUSTER_SIZE __cluster_dims__(SPLIT, 1, 1)
#else
#define CLUSTER_SIZE
#endif
#if (CLUSTER || SPLIT == 1) && !INFERENCE
// The statistics of the channel out of those of the parts, which each block of the cluster has.
__device__ __forceinline__ Statistics merged_cluster(const Statistics& statistics,
                                                     const Share& share, Shared& shared) {
  if (SPLIT == 1) return statistics;
#pragma unroll
  for (int l = 0; l < LANES; ++l) {
    if (share.owns(l)) {
      shared.statistics[share.local_channel(l)] =
          make_float2(statistics.mean[l], statistics.squares[l]);
    }
  }
  arrive_at_cluster();
  wait_for_cluster();
  const auto record = [&](int part, int l) {
    return record_in_cluster(shared.statistics + share.local_channel(l), part);
  };
  return merged_parts(share, record, shared);
}

#if TRAINING
extern "C" __global__ void CLUSTER_SIZE BOUNDS batch_norm_fused(PARAMETERS) {
  extern __shared__ uint4 dynamic_shared[];
  __shared__ Shared shared;
  WORD* kept_x = (WORD*)dynamic_shared + threadIdx.x;
  const Share share({outer, channels, inner}, blockIdx.x / SPLIT, blockIdx.x % SPLIT);
  const int kept = keep < share.count ? keep : share.count;
  const auto x_kept = [=](int t, long long) {
    Pack pack;
    pack.word = kept_x[t * THREADS];
    return pack;
  };
  Statistics statistics = statistics_of_part(
      share, x, kept, [=](int t, const Pack& pack) { kept_x[t * THREADS] = pack.word; }, shared);
  auto again = visit_normalised(share, kept, share.count, residual,
                                [=](int, long long offset) { return load(x + offset, true); });
  const Affine affine(share, gamma, beta);
  statistics = merged_cluster(statistics, share, shared);
  if (SPLIT > 1) arrive_at_cluster();
  const Norm norm = norm_of(statistics, share, affine, epsilon);
  write_statistics(statistics, norm, share, momentum, running_mean, running_variance, saved_mean,
                   saved_inverse_deviation);
  normalise(again, norm, affine, y);
  auto kept_vectors = visit_normalised(share, 0, kept, residual, x_kept);
  normalise(kept_vectors, norm, affine, y);
  // No block ends while others read its shared memory.
  if (SPLIT > 1) wait_for_cluster();
}
#else
extern "C" __global__ void CLUSTER_SIZE BOUNDS batch_norm_fused(PARAMETERS) {
  extern __shared__ uint4 dynamic_shared[];
  __shared__ Shared shared;
  WORD* kept_x = (WORD*)dynamic_shared + threadIdx.x;
  const Share share({outer, channels, inner}, blockIdx.x / SPLIT, blockIdx.x % SPLIT);
  const int kept = keep < share.count ? keep : share.count;
  const auto x_kept = [=](int t, long long) {
    Pack pack;
    pack.word = kept_x[t * THREADS];
    return pack;
  };
  const Affine affine(share, gamma, beta);
#if SAVED
  const Norm norm = saved_norm(share, affine, saved_mean, saved_inverse_deviation);
#else
  const Statistics statistics = statistics_of_part(
      share, x, kept, [=](int t, const Pack& pack) { kept_x[t * THREADS] = pack.word; }, shared);
  const Norm norm = norm_of(merged_cluster(statistics, share, shared), share, affine, epsilon);
#endif
  WORD* kept_g = kept_x + keep * THREADS;
  auto gradients = visit<false, Gradients>(share, 0, share.count, [=](int t, long long offset) {
    Gradients loaded;
    if (!SAVED && t < kept) {
      loaded.x = x_kept(t, offset);
      loaded.g = load(dy + offset, true);
      if (RELU) loaded.y = load(y + offset, true);
    } else {
      loaded = load_gradients(x, dy, y, offset, t < kept);
    }
    return loaded;
  });
  float sums[2][LANES];
  const auto keep_gradients = [=](int t, const Gradients& loaded) {
    if (t >= kept) return;
    if (SAVED) kept_x[t * THREADS] = loaded.x.word;
    kept_g[t * THREADS] = loaded.g.word;
  };
  sum_gradients(gradients, share, norm, dresidual, keep_gradients, sums, shared);
  auto again = visit<true, Gradients>(share, kept, share.count, [=](int, long long offset) {
    return load_gradients(x, dy, y, offset, true);
  });
  if (SPLIT > 1) {
#pragma unroll
    for (int l = 0; l < LANES; ++l) {
      if (share.owns(l)) shared.sums[share.local_channel(l)] = make_float2(sums[0][l], sums[1][l]);
    }
    arrive_at_cluster();
    wait_for_cluster();
    const auto record = [&](int part, int l) {
      return record_in_cluster(shared.sums + share.local_channel(l), part);
    };
    add_parts<0>(share, record, sums, shared);
    arrive_at_cluster();
  }
  write_gradients(sums, norm, share, dgamma, dbeta);
  differentiate<false>(again, share, norm, sums, dx);
  auto kept_vectors = visit<true, Gradients>(share, 0, kept, [=](int t, long long) {
    Gradients loaded;
    loaded.x.word = kept_x[t * THREADS];
    loaded.g.word = kept_g[t * THREADS];
    return loaded;
  });
  differentiate<true>(kept_vectors, share, norm, sums, dx);
  // No block ends while others read its shared memory.
  if (SPLIT > 1) wait_for_cluster();
}
#endif
#else
// Without a cluster: SPLIT parts of every channel, neighbouring channels side by side. The first
// launches read the first `keep` vectors of a thread so that they leave the L2 cache to the others,
// which the last launch reads first.
__device__ __forceinline__ Share share_of_block(const Tensor& tensor, int block) {
  const int groups = gridDim.x / SPLIT;
  return Share(tensor, block % groups, block / groups);
}

// Where the parts' statistics and, behind them, their sums are.
__device__ __forceinline__ float2* record_at(float2* workspace, const Share& share, int part,
                                             int l) {
  return workspace + (long long)part * share.tensor.channels + share.channel(l);
}

__device__ __forceinline__ Statistics statistics_of_workspace(float2* workspace, const Share& share,
                                                              Shared& shared) {
  return merged_parts(
      share, [&](int part, int l) { return *record_at(workspace, share, part, l); }, shared);
}

#if TRAINING || (!FORWARD && !SAVED)
extern "C" __global__ void BOUNDS batch_norm_statistics(PARAMETERS) {
  __shared__ Shared shared;
  const Share share = share_of_block({outer, channels, inner}, blockIdx.x);
  const Statistics statistics = statistics_of_part(
      share, x, keep, [](int, const Pack&) {}, shared);
#pragma unroll
  for (int l = 0; l < LANES; ++l) {
    if (!share.owns(l)) continue;
    *record_at(workspace, share, share.part, l) =
        make_float2(statistics.mean[l], statistics.squares[l]);
  }
}
#endif

#if !FORWARD
__device__ __forceinline__ Norm backward_norm(const Share& share, float2* workspace,
                                              const Affine& affine, const float* mean,
                                              const float* inverse_deviation, float epsilon,
                                              Shared& shared) {
  if (SAVED) return saved_norm(share, affine, mean, inverse_deviation);
  return norm_of(statistics_of_workspace(workspace, share, shared), share, affine, epsilon);
}

extern "C" __global__ void BOUNDS batch_norm_sums(PARAMETERS) {
  __shared__ Shared shared;
  const Share share = share_of_block({outer, channels, inner}, blockIdx.x);
  auto gradients = visit<false, Gradients>(share, 0, share.count, [=](int t, long long offset) {
    return load_gradients(x, dy, y, offset, t < keep);
  });
  const Affine affine(share, gamma, beta);
  const Norm norm =
      backward_norm(share, workspace, affine, saved_mean, saved_inverse_deviation, epsilon, shared);
  float sums[2][LANES];
  sum_gradients(
      gradients, share, norm, dresidual, [](int, const Gradients&) {}, sums, shared);
#pragma unroll
  for (int l = 0; l < LANES; ++l) {
    if (!share.owns(l)) continue;
    *record_at(workspace, share, SPLIT + share.part, l) = make_float2(sums[0][l], sums[1][l]);
  }
}
#endif

// The last launch. The data that the launch before it began with come last.
extern "C" __global__ void BOUNDS batch_norm_apply(PARAMETERS) {
  __shared__ Shared shared;
  const Share share =
      share_of_block({outer, channels, inner}, INFERENCE ? blockIdx.x : gridDim.x - 1 - blockIdx.x);
#if FORWARD
  auto vectors = visit_normalised(share, 0, share.count, residual,
                                  [=](int, long long offset) { return load(x + offset, true); });
  const Affine affine(share, gamma, beta);
  Norm norm;
  if (INFERENCE) {
#pragma unroll
    for (int l = 0; l < LANES; ++l) {
      norm.mean[l] = mean[share.channel(l)];
      norm.scale[l] = rsqrtf(variance[share.channel(l)] + epsilon) * affine.gamma[l];
    }
  } else {
    const Statistics statistics = statistics_of_workspace(workspace, share, shared);
    norm = norm_of(statistics, share, affine, epsilon);
    write_statistics(statistics, norm, share, momentum, running_mean, running_variance, saved_mean,
                     saved_inverse_deviation);
  }
  normalise(vectors, norm, affine, y);
#else
  auto gradients = visit<true, Gradients>(share, 0, share.count, [=](int, long long offset) {
    return load_gradients(x, dy, y, offset, true);
  });
  const Affine affine(share, gamma, beta);
  const Norm norm =
      backward_norm(share, workspace, affine, saved_mean, saved_inverse_deviation, epsilon, shared);
  float sums[2][LANES];
  add_parts<1>(
      share, [&](int part, int l) { return *record_at(workspace, share, SPLIT + part, l); }, sums,
      shared);
  write_gradients(sums, norm, share, dgamma, dbeta);
  differentiate<false>(gradients, share, norm, sums, dx);
#endif
}
#endif
