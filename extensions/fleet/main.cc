// The program of `attune` for the verbs of extension.txt.
#include "apps/attune/program.h"
#include "extensions/fleet/fleet_verbs.h"

int main(int argc, char** argv) {
  std::vector<attune::VerbAdder> verbs = attune::CoreVerbs();
  verbs.insert(verbs.end(),
               {attune::AddSessionVerb, attune::AddApplicabilityVerb, attune::AddJobsVerb,
                attune::AddStatusVerb, attune::AddGoldenVerb, attune::AddNetworksVerb,
                attune::AddWorkerVerb, attune::AddWorkersVerb, attune::AddReconcileVerb});
  return attune::RunProgram(argc, argv, attune::ProgramKind::kExtension, verbs);
}
