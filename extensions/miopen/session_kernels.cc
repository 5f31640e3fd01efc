#include "extensions/miopen/session_kernels.h"

#include <map>
#include <string>
#include <utility>

#include "apps/attune/session/solver_survey.h"
#include "attune/compile/default_kernel_cache.h"
#include "attune/library/fin/fin_library.h"
#include "attune/library/fin/fin_request.h"

namespace attune::miopen {
namespace {

// The stores of compiled kernels.
struct KernelPlaces {
  KernelCache& cache;
  ArtifactStore* artifacts;  // Null without a database.
};

// From this machine, or else from others that share their builds. kNotFound if it is in neither.
Result<std::string> CodeOf(const BuildRecipe& recipe, const KernelPlaces& places) {
  if (auto artifact = places.cache.Find(recipe)) return std::move(artifact->bytes);
  if (places.artifacts != nullptr) {
    ATTUNE_ASSIGN_OR_RETURN(auto bytes, places.artifacts->Get(KernelCacheKey(recipe)));
    if (bytes.has_value()) return std::move(*bytes);
  }
  return NotFound(
      "Its kernels are neither in the kernel cache of this machine nor in the database.");
}

// The kernels of one result. kNotFound if none are kept.
Result<std::vector<fin::KernelObject>> KeptKernels(const SessionPlace& place,
                                                   const MeasuredResult& result,
                                                   const KernelPlaces& places) {
  const Solver* const solver =
      attune::FindSolver(place.backend->solvers(), result.candidate.solver);
  if (solver == nullptr) return NotFound("Its solver is gone.");
  ATTUNE_ASSIGN_OR_RETURN(const BuildRecipe recipe,
                          solver->Recipe(result.problem, result.candidate.config, place.target));
  auto code = CodeOf(recipe, places);
  if (!code.ok() && code.error().code() == StatusCode::kNotFound && solver->traits().searches) {
    // From the machine that searched: its build of all candidates contains the kernels as well.
    Config asked = result.candidate.config;
    asked.erase("params");
    ATTUNE_ASSIGN_OR_RETURN(const BuildRecipe all,
                            solver->Recipe(result.problem, asked, place.target));
    code = CodeOf(all, places);
  }
  if (!code.ok()) return code.error();
  ATTUNE_ASSIGN_OR_RETURN(fin::KeptBuild build, fin::KeptBuildOf(*code));
  return std::move(build.kernels);
}

}  // namespace

bool IsCompiledByFin(Application& application) {
  return application.session().has_value() &&
         application.session()->terms.backend == fin::kFinBackend;
}

Result<std::vector<KernelRow>> KernelsInSession(Application& application,
                                                const MeasuredResults& measured,
                                                LeftOut& left_out) {
  ATTUNE_ASSIGN_OR_RETURN(const SessionPlace place,
                          FindSessionPlace(application, *application.session()));
  const OpenedKernelCache cache = OpenDefaultKernelCache();
  std::map<std::pair<std::string, std::string>, KernelRow> rows;
  for (const MeasuredResult& result : measured.results) {
    const auto kernels = KeptKernels(place, result, {*cache.cache, application.artifacts()});
    if (!kernels.ok()) {
      ++left_out[kernels.error().message()];
      continue;
    }
    for (const fin::KernelObject& kernel : *kernels) {
      KernelRow row = fin::RowOf(kernel, place.target.arch);
      const auto [found, is_new] = rows.try_emplace({row.name, row.options}, row);
      if (!is_new && found->second.hash != row.hash) {
        ++left_out["Another kernel has the same name and options, and other code."];
      }
    }
  }
  std::vector<KernelRow> sorted;
  for (auto& [name, row] : rows) sorted.push_back(std::move(row));
  return sorted;
}

}  // namespace attune::miopen
