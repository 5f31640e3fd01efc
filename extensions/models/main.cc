// The program of `attune` for the verbs of extension.txt.
#include "apps/attune/program.h"
#include "extensions/models/model_verbs.h"

int main(int argc, char** argv) {
  return attune::RunProgram(argc, argv, attune::ProgramKind::kExtension,
                            {attune::AddModelVerb, attune::AddSeerVerb, attune::AddReplayVerb});
}
