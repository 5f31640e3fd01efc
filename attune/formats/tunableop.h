// The lines of PyTorch TunableOp's CSV files: untuned problems and tuned results, of every release
// since 2.3. docs/formats/lists.md maps their keys to problems.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/problem/problem.h"
#include "attune/problem/text_error.h"

namespace attune {

// Returns true if `line` starts with an operator of TunableOp ("GemmTunableOp_float_TN,...").
bool IsTunableOpLine(std::string_view line);

// Returns true if `line` is a header line of a results file ("Validator,PT_VERSION,2.14.0").
bool IsTunableOpValidator(std::string_view line);

// `op,params[,anything]`: one problem. Values that TunableOp's key omits take PyTorch's usual ones:
// alpha 1, beta 0, packed batches, no activation. Scaled and complex GEMMs become an OtherOp.
Parsed<std::vector<Problem>> ReadTunableOpLine(std::string_view line);

// The two key fields of a line.
struct TunableOpKey {
  std::string op;      // "GemmTunableOp_float_TN"
  std::string params;  // "tn_4096_128_4096_ld_4096_4096_4096"

  friend bool operator==(const TunableOpKey&, const TunableOpKey&) = default;
};

// The key of `gemm`, in the form since release 2.7. kUnsupported for a type that TunableOp lacks,
// and for a batched GEMM with bias. The key omits strides, alpha, beta and activation.
Result<TunableOpKey> TunableOpKeyOf(const Gemm& gemm);

}  // namespace attune
