// attune miopen: databases of AMD's MIOpen.

#include "apps/attune/verbs.h"
#include "extensions/miopen/miopen_verbs.h"

namespace attune {

void AddMiopenVerb(CLI::App& program, Invocation& invocation) {
  CLI::App* verb =
      AddVerb(program, "miopen",
              "Import, export, check, compare, merge and convert databases of AMD's MIOpen",
              "  attune miopen lint tests/data/miopen/gfx906_60.HIP.fdb.txt "
              "tests/data/miopen/gfx906_60.db\n"
              "  attune miopen convert tests/data/miopen/gfx906_60.db -o /tmp/gfx906_60.db.txt");
  verb->require_subcommand(1);
  miopen::AddImportVerb(*verb, invocation);
  miopen::AddExportVerb(*verb, invocation);
  miopen::AddLintVerb(*verb, invocation);
  miopen::AddConvertVerb(*verb, invocation);
  miopen::AddMergeVerb(*verb, invocation);
  miopen::AddDiffVerb(*verb, invocation);
}

}  // namespace attune
