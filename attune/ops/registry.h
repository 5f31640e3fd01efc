// The operators that attune knows: those of operators.inc. Each has a folder beside this file:
//
//   OP.h            the struct of its problems, with defaults and ==
//   fields.cc       the table of its fields, and OPOperator()
//   reference.cc    the right answer in higher precision, and how far a result may lie from it
//   driver.cc       its verb of MIOpenDriver, if it has one
//
// CONTRIBUTING.md shows how to add one.
#pragma once

#include <span>
#include <string_view>

#include "attune/problem/operator.h"

namespace attune {

std::span<const Operator* const> Operators();

// Null for a name that is not known: problems of that operator are an OtherOp.
const Operator* FindOperator(std::string_view name);

}  // namespace attune
