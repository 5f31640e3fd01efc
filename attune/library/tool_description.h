// A user's program as its file describes it. docs/formats/own_tool.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/library/printed_time.h"
#include "attune/library/word_template.h"
#include "attune/space/config_space.h"
#include "attune/space/expression.h"

namespace attune {

struct ToolSolver {
  std::string name;  // [a-z0-9_]+
  int version = 1;
  std::vector<WordTemplate> argv;
  std::map<std::string, WordTemplate> environment;
  std::vector<Parameter> parameters;  // The first value of each is the default.
  std::vector<Constraint> constraints;
  std::vector<Expression> applies;  // All of them have to hold for a problem.

  // Fields of the problem: every name in `argv` and `environment` that is neither a parameter nor
  // one of kToolWords.
  std::vector<std::string> fields;
};

// Names for templates beside parameters and fields: the whole problem, the folder of the
// description, the device, and the name of the solver.
inline constexpr std::string_view kToolWords[] = {"problem", "folder", "device", "solver"};

struct ToolDescription {
  std::string name;                  // [a-z][a-z0-9_]*
  std::string version;               // As its user counts.
  std::string operator_name;         // Operator of its problems: "gemm", "conv", any word.
  std::vector<std::string> devices;  // Ordinals of GPUs; empty: it runs on the processors.
  int64_t timeout_ns = 0;            // Limit of each run.
  PrintedFormat output;
  std::string prints;        // Text that a successful run must print; empty: only a time.
  std::string never_prints;  // Text that no successful run prints; empty: none.
  std::vector<ToolSolver> solvers;
};

inline constexpr size_t kMaxToolFileBytes = size_t{1} << 20;
inline constexpr size_t kMaxToolSolvers = 256;

// kInvalidArgument gives the reason and its JSON pointer.
Result<ToolDescription> ParseToolDescription(std::string_view text);

}  // namespace attune
