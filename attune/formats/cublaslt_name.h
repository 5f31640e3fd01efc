// TunableOp's name for an algorithm of cuBLASLt, which is a candidate here, too.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "attune/base/status.h"
#include "attune/trial/candidate.h"

namespace attune {

// "Gemm_Cublaslt_id_66_tile_20_stages_4_splitk_1_red_0_swizzle_0_custom_0_inner_0_cluster_2" for
// the candidate of cuda.cublaslt-gemm@1 with these nine fields (docs/formats/candidate.md). Nothing
// for a candidate that such a name cannot express: any other solver, cuBLASLt's first answer (which
// has no fields), a copy with padding, a field out of the range of its attribute.
std::optional<std::string> CublasLtNameOf(const Candidate& candidate);

// The inverse. Nothing for names that CublasLtNameOf never returns: another field, order or
// spelling.
std::optional<Candidate> ParseCublasLtName(std::string_view name);

// The text for `candidate` in the solution column: its name above, else its text.
std::string SolutionText(const Candidate& candidate);

// The candidate that a solution column names in either way, unescaped. kInvalidArgument for any
// other text, such as "Default" or "Gemm_Rocblas_42".
Result<Candidate> ParseSolution(std::string_view solution);

}  // namespace attune
