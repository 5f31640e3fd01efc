// Parameters of a kernel, read from a source in OpenCL C or CUDA C++.
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
  bool is_const = false;  // The pointee is const.
  SpoolAddress address = SpoolAddress::kPrivate;
};

using Macros = std::map<std::string, std::string, std::less<>>;

// `text`, one parameter, in which the names of `macros` stand for their values.
KernelParameter ParseParameter(std::string_view text, const Macros& macros);

// The parameters of the kernel `function`, with macros and type aliases of the source resolved. It
// reads text and expands nothing else: the result is empty if the function is not found as a
// kernel, as in sources that build their names with macros. For an instance of a template
// ("scale<float, 16>"), the parameters of the template stand for its arguments.
std::optional<std::vector<KernelParameter>> ParseSignature(std::string_view source,
                                                           std::string_view function,
                                                           const Macros& macros);

// The element type of `type`: f32 for "float4" and "float". Empty for types that attune lacks, such
// as structures.
std::optional<DataType> ElementOf(std::string_view type);

}  // namespace attune::capture
