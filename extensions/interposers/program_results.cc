#include "extensions/interposers/program_results.h"

#include "attune/base/file.h"
#include "attune/base/path_variable.h"
#include "attune/base/process_variables.h"
#include "attune/tunable/file_names.h"
#include "attune/tunable/settings.h"

namespace attune {

Status CheckProgramResults() {
  const auto switches = TunableSwitches::FromEnvironment(VariablesOfProcess());
  // The program itself reports wrong variables.
  if (!switches.ok() || !ActionsOf(switches->settings()).serve) return Status::Ok();
  const std::string& named = switches->settings().filename;
  for (const std::string& name : {WithOrdinal(named, 0), named}) {
    const Status read = ReadFileAtOnce(FromStart(name)).status();
    if (!read.ok() && read.code() != StatusCode::kNotFound) return read;
  }
  return Status::Ok();
}

}  // namespace attune
