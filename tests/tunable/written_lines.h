// The lines that the processes of file_processes_test.cc write and the test expects.
#pragma once

#include <cstdint>

#include "attune/ops/gemm/gemm.h"
#include "attune/problem/problem.h"
#include "attune/tunable/result_key.h"
#include "attune/tunable/results_storage.h"

namespace attune {

inline TunableIdentity WriterIdentity() {
  return {"0.1.0", {"host", "Example CPU", "x86-64-v3", 2, {}}, {}};
}

// A different one for each writer and number.
inline Problem WrittenProblem(int64_t writer, int64_t number) {
  return PackedGemm(writer + 1, number + 1, 3);
}

inline ResultLine WrittenLine(const Problem& problem) {
  ResultLine line;
  line.key = NamesOf(problem);
  line.solution = "host.blis-gemm@1{threads=2}";
  line.milliseconds = 0.5;
  line.problem_text = Text(problem);
  return line;
}

}  // namespace attune
