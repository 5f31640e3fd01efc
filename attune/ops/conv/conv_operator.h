// The parts of the operator conv. Private to this folder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attune/ops/conv/conv.h"
#include "attune/problem/operator.h"
#include "attune/problem/problem.h"
#include "attune/problem/reference.h"

namespace attune {

// conv.cc
std::vector<Operand> OperandsOf(const Conv& conv);
double FlopsOf(const Conv& conv);
int64_t ReductionLengthOf(const Conv& conv);

// likeness.cc
// The family has direction, mode, rank, layouts, types, bias, determinism, filter, stride,
// dilation, and flags for padded, grouped and depthwise.
std::string FamilyOf(const Conv& conv);
Position PositionOf(const Conv& conv);
std::vector<std::string> ConvFeatureNames();
std::vector<double> FeatureValuesOf(const Conv& conv);
std::string LabelOf(const Conv& conv);

// everyday.cc
std::vector<Problem> EverydayConvs();

// reference.cc
const Reference& ConvReference();

// driver.cc
Parsed<std::vector<Problem>> ReadConvCommand(const DriverLine& line, std::string_view type);

}  // namespace attune
