// A user's program as a library. docs/own-tool.md.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/library/library.h"
#include "attune/library/tool_description.h"

namespace attune {

// Files of descriptions, separated by ':'.
inline constexpr const char* kToolsVariable = "ATTUNE_TOOLS";
inline constexpr std::string_view kToolBackend = "tool";

class ToolLibrary final : public Library {
 public:
  // kInvalidArgument or an error of ReadFile, with the path. A missing program is no failure:
  // Report() and Devices() report it.
  static Result<std::unique_ptr<ToolLibrary>> Open(const std::filesystem::path& description);

  std::string_view backend_name() const override { return kToolBackend; }
  std::string_view name() const override { return tool_.name; }
  const SolverList& solvers() const override { return solvers_; }
  LibraryReport Report() const override { return report_; }
  Target target() const override;
  std::vector<LibraryDevice> Devices() const override;
  tl::expected<LibraryTime, Failure> Run(const LibraryRun& run) const override;

  // The command line for `run`, for messages and tests. REQUIRES: its solver applies to its
  // problem.
  std::vector<std::string> Words(const LibraryRun& run) const;

 private:
  ToolLibrary(ToolDescription tool, std::filesystem::path folder);
  const ToolSolver* SolverOf(const SolverId& id) const;
  void FindPrograms(std::string_view text, const std::filesystem::path& path);
  std::string ValueOf(std::string_view name, const LibraryRun& run) const;
  // Judges the output of a program that ended well.
  tl::expected<LibraryTime, Failure> Judge(const std::string& out, size_t max_output_bytes) const;

  const ToolDescription tool_;
  const std::filesystem::path folder_;
  SolverList solvers_;
  LibraryReport report_;
};

}  // namespace attune
