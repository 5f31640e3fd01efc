// Kernels of CUDA C++ that no C name is enough for: instances of templates, and kernels in
// namespaces, named as the compiler names them ("scale<float, TILE>", "image::blur<3>").
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attune/kernel/kernel_file.h"

namespace attune::kernel {

// Whether `function` is one, and not a C name.
bool IsNameExpression(std::string_view function);

// What is wrong with `text` as a name expression, as a part of a sentence; empty if nothing is. The
// compiler alone knows whether there is such a kernel.
std::string MistakeInNameExpression(std::string_view text);

// Whether compiled code can call a kernel so: letters, digits, '_', '$' and '.', however many.
bool IsSymbol(std::string_view text);

// "blur" of "image::blur<3>", and any other name itself.
std::string_view LastNameOf(std::string_view function);

// The name expressions of all launches of `file`, launched or not, each once and in order: the
// compiler makes only instances that it is asked for.
std::vector<std::string> NameExpressionsOf(const KernelFile& file);

}  // namespace attune::kernel
