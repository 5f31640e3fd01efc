// Where the time of a first call on an NVIDIA GPU goes: cuDNN's calls one by one, and the same
// convolutions by a kernel of attune's own.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "attune/base/status.h"
#include "attune/ops/conv/conv.h"

namespace attune {

// Steps of `convs`, none of which this process has computed before, on `device`: medians in
// microseconds. The first half only warms up.
Result<nlohmann::ordered_json> MeasureFirstCallSteps(const std::string& device,
                                                     const std::vector<Conv>& convs);

void PrintFirstCallSteps(const nlohmann::ordered_json& steps);

}  // namespace attune
