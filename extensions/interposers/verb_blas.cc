// attune blas: becomes a program and sends its BLAS products through attune.

#include "extensions/interposers/interposer_verbs.h"
#include "extensions/interposers/preload.h"

namespace attune {

void AddBlasVerb(CLI::App& program, Invocation& invocation) {
  AddPreloadVerb(
      program, invocation,
      {.name = "blas",
       .description = "Run a program with its BLAS products (gemm, gemv) computed by attune",
       .examples = "  attune blas -- python3 script.py\n"
                   "  attune blas --record mine -- python3 script.py && attune tune --tag mine\n"
                   "  attune blas --stats -- octave script.m",
       .missing = "Install attune anew."});
}

}  // namespace attune
