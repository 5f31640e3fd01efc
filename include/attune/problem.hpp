// The problems of attune.h as values.
#ifndef ATTUNE_PROBLEM_HPP_
#define ATTUNE_PROBLEM_HPP_

#include <array>
#include <cstddef>
#include <cstdint>

#include "attune/attune.h"

namespace attune {
inline namespace v1 {

// attune_gemm; every field has the meaning that attune.h says.
struct GemmProblem {
  std::int64_t m = 1, n = 1, k = 1;
  std::int64_t lda = 0, ldb = 0, ldc = 0;  // 0: packed.
  std::int64_t batch_count = 1;
  std::int64_t stride_a = 0, stride_b = 0, stride_c = 0;
  bool trans_a = false, trans_b = false;
  attune_type type = ATTUNE_F32;
  attune_bias bias = ATTUNE_BIAS_NONE;
  attune_activation activation = ATTUNE_ACTIVATION_NONE;
  bool deterministic = false;
  int alignment_bytes = 0;
  attune_math math = ATTUNE_STRICT;

  attune_gemm ToC() const {
    return {m,
            n,
            k,
            lda,
            ldb,
            ldc,
            batch_count,
            stride_a,
            stride_b,
            stride_c,
            trans_a,
            trans_b,
            type,
            bias,
            activation,
            deterministic,
            alignment_bytes,
            math};
  }
};

// attune_conv. Spatial fields are depth, height, width; 2-D leaves depth as it is.
using Spatial = std::array<std::int64_t, 3>;
struct ConvProblem {
  std::int64_t batch = 1, in_channels = 1, out_channels = 1, groups = 1;
  Spatial in = {1, 1, 1}, filter = {1, 1, 1}, pad = {0, 0, 0}, stride = {1, 1, 1},
          dilation = {1, 1, 1};
  attune_direction direction = ATTUNE_FORWARD;
  int spatial_rank = 2;
  attune_layout in_layout = ATTUNE_NCHW, weights_layout = ATTUNE_NCHW, out_layout = ATTUNE_NCHW;
  attune_type type = ATTUNE_F32;
  bool bias = false;
  bool deterministic = false;
  int alignment_bytes = 0;
  attune_math math = ATTUNE_STRICT;

  attune_conv ToC() const {
    attune_conv c{};
    c.batch = batch;
    c.in_channels = in_channels;
    c.out_channels = out_channels;
    c.groups = groups;
    for (std::size_t i = 0; i < 3; ++i) {
      c.in[i] = in[i];
      c.filter[i] = filter[i];
      c.pad[i] = pad[i];
      c.stride[i] = stride[i];
      c.dilation[i] = dilation[i];
    }
    c.direction = direction;
    c.spatial_rank = spatial_rank;
    c.in_layout = in_layout;
    c.weights_layout = weights_layout;
    c.out_layout = out_layout;
    c.type = type;
    c.bias = bias;
    c.deterministic = deterministic;
    c.alignment_bytes = alignment_bytes;
    c.math = math;
    return c;
  }
};

}  // namespace v1
}  // namespace attune

#endif  // ATTUNE_PROBLEM_HPP_
