// What expressions of a kernel file may read about a problem, by name. docs/formats/kernel_file.md
// lists them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attune/problem/problem.h"
#include "attune/space/config.h"

namespace attune::kernel {

// Names of one operator's fields, by what a kernel may do with them.
struct FieldNames {
  std::vector<std::string> sizes;    // A kernel file declares each run-time or compile-time.
  std::vector<std::string> derived;  // Sizes that follow from others; run-time unless declared.
  std::vector<std::string> classes;  // Small sets of values; always known when compiling.
  std::vector<std::string> operands;
};

// Null for an operator that is not known.
const FieldNames* FieldNamesOf(std::string_view operator_name);

// Every field of `problem`: of a user's kernel its sizes. Empty for any other OtherOp.
Config FieldsOf(const Problem& problem);

// The smallest problem of the same classes in which the sizes named in `kept` have the values of
// `problem`: what a dynamic kernel is warmed up on when it is compiled. Extents that are not kept
// become 1, or as large as the kept ones need them to be. kUnsupported if that is no valid problem.
Result<Problem> SmallestLike(const Problem& problem, const std::vector<std::string>& kept);

}  // namespace attune::kernel
