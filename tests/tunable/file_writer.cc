// A process to be killed: appends results and untuned problems to files that others append to, and
// prints on standard output those that were acknowledged.
//
//   file_writer RESULTS UNTUNED WRITER FIRST
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "attune/tunable/untuned_file.h"
#include "tests/tunable/written_lines.h"

namespace attune {
namespace {

Status Write(const std::string& results, const std::string& untuned_path, int64_t writer,
             int64_t first) {
  UntunedFile untuned(untuned_path);
  for (int64_t number = first;; ++number) {
    const Problem problem = WrittenProblem(writer, number);
    const ResultGroup group{ValidatorsOf(WriterIdentity()), {WrittenLine(problem)}};
    ATTUNE_RETURN_IF_ERROR(untuned.Record(problem, false).status());
    ATTUNE_RETURN_IF_ERROR(
        SaveResults(results, {&group, 1}, WriterIdentity(), Durability::kPowerLoss));
    if (::write(STDOUT_FILENO, "+", 1) != 1) return Internal("The reader has gone.");
  }
}

}  // namespace
}  // namespace attune

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const attune::Status status =
      attune::Write(argv[1], argv[2], std::atoll(argv[3]), std::atoll(argv[4]));
  std::fprintf(stderr, "file_writer: %s\n", status.ToString().c_str());
  return 1;
}
