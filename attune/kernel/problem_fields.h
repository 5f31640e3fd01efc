// Fields of a problem that expressions of a kernel file may read, by name.
// docs/formats/kernel_file.md lists them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attune/problem/problem.h"
#include "attune/space/config.h"

namespace attune::kernel {

// Names of one operator's fields, by their permitted use in a kernel.
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

// The smallest problem of the same classes that keeps the values of `problem` for the sizes in
// `kept`: a dynamic kernel is warmed up on it when it is compiled. Other extents become 1, or as
// large as the kept ones require. kUnsupported if that is no valid problem.
Result<Problem> SmallestLike(const Problem& problem, const std::vector<std::string>& kept);

}  // namespace attune::kernel
