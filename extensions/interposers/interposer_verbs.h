// The verbs of the extension `interposers`.
#pragma once

#include "apps/attune/verbs.h"

namespace attune {

void AddBlasVerb(CLI::App& program, Invocation& invocation);
void AddCublasVerb(CLI::App& program, Invocation& invocation);
void AddCaptureVerb(CLI::App& program, Invocation& invocation);

}  // namespace attune
