// The lines of PyTorch TunableOp's CSV files: untuned problems and tuned results, of every release
// since 2.3. docs/formats/lists.md says how their keys map to problems.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/problem/problem.h"
#include "attune/problem/text_error.h"

namespace attune {

// Whether `line` starts with an operator of TunableOp ("GemmTunableOp_float_TN,...").
bool IsTunableOpLine(std::string_view line);

// Whether `line` is a header line of a results file ("Validator,PT_VERSION,2.14.0").
bool IsTunableOpValidator(std::string_view line);

// `op,params[,anything]`: one problem. What TunableOp's key leaves out takes the value that PyTorch
// mostly uses: alpha 1, beta 0, packed batches, no activation. Scaled and complex products become
// an OtherOp.
Parsed<std::vector<Problem>> ReadTunableOpLine(std::string_view line);

// The two key fields of a line.
struct TunableOpKey {
  std::string op;      // "GemmTunableOp_float_TN"
  std::string params;  // "tn_4096_128_4096_ld_4096_4096_4096"

  friend bool operator==(const TunableOpKey&, const TunableOpKey&) = default;
};

// The key of `gemm`, in the form since release 2.7. Fails with kUnsupported for a type that
// TunableOp has not, and for a batched product with bias. What the key leaves out (strides, alpha,
// beta, activation) is lost.
Result<TunableOpKey> TunableOpKeyOf(const Gemm& gemm);

}  // namespace attune
