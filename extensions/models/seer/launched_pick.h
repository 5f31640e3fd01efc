// Which of cuDNN's algorithms its heuristic would run, told by the kernels that calls launch.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/device/launch_observer.h"
#include "attune/model/seer_layer.h"

namespace attune::seer {

// What the solver calls cuDNN's algorithms, by number; empty for one that it never had.
const std::string& SolverAlgorithmName(int algorithm);

// What it calls the heuristic's first answer.
inline constexpr std::string_view kFirstAlgorithm = "first";

// The launches of a call of the algorithm with this name.
using LaunchesByName = std::function<Result<std::vector<ObservedLaunch>>(const std::string& name)>;

// The first algorithm that launches what the heuristic's answer does. An algorithm that the device
// does not compute, or that does not fit, is passed over. kUnsupported if none launches it, with
// the kernels; else the failure of what could not be asked.
Result<int> LaunchedPick(const LaunchesByName& launches_of);

}  // namespace attune::seer
