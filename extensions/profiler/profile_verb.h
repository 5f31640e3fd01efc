// The verb of the extension `profiler`.
#pragma once

#include "apps/attune/verbs.h"

namespace attune {

void AddProfileVerb(CLI::App& program, Invocation& invocation);

}  // namespace attune
