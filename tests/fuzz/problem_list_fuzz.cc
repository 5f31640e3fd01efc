// The counts of any file add up, and every problem in it is distinct and reads back.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "attune/formats/problem_list.h"
#include "tests/fuzz/fuzz_check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const attune::ProblemList list = attune::ReadProblemList(text);
  attune::FuzzCheck(list.read == list.imported + list.duplicates + list.rejected.size());
  attune::FuzzCheck(list.unsupported <= list.imported);
  for (const attune::RejectedLine& rejected : list.rejected) {
    attune::FuzzCheck(rejected.line >= 1 && rejected.column >= 1);
    for (const char c : rejected.reason) attune::FuzzCheck(c >= 0x20 && c <= 0x7e);
  }
  for (const attune::ListedProblem& problem : list.problems) {
    attune::FuzzCheck(*attune::ParseProblem(problem.text) == problem.problem);
    attune::FuzzCheck(problem.count >= 1);
  }
  return 0;
}
