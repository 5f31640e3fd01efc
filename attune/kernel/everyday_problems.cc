#include "attune/kernel/everyday_problems.h"

#include <utility>

#include "attune/ops/registry.h"

namespace attune::kernel {

std::vector<Problem> EverydayProblems() {
  std::vector<Problem> problems;
  for (const Operator* op : Operators()) {
    for (Problem& problem : op->EverydayProblems()) problems.push_back(std::move(problem));
  }
  return problems;
}

}  // namespace attune::kernel
