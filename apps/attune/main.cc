// `attune`: the core verbs. All others are extensions (extensions/).
#include "apps/attune/program.h"

int main(int argc, char** argv) {
  return attune::RunProgram(argc, argv, attune::ProgramKind::kCore, attune::CoreVerbs());
}
