// Tunes one matrix product before its first run, and shows what was found.
//
//   tune_gemm M N K [DATABASE]
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include <attune/attune.hpp>

int main(int argc, char** argv) try {
  if (argc < 4) {
    std::cerr << "usage: tune_gemm M N K [DATABASE]\n";
    return 2;
  }
  const attune::GemmProblem problem = {
      .m = std::atoll(argv[1]), .n = std::atoll(argv[2]), .k = std::atoll(argv[3])};

  attune::Options options;
  options.policy = ATTUNE_INLINE;  // The plan waits until the problem is tuned.
  options.per_problem = std::chrono::seconds(2);
  if (argc > 4) options.database = argv[4];
  attune::Runtime runtime(options);
  const attune::GemmPlan plan = runtime.Gemm(problem);

  for (const attune::Solution& solution : runtime.Solutions(problem)) {
    std::cout << solution.candidate << "  ";
    if (solution.is_measured != 0) {
      std::cout << solution.time_ns / 1000 << " us\n";
    } else {
      std::cout << "not measured\n";
    }
  }

  std::vector<float> a(problem.m * problem.k, 2), b(problem.k * problem.n, 3),
      c(problem.m * problem.n);
  plan.Run({.a = a.data(), .b = b.data(), .c = c.data()});
  std::cout << "c[0] = " << c[0] << "\n";
  return c[0] == 6.0f * static_cast<float>(problem.k) ? 0 : 1;
} catch (const attune::Error& error) {
  std::cerr << "tune_gemm: " << error.what() << "\n";
  return 1;
}
