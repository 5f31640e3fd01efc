// The kernels of batch norm: batch_norm_vectors.cu describes the forms.

#if !INFERENCE
// Training or backward in one launch: one block computes a channel, or a cluster of `parts` blocks.
// A thread keeps its first `keep` vectors in shared memory; it reads the others again.
// The statistics of the channel, merged from those of its parts in the blocks of the cluster.
__device__ __forceinline__ Statistics merged_cluster(const Statistics& statistics,
                                                     const Share& share, Shared& shared) {
  if (share.tensor.parts == 1) return statistics;
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
extern "C" __global__ void BOUNDS batch_norm_fused(PARAMETERS) {
  extern __shared__ uint4 dynamic_shared[];
  __shared__ Shared shared;
  WORD* kept_x = (WORD*)dynamic_shared + threadIdx.x;
  const Share share({outer, channels, inner, parts, part_size}, blockIdx.x / parts,
                    blockIdx.x % parts);
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
  if (parts > 1) arrive_at_cluster();
  const Norm norm = norm_of(statistics, share, affine, epsilon);
  write_statistics(statistics, norm, share, momentum, running_mean, running_variance, saved_mean,
                   saved_inverse_deviation);
  normalise(again, norm, affine, y);
  auto kept_vectors = visit_normalised(share, 0, kept, residual, x_kept);
  normalise(kept_vectors, norm, affine, y);
  // No block ends while others read its shared memory.
  if (parts > 1) wait_for_cluster();
}
#else
extern "C" __global__ void BOUNDS batch_norm_fused(PARAMETERS) {
  extern __shared__ uint4 dynamic_shared[];
  __shared__ Shared shared;
  WORD* kept_x = (WORD*)dynamic_shared + threadIdx.x;
  const Share share({outer, channels, inner, parts, part_size}, blockIdx.x / parts,
                    blockIdx.x % parts);
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
  if (parts > 1) {
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
  const Derivative derivative(share, norm, sums);
  differentiate<false>(again, derivative, norm, dx);
  auto kept_vectors = visit<true, Gradients>(share, 0, kept, [=](int t, long long) {
    Gradients loaded;
    loaded.x.word = kept_x[t * THREADS];
    loaded.g.word = kept_g[t * THREADS];
    return loaded;
  });
  differentiate<true>(kept_vectors, derivative, norm, dx);
  // No block ends while others read its shared memory.
  if (parts > 1) wait_for_cluster();
}
#endif
#endif

// In several launches: `parts` parts of every channel, neighbouring channels side by side. The
// first launches read the first `keep` vectors of a thread so that they leave the L2 cache to the
// others, which the last launch reads first.
__device__ __forceinline__ Share share_of_block(const Tensor& tensor, int block) {
  const int groups = gridDim.x / tensor.parts;
  return Share(tensor, block % groups, block / groups);
}

// The statistics of a part in the workspace. The sums of part p follow at part parts + p.
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
  const Share share = share_of_block({outer, channels, inner, parts, part_size}, blockIdx.x);
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
  const Share share = share_of_block({outer, channels, inner, parts, part_size}, blockIdx.x);
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
    *record_at(workspace, share, parts + share.part, l) = make_float2(sums[0][l], sums[1][l]);
  }
}
#endif

// The last launch. The data that the launch before it began with come last.
extern "C" __global__ void BOUNDS batch_norm_apply(PARAMETERS) {
  __shared__ Shared shared;
  const Share share = share_of_block({outer, channels, inner, parts, part_size},
                                     INFERENCE ? blockIdx.x : gridDim.x - 1 - blockIdx.x);
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
      share, [&](int part, int l) { return *record_at(workspace, share, parts + part, l); }, sums,
      shared);
  write_gradients(sums, norm, share, dgamma, dbeta);
  differentiate<false>(gradients, Derivative(share, norm, sums), norm, dx);
#endif
}
