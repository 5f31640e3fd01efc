// What a source in OpenCL C or CUDA C++ says of the parameters of a kernel.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/data_type.h"
#include "attune/kernel/capture/spool_format.h"

namespace attune::capture {

struct KernelParameter {
  std::string name;  // Empty if it has none.
  std::string type;  // Without qualifiers and stars: "float4", "unsigned int".
  bool is_pointer = false;
  bool is_const = false;  // Of a pointer: what it points to.
  SpoolAddress address = SpoolAddress::kPrivate;
};

using Macros = std::map<std::string, std::string, std::less<>>;

// `text`, one parameter, in which the names of `macros` stand for their values.
KernelParameter ParseParameter(std::string_view text, const Macros& macros);

// The parameters of the kernel `function`, with macros and types that the source itself gives other
// names. It does what a reader of the text would do, and no more than that: nothing if the function
// is not found as a kernel, which is how sources that make their names by macros look. Of an
// instance of a template ("scale<float, 16>"), the parameters of the template stand for its
// arguments.
std::optional<std::vector<KernelParameter>> ParseSignature(std::string_view source,
                                                           std::string_view function,
                                                           const Macros& macros);

// What a value of `type` is made of: of "float4" and "float" f32. Nothing for types that attune has
// not, structures among them.
std::optional<DataType> ElementOf(std::string_view type);

}  // namespace attune::capture
