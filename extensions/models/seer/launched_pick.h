// Determines which of cuDNN's algorithms its heuristic would run, from the kernels that calls
// launch.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/device/launch_observer.h"
#include "attune/model/seer_layer.h"

namespace attune::seer {

// The solver's name of a cuDNN algorithm, by number; empty for one that it never had.
const std::string& SolverAlgorithmName(int algorithm);

// The solver's name of the heuristic's first answer.
inline constexpr std::string_view kFirstAlgorithm = "first";

// The launches of a call of the named algorithm.
using LaunchesByName = std::function<Result<std::vector<ObservedLaunch>>(const std::string& name)>;

// The first algorithm with the same launches as the heuristic's answer. Skips algorithms that the
// device does not compute or that do not fit. kUnsupported if none matches, with the kernels; else
// the failure of the query.
Result<int> LaunchedPick(const LaunchesByName& launches_of);

}  // namespace attune::seer
