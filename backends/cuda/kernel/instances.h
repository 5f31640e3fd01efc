// Kernels that the compiler is asked for by name expressions ("scale<float, 16>"): what it calls
// them in the code (their symbols) travels behind that code.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attune/base/status.h"

namespace attune::cuda {

// Compiler options of a recipe together with the kernels that its code has to have.
struct InstanceOptions {
  std::string options;                        // Separated by single spaces.
  std::vector<std::string> name_expressions;  // Without ';' and control characters.

  friend bool operator==(const InstanceOptions&, const InstanceOptions&) = default;
};

// As the options of a BuildRecipe, which are those alone where there are no name expressions; and
// back.
std::string Joined(const InstanceOptions& options);
InstanceOptions Divided(std::string_view recipe_options);

// Name expressions and symbols.
using Symbols = std::vector<std::pair<std::string, std::string>>;

// `cubin` with the table of `symbols` behind it. Whoever loads machine code finds its end by its
// header and does not look at the table.
std::string WithSymbols(std::string cubin, const Symbols& symbols);

// What the kernel `function` is called in `cubin`: itself, unless the table has it.
std::string SymbolOf(std::string_view cubin, const std::string& function);

// kNotFound names a kernel of `functions` that is not in `cubin`, and what is there. Ok where the
// code is not understood, which is left to the driver.
Status CheckHasKernels(std::string_view cubin, const std::vector<std::string>& functions);

}  // namespace attune::cuda
