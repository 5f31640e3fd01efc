// MIOpen through `fin` as a library, for sessions and jobs: each of its convolution solvers with
// the parameters that MIOpen takes by default, and with those that its search finds. docs/fin.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/formats/miopen/solver_candidate.h"
#include "attune/library/fin/fin_program.h"
#include "attune/library/fin/fin_request.h"
#include "attune/library/fin/fin_response.h"
#include "attune/library/library.h"

namespace attune::fin {

inline constexpr std::string_view kFinBackend = "fin";
inline constexpr const char* kFinVariable = "ATTUNE_FIN";                 // The program.
inline constexpr const char* kFinTargetVariable = "ATTUNE_FIN_TARGET";    // "gfx90a:104"
inline constexpr const char* kFinDevicesVariable = "ATTUNE_FIN_DEVICES";  // "0,1"; "0" if not set.
inline constexpr const char* kFinDeadlineVariable = "ATTUNE_FIN_DEADLINE_S";

struct FinSettings {
  std::string program;
  std::string target;
  std::string devices = "0";
  std::string deadline_s = "600";
};

class FinLibrary final : public Library {
 public:
  // kInvalidArgument for invalid settings. A missing program is no failure: Report() reports it.
  static Result<std::unique_ptr<FinLibrary>> Open(const FinSettings& settings);

  std::string_view backend_name() const override { return kFinBackend; }
  std::string_view name() const override { return "miopen"; }
  const SolverList& solvers() const override { return solvers_; }
  LibraryReport Report() const override { return report_; }
  Target target() const override { return target_; }
  std::vector<LibraryDevice> Devices() const override;
  tl::expected<LibraryTime, Failure> Run(const LibraryRun& run) const override;
  tl::expected<std::optional<FoundCandidate>, Failure> Search(const LibraryRun& run) const override;

 private:
  struct Evaluation {
    Outcome outcome;
    UserDatabases databases;
  };

  FinLibrary() = default;
  Result<Program> ProgramOn(const std::string& device) const;
  void FindProgramAndBuild();
  // One of `solver` that succeeded.
  tl::expected<Evaluation, Failure> Evaluate(Step step, const LibraryRun& run,
                                             const std::string& solver,
                                             const KeptBuild& build) const;
  // With the parameters of `choice`, if it names some.
  tl::expected<Outcome, Failure> Time(const LibraryRun& run, const miopen::SolverChoice& choice,
                                      const KeptBuild& build) const;

  FinSettings settings_;
  int64_t deadline_ns_ = 0;
  std::vector<std::string> devices_;
  Target target_;
  LibraryReport report_;
  SolverList solvers_;
};

}  // namespace attune::fin
