// The program of `attune` for the verbs of extension.txt.
#include "apps/attune/program.h"
#include "extensions/tunable/tunable_verb.h"

int main(int argc, char** argv) {
  return attune::RunProgram(argc, argv, attune::ProgramKind::kExtension, {attune::AddTunableVerb});
}
