// Any bytes as the description of a tool, as one of its words and as its output: a time is a time,
// and a refusal has a reason.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "attune/library/printed_time.h"
#include "attune/library/tool_description.h"
#include "attune/library/word_template.h"
#include "tests/fuzz/fuzz_check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using attune::FuzzCheck;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto tool = attune::ParseToolDescription(text);
  FuzzCheck(tool.ok() || !tool.status().message().empty());
  if (tool.ok()) {
    FuzzCheck(!tool->name.empty() && tool->timeout_ns > 0 && !tool->solvers.empty());
    FuzzCheck(tool->output.unit_ns > 0 && tool->output.separator != tool->output.assign);
    for (const attune::ToolSolver& solver : tool->solvers) FuzzCheck(!solver.argv.empty());
  }
  const auto time = attune::ParsePrintedTime({}, text);
  FuzzCheck(time.ok() || !time.status().message().empty());
  if (time.ok()) {
    FuzzCheck(std::isfinite(time->time_ns) && time->time_ns > 0 && time->workspace_bytes >= 0);
  }
  const auto word = attune::WordTemplate::Parse(text);
  if (word.ok()) {
    FuzzCheck(word->Fill([](std::string_view) { return std::string(); }).size() <= size);
  }
  return 0;
}
