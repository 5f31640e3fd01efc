// The verbs of the extension `fleet`.
#pragma once

#include "apps/attune/verbs.h"

namespace attune {

void AddSessionVerb(CLI::App& program, Invocation& invocation);
void AddApplicabilityVerb(CLI::App& program, Invocation& invocation);
void AddJobsVerb(CLI::App& program, Invocation& invocation);
void AddStatusVerb(CLI::App& program, Invocation& invocation);
void AddGoldenVerb(CLI::App& program, Invocation& invocation);
void AddNetworksVerb(CLI::App& program, Invocation& invocation);
void AddWorkerVerb(CLI::App& program, Invocation& invocation);
void AddWorkersVerb(CLI::App& program, Invocation& invocation);
void AddReconcileVerb(CLI::App& program, Invocation& invocation);

// Below `attune session` and `attune golden`.
void AddSessionNewVerb(CLI::App& session, Invocation& invocation);
void AddSessionListVerb(CLI::App& session, Invocation& invocation);
void AddSessionShowVerb(CLI::App& session, Invocation& invocation);
void AddSessionDiffVerb(CLI::App& session, Invocation& invocation);
void AddSessionCloseVerb(CLI::App& session, Invocation& invocation);
void AddGoldenExportVerb(CLI::App& golden, Invocation& invocation);

}  // namespace attune
