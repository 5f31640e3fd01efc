// MIOpen through `fin` as a library: each of its convolution solvers with the parameters that
// MIOpen takes by default, for sessions and jobs. docs/fin.md.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/fin/fin_program.h"
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
  // kInvalidArgument for settings that are none. A program that is missing is no failure: Report()
  // says so.
  static Result<std::unique_ptr<FinLibrary>> Open(const FinSettings& settings);

  std::string_view backend_name() const override { return kFinBackend; }
  std::string_view name() const override { return "miopen"; }
  const SolverList& solvers() const override { return solvers_; }
  LibraryReport Report() const override { return report_; }
  Target target() const override { return target_; }
  std::vector<LibraryDevice> Devices() const override;
  tl::expected<LibraryTime, Failure> Run(const LibraryRun& run) const override;

 private:
  FinLibrary() = default;
  Result<Program> ProgramOn(const std::string& device) const;
  void FindProgramAndBuild();

  FinSettings settings_;
  int64_t deadline_ns_ = 0;
  std::vector<std::string> devices_;
  Target target_;
  LibraryReport report_;
  SolverList solvers_;
};

}  // namespace attune::fin
