#include "attune/kernel/covering_problems.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "attune/problem/problem.h"

namespace attune::kernel {
namespace {

// Ends the test program: without its problems it would test nothing.
[[noreturn]] void Fail(const std::string& path, int line, const std::string& reason) {
  std::fprintf(stderr, "%s:%d: %s\n", path.c_str(), line, reason.c_str());
  std::abort();
}

// The lines behind "[`part`]" in the file of the operator. Nothing for one without a file.
std::vector<Problem> ProblemsIn(std::string_view part, std::string_view operator_name) {
  const std::string path =
      std::string(ATTUNE_OPERATOR_FOLDERS "/") + std::string(operator_name) + "/kernel_tests.txt";
  std::ifstream file(path);
  const std::string heading = "[" + std::string(part) + "]";
  std::vector<Problem> problems;
  bool is_in_part = false;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.empty() || line.front() == '#') continue;
    if (line.front() == '[') {
      is_in_part = line == heading;
      continue;
    }
    if (!is_in_part) continue;
    auto problem = ParseProblem(line);
    if (!problem.ok()) Fail(path, number, problem.status().message());
    problems.push_back(*std::move(problem));
  }
  return problems;
}

}  // namespace

std::vector<Problem> CoveringProblems(std::string_view operator_name) {
  return ProblemsIn("covering", operator_name);
}

std::vector<Problem> LimitProblems(std::string_view operator_name) {
  return ProblemsIn("limit", operator_name);
}

std::vector<Problem> LargeProblems(std::string_view operator_name) {
  return ProblemsIn("large", operator_name);
}

}  // namespace attune::kernel
