// Outputs that would replace what is read, or each other.
#pragma once

#include <span>
#include <string>

#include "attune/base/status.h"

namespace attune {

// kInvalidArgument if `output` is one of `inputs`, whatever it is called.
Status CheckNoInput(const std::string& output, std::span<const std::string> inputs);

// kInvalidArgument if what goes after two options is one file. Empty names are none, and
// standard output takes both.
Status CheckTwoFiles(const std::string& output, const std::string& other,
                     const std::string& other_option);

}  // namespace attune
