// `attune session ...`, one function each.
#pragma once

#include "apps/attune/verbs.h"

namespace attune {

void AddSessionNewVerb(CLI::App& session, Invocation& invocation);
void AddSessionListVerb(CLI::App& session, Invocation& invocation);
void AddSessionShowVerb(CLI::App& session, Invocation& invocation);
void AddSessionDiffVerb(CLI::App& session, Invocation& invocation);
void AddSessionCloseVerb(CLI::App& session, Invocation& invocation);

}  // namespace attune
