// A program that exits without destroying its run time, while the background is at work. At its
// end, after what the run time does there, it prints how many threads it has as "threads N".
//
//   runtime_leaver POLICY SHAPES MILLISECONDS: exits so long after the background has begun
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>

#include "attune/attune.h"
#include "tests/runtime/runtime_world.h"

namespace {

void PrintThreads() {
  std::error_code error;
  const std::filesystem::directory_iterator threads("/proc/self/task", error);
  std::printf("threads %d\n", static_cast<int>(std::distance(begin(threads), end(threads))));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  // What is registered first is called last.
  std::atexit(PrintThreads);
  ::setenv("ATTUNE_POLICY", argv[1], 1);
  attune_options options = ATTUNE_OPTIONS_INIT;
  options.per_problem_ms = 500;
  attune_runtime* runtime = nullptr;
  if (attune_runtime_create(&options, &runtime) != ATTUNE_OK) return 1;
  const long shapes = std::strtol(argv[2], nullptr, 10);
  for (long i = 0; i < shapes; ++i) {
    if (!attune::Multiply(runtime, 16 + i)) return 1;
  }
  // Whoever waits for the background lets it begin at once.
  (void)attune_wait_idle(runtime, std::strtol(argv[3], nullptr, 10));
  return 0;
}
