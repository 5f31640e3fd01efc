// attune cublas: becomes a program and sends its cuBLAS products through attune.

#include "extensions/interposers/interposer_verbs.h"
#include "extensions/interposers/preload.h"

namespace attune {

void AddCublasVerb(CLI::App& program, Invocation& invocation) {
  AddPreloadVerb(
      program, invocation,
      {.name = "cublas",
       .description =
           "Run a program, PyTorch above all, with its tuned cuBLAS products computed by attune",
       .examples = "  attune cublas --record mine -- python3 train.py\n"
                   "  attune tune --device cuda:0 --tag mine --budget 10m\n"
                   "  attune cublas --stats -- python3 train.py",
       .missing =
           "It is built where the headers of the CUDA toolkit are (cuda.h, cublasLt.h). Install "
           "them and build attune anew."});
}

}  // namespace attune
