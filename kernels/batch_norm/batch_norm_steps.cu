// Steps that the kernels of batch norm share, for every form (batch_norm_vectors.cu).

// The arguments of every kernel; operands that the problem does not have are null.
#define PARAMETERS                                                                               \
  const ELEMENT *__restrict__ x, const ELEMENT *__restrict__ dy, ELEMENT *__restrict__ y,        \
      const ELEMENT *__restrict__ residual, const float *__restrict__ gamma,                     \
      const float *__restrict__ beta, const float *__restrict__ mean,                            \
      const float *__restrict__ variance, float *__restrict__ running_mean,                      \
      float *__restrict__ running_variance, float *__restrict__ saved_mean,                      \
      float *__restrict__ saved_inverse_deviation, float *__restrict__ dgamma,                   \
      float *__restrict__ dbeta, ELEMENT *__restrict__ dresidual, ELEMENT *__restrict__ dx,      \
      float2 *workspace, int outer, int channels, int inner, int parts, int part_size, int keep, \
      float epsilon, float momentum

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
      gamma[l] = of_gamma != nullptr ? of_gamma[share.channel(l)] : 1.0f;
      beta[l] = FORWARD && of_beta != nullptr ? of_beta[share.channel(l)] : 0.0f;
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
    if (running_mean != nullptr) {
      const float unbiased = statistics.squares[l] / (share.tensor.values() - 1);
      running_mean[c] = (1 - momentum) * running_mean[c] + momentum * norm.mean[l];
      running_variance[c] = (1 - momentum) * running_variance[c] + momentum * unbiased;
    }
    if (saved_mean != nullptr) {
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

__device__ __forceinline__ Pack normalised(const Normalised& loaded, const Norm& norm,
                                           const Affine& affine) {
  float values[VEC];
#pragma unroll
  for (int i = 0; i < VEC; ++i) {
    const int l = LANE(i);
    values[i] = (real_of(loaded.x.elements[i]) - norm.mean[l]) * norm.scale[l] + affine.beta[l];
    if (ADD) values[i] += real_of(loaded.residual.elements[i]);
    if (RELU) values[i] = values[i] < 0 ? 0.0f : values[i];
  }
  return packed(values);
}

template <class Vectors>
__device__ __forceinline__ void normalise(Vectors& vectors, const Norm& norm, const Affine& affine,
                                          ELEMENT* y) {
  vectors.run([&](int, long long offset, const Normalised& loaded) {
    store(normalised(loaded, norm, affine), y + offset);
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

// A thread's sums of g and g (x - mean).
struct GradientSums {
  float own[2][VEC] = {};

  // Masks the gradient, and writes it if it is also the gradient of a residual.
  __device__ __forceinline__ void add(Gradients& loaded, const Norm& norm, ELEMENT* dresidual,
                                      long long offset) {
    mask_gradient(loaded);
    if (ADD && RELU) store(loaded.g, dresidual + offset);
#pragma unroll
    for (int i = 0; i < VEC; ++i) {
      const float g = real_of(loaded.g.elements[i]);
      own[0][i] += g;
      own[1][i] += g * (real_of(loaded.x.elements[i]) - norm.mean[LANE(i)]);
    }
  }

  // The sums of the block.
  __device__ __forceinline__ void over_block(float (&sums)[2][LANES], const Share& share,
                                             Shared& shared) const {
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
};

template <class Vectors, class Keep>
__device__ __forceinline__ void sum_gradients(Vectors& vectors, const Share& share,
                                              const Norm& norm, ELEMENT* dresidual,
                                              const Keep& kept_of, float (&sums)[2][LANES],
                                              Shared& shared) {
  GradientSums own;
  vectors.run([&](int t, long long offset, Gradients& loaded) {
    own.add(loaded, norm, dresidual, offset);
    kept_of(t, loaded);
  });
  own.over_block(sums, share, shared);
}

__device__ __forceinline__ void write_gradients(const float (&sums)[2][LANES], const Norm& norm,
                                                const Share& share, float* dgamma, float* dbeta) {
  if (dgamma == nullptr || share.part != 0 || share.ty != 0) return;
#pragma unroll
  for (int l = 0; l < LANES; ++l) {
    if (!share.owns(l)) continue;
    dgamma[share.channel(l)] = sums[1][l] * norm.inverse_deviation[l];
    dbeta[share.channel(l)] = sums[0][l];
  }
}

// dx of gradients that are masked.
struct Derivative {
  float mean_g[LANES];
  float slope[LANES];

  __device__ __forceinline__ Derivative(const Share& share, const Norm& norm,
                                        const float (&sums)[2][LANES]) {
    const float of_values = 1 / share.tensor.values();
#pragma unroll
    for (int l = 0; l < LANES; ++l) {
      mean_g[l] = sums[0][l] * of_values;
      slope[l] = sums[1][l] * of_values * norm.inverse_deviation[l] * norm.inverse_deviation[l];
    }
  }
  __device__ __forceinline__ Pack of(const Gradients& loaded, const Norm& norm) const {
    float result[VEC];
#pragma unroll
    for (int i = 0; i < VEC; ++i) {
      const int l = LANE(i);
      const float g = real_of(loaded.g.elements[i]);
      const float deviation = real_of(loaded.x.elements[i]) - norm.mean[l];
      result[i] = (g - mean_g[l] - deviation * slope[l]) * norm.scale[l];
    }
    return packed(result);
  }
};

// dx of vectors of gradients, which are already masked if kMasked.
template <bool kMasked, class Vectors>
__device__ __forceinline__ void differentiate(Vectors& vectors, const Derivative& derivative,
                                              const Norm& norm, ELEMENT* dx) {
  vectors.run([&](int, long long offset, Gradients& loaded) {
    if (!kMasked) mask_gradient(loaded);
    store(derivative.of(loaded, norm), dx + offset);
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
