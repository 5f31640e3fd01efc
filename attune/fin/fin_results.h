// What `fin` found out, as databases for MIOpen take it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "attune/fin/fin_response.h"
#include "attune/miopen/kernel_db.h"
#include "attune/miopen/measured_db.h"
#include "attune/problem/conv.h"

namespace attune::fin {

// Those of an evaluation of `conv` that succeeded, for miopen::FindDbOf and PerfDbOf.
std::vector<miopen::MeasuredResult> MeasuredOf(const Conv& conv, const Answer& evaluated);

// The kernels of all outcomes that succeeded, each name with its options once, in order of both.
// kDataLoss where two of them have the same and other code.
Result<std::vector<miopen::KernelRow>> KernelsOf(std::span<const Answer> answers,
                                                 const std::string& arch);

}  // namespace attune::fin
