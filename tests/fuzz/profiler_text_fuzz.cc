// Any bytes as the output of a profiler, and as the line of a command: times are times, and words
// hold the content of the line.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "attune/library/command_line.h"
#include "attune/library/profiler_output.h"
#include "tests/fuzz/fuzz_check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto ops = attune::ParseProfilerOutput(text);
  attune::FuzzCheck(ops.ok() || !ops.status().message().empty());
  if (ops.ok()) {
    for (const attune::ProfiledOp& op : *ops) {
      attune::FuzzCheck(std::isfinite(op.time_ms) && op.time_ms > 0 && op.samples > 0);
      attune::FuzzCheck(op.workspace_bytes >= 0 && op.name.size() <= size);
    }
  }
  const auto command = attune::ParseCommandLine(text);
  attune::FuzzCheck(command.ok() || !command.status().message().empty());
  if (command.ok()) {
    size_t letters = 0;
    for (const auto& word : command->words) letters += word.size();
    attune::FuzzCheck(letters <= size);
  }
  return 0;
}
