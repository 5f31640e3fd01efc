// The operators of operators.inc. Each has a folder beside this file:
//
//   OP.h            the struct of its problems, with defaults and ==
//   fields.cc       the table of its fields, and OPOperator()
//   reference.cc    the result in higher precision, and the tolerance for it
//   driver.cc       its verb of MIOpenDriver, if it has one
//
// CONTRIBUTING.md shows how to add an operator.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attune/problem/operator.h"

namespace attune {

std::span<const Operator* const> Operators();
std::vector<std::string> OperatorNames();

// Null for an unknown name: its problems are an OtherOp.
const Operator* FindOperator(std::string_view name);

// Operator::EverydayProblems() of every operator.
std::vector<Problem> EverydayProblems();

}  // namespace attune
