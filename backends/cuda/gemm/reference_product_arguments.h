// Arguments of the kernels of reference_product.cu, for the kernels and for the code that launches
// them: this text is part of both programs. Distances are in elements.
#pragma once

namespace attune::cuda {

enum ReferenceType {
  kReferenceF64,
  kReferenceF32,
  kReferenceF16,
  kReferenceBf16,
  kReferenceF8E4M3,
  kReferenceF8E5M2,
  kReferenceI8,
  kReferenceI32
};

enum ReferenceActivation {
  kReferencePlain,
  kReferenceRelu,
  kReferenceGelu,
  kReferenceTanh,
  kReferenceSigmoid
};

// One factor of the products. Its two indices, k and that of the output (m or n), are split into
// four digits: an unlimited outer digit, and three inner digits, the last fastest. Together they
// give a position on three axes, digit_of_k * k_at + digit_of_output * out_at + at, which is
// divided by `divisor`. Where it does not divide or is not below `extent`, the factor is 0. This
// covers everything that gathers windows of images, in either direction; matrices have no inner
// digits.
struct Factor {
  const void* from;
  int type;
  long long product;  // From product to product.
  long long k, out;   // For each step of an outer digit.
  long long step[3];  // From position to position.
  int k_at[3], out_at[3], at[3];
  int divisor[3], extent[3];
};

// The location of an element of the output, or of its bias.
struct Destination {
  long long product, m, n;  // For each step of the outer digits.
  long long step[3];        // For each step of the inner digits of n.
};

// `count` products out(m, n) = activation(alpha * sum over k of a(k, m) * b(k, n) + beta * initial
// + bias), with outputs of f64.
struct ReferenceProduct {
  Factor a, b;
  long long count, m, n, k;
  int n_extents[3], k_extents[3];  // Inner digits.
  Destination to_place, bias_place;
  double* to;
  const void* initial;  // Laid out as `to`; null: beta is ignored.
  const void* bias;     // Null: none.
  int output_type;      // Element type of `initial` and `bias`.
  int activation;
  double alpha, beta;
};

}  // namespace attune::cuda
