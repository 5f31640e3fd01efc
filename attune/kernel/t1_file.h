// Kernel descriptions of the autotuning community's format T1 as kernel files of attune's.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "attune/base/status.h"

namespace attune::kernel {

// Whether `document` is one: it has ConfigurationSpace and KernelSpecification.
bool IsT1(const nlohmann::json& document);

// The same kernel as a file of the operator `kernel` (docs/formats/kernel_file.md, "T1").
// kInvalidArgument begins with the JSON pointer into `document` of what cannot be expressed, and
// names it.
Result<nlohmann::json> KernelFileOfT1(const nlohmann::json& document);

// The JSON pointer into the T1 document of what stands at the pointer `place` of that kernel file;
// the nearest that there is, where several places made it.
std::string PlaceInT1(std::string_view place);

}  // namespace attune::kernel
