// Splits the words that a program compiled its kernel with: tunable values, plain definitions, and
// options for the compiler.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attune/kernel/capture/signature.h"
#include "attune/space/config.h"

namespace attune::capture {

struct Macro {
  std::string name;
  std::string value;  // "1" of -DNAME, as compilers have it.
};

struct BuildOptions {
  std::vector<Macro> macros;          // In order; the last of a name alone.
  std::vector<std::string> further;   // Each begins with '-' and has no blanks.
  std::vector<std::string> left_out;  // Words that a kernel file cannot have, with their reasons.
};

// Parses `text`, which a program passed to the compiler of `language`. Relative folders of -I begin
// in `folder`. Options that attune passes itself (the GPU, the standard of OpenCL if it is 1.2) are
// left out silently.
BuildOptions TakeApart(std::string_view text, std::string_view language, std::string_view folder);

// The value as that of a parameter: a whole number, a real one or a name. Nothing for expressions,
// numbers with suffixes and all else.
std::optional<ParameterValue> ParameterOf(const Macro& macro);

}  // namespace attune::capture
