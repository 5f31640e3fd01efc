// Outputs that would replace input files, or each other.
#pragma once

#include <span>
#include <string>

#include "attune/base/status.h"

namespace attune {

// kInvalidArgument if `output` is one of `inputs`, by any name.
Status CheckNoInput(const std::string& output, std::span<const std::string> inputs);

// kInvalidArgument if the arguments of two options are one file. Empty names are none, and standard
// output takes both.
Status CheckTwoFiles(const std::string& output, const std::string& other,
                     const std::string& other_option);

}  // namespace attune
