#include "apps/attune/program.h"

namespace attune {

std::vector<VerbAdder> CoreVerbs() {
  return {AddDevicesVerb, AddSolversVerb, AddImportVerb,  AddProblemsVerb,
          AddTuneVerb,    AddBestVerb,    AddExplainVerb, AddRunVerb,
          AddExportVerb,  AddReportVerb,  AddBuildVerb,   AddPackageVerb};
}

}  // namespace attune
