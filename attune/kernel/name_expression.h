// Kernels of CUDA C++ that no C name is enough for: instances of templates, and kernels in
// namespaces, named as the compiler names them ("scale<float, TILE>", "image::blur<3>").
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attune/kernel/kernel_file.h"

namespace attune::kernel {

// True if `function` is a name expression, not a C name.
bool IsNameExpression(std::string_view function);

// The error in `text` as a name expression, as a part of a sentence; empty if it is valid. Only the
// compiler knows whether there is such a kernel.
std::string MistakeInNameExpression(std::string_view text);

// True if compiled code can name a kernel so: letters, digits, '_', '$' and '.', of any length.
bool IsSymbol(std::string_view text);

// "blur" of "image::blur<3>", and any other name itself.
std::string_view LastNameOf(std::string_view function);

// The name expressions of all launches of `file`, launched or not, each once and in order: the
// compiler makes only instances that it is asked for.
std::vector<std::string> NameExpressionsOf(const KernelFile& file);

}  // namespace attune::kernel
