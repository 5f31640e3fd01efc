// Kernel descriptions of the autotuning community's format T1 as kernel files of attune's.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "attune/base/status.h"

namespace attune::kernel {

// True if `document` is T1: it has ConfigurationSpace and KernelSpecification.
bool IsT1(const nlohmann::json& document);

// The same kernel as a file of the operator `kernel` (docs/formats/kernel_file.md, "T1").
// kInvalidArgument names the part that cannot be expressed, after its JSON pointer into `document`.
Result<nlohmann::json> KernelFileOfT1(const nlohmann::json& document);

// The JSON pointer into the T1 document for the pointer `place` into that kernel file; the nearest
// one, where several places made it.
std::string PlaceInT1(std::string_view place);

}  // namespace attune::kernel
