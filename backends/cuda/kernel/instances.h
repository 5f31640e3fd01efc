// Kernels that are requested by name expressions ("scale<float, 16>"): the compiler's symbols for
// them are stored behind the code.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attune/base/status.h"

namespace attune::cuda {

// Compiler options of a recipe together with the required kernels of its code.
struct InstanceOptions {
  std::string options;                        // Separated by single spaces.
  std::vector<std::string> name_expressions;  // Without ';' and control characters.

  friend bool operator==(const InstanceOptions&, const InstanceOptions&) = default;
};

// Converts to the options of a BuildRecipe, which are the plain options without name expressions;
// and back.
std::string Joined(const InstanceOptions& options);
InstanceOptions Divided(std::string_view recipe_options);

// Name expressions and symbols.
using Symbols = std::vector<std::pair<std::string, std::string>>;

// `cubin` followed by the table of `symbols`. Loaders find the end of machine code by its header
// and ignore the table.
std::string WithSymbols(std::string cubin, const Symbols& symbols);

// The symbol of the kernel `function` in `cubin`: itself, unless the table has it.
std::string SymbolOf(std::string_view cubin, const std::string& function);

// kNotFound names a kernel of `functions` that is missing from `cubin`, and those present. Ok where
// the code is not understood: then the driver decides.
Status CheckHasKernels(std::string_view cubin, const std::vector<std::string>& functions);

}  // namespace attune::cuda
