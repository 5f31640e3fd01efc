// The verb of the extension `tunable`.
#pragma once

#include "apps/attune/verbs.h"

namespace attune {

void AddTunableVerb(CLI::App& program, Invocation& invocation);

}  // namespace attune
