#include "attune/fin/fin_results.h"

#include <map>
#include <utility>

#include <fmt/format.h>

#include "attune/miopen/solver_candidate.h"

namespace attune::fin {

std::vector<miopen::MeasuredResult> MeasuredOf(const Conv& conv, const Answer& evaluated) {
  constexpr double kNsPerMs = 1e6;
  std::vector<miopen::MeasuredResult> results;
  for (const Outcome& outcome : evaluated.outcomes) {
    if (!outcome.succeeded() || outcome.time_ms <= 0) continue;
    results.push_back({conv, miopen::CandidateOf({outcome.solver, outcome.params}),
                       outcome.time_ms * kNsPerMs, outcome.workspace_bytes});
  }
  return results;
}

Result<std::vector<miopen::KernelRow>> KernelsOf(std::span<const Answer> answers,
                                                 const std::string& arch) {
  std::map<std::pair<std::string, std::string>, miopen::KernelRow> rows;
  for (const Answer& answer : answers) {
    for (const Outcome& outcome : answer.outcomes) {
      for (const KernelObject& kernel : outcome.kernels) {
        miopen::KernelRow row = RowOf(kernel, arch);
        const auto [found, is_new] = rows.try_emplace({row.name, row.options}, row);
        if (is_new || found->second.hash == row.hash) continue;
        return DataLoss(fmt::format(
            "There are two kernels '{}' with the options '{}', whose hashes are {} and {}.",
            row.name, row.options, found->second.hash, row.hash));
      }
    }
  }
  std::vector<miopen::KernelRow> sorted;
  for (auto& [name, row] : rows) sorted.push_back(std::move(row));
  return sorted;
}

}  // namespace attune::fin
