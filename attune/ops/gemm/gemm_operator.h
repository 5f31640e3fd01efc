// The parts of the operator gemm. Private to this folder.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "attune/ops/gemm/gemm.h"
#include "attune/problem/operator.h"
#include "attune/problem/problem.h"
#include "attune/problem/reference.h"

namespace attune {

// gemm.cc
std::vector<Operand> OperandsOf(const Gemm& gemm);
// With alpha 0, neither A nor B is read.
bool MultipliesNothing(const Gemm& gemm);

// likeness.cc
// The family has transposes, types, classes of alpha and beta, epilogue, determinism, single or
// batch with its shared matrices, a side of C that is 1, and operands with padded leading
// dimensions.
std::string FamilyOf(const Gemm& gemm);
std::vector<std::string> GemmFeatureNames();
std::vector<double> FeatureValuesOf(const Gemm& gemm);
std::string LabelOf(const Gemm& gemm);

// everyday.cc
std::vector<Problem> EverydayGemms();

// reference.cc and special_values.cc
const Reference& GemmReference();
std::vector<std::unique_ptr<SpecialValues>> SpecialValuesOf(const Gemm& gemm,
                                                            const ReferenceData& data);

// driver.cc
Parsed<std::vector<Problem>> ReadGemmCommand(const DriverLine& line, std::string_view type);

}  // namespace attune
