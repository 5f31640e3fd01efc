// A program that exits without destroying its run time, while the background is at work. At its
// end, after what the run time does there, it prints how many threads it has as "threads N".
//
//   runtime_leaver POLICY SHAPES MILLISECONDS [again]
//
// MILLISECONDS: exits so long after the background has begun; below 0: at once, with the background
// let alone. again: calls once more in the middle of the exit.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <thread>

#include "attune/attune.h"
#include "tests/runtime/runtime_world.h"

namespace {

int CountThreads() {
  std::error_code error;
  const std::filesystem::directory_iterator threads("/proc/self/task", error);
  return static_cast<int>(std::distance(begin(threads), end(threads)));
}

#if defined(__SANITIZE_THREAD__)
constexpr int kOwnThreads = 2;  // ThreadSanitizer has one.
#else
constexpr int kOwnThreads = 1;
#endif

void PrintThreads() {
  // A joined thread stays in the list until the system has taken it apart, which may happen after
  // join returns.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  int threads = CountThreads();
  while (threads > kOwnThreads && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
    threads = CountThreads();
  }
  std::printf("threads %d\n", threads - kOwnThreads + 1);
}

// Left behind, and not lost: LeakSanitizer tells them apart.
attune_runtime* runtime = nullptr;

// A call in the middle of the exit.
void MultiplyOnceMore() {
  if (!attune::Multiply(runtime, 16)) std::abort();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4 && argc != 5) return 2;
  // The first handler registered is called last.
  std::atexit(PrintThreads);
  ::setenv("ATTUNE_POLICY", argv[1], 1);
  attune_options options = ATTUNE_OPTIONS_INIT;
  options.per_problem_ms = 500;
  if (attune_runtime_create(&options, &runtime) != ATTUNE_OK) return 1;
  if (argc == 5) std::atexit(MultiplyOnceMore);
  const long shapes = std::strtol(argv[2], nullptr, 10);
  for (long i = 0; i < shapes; ++i) {
    if (!attune::Multiply(runtime, 16 + i)) return 1;
  }
  const long milliseconds = std::strtol(argv[3], nullptr, 10);
  // A program that waits for the background lets it begin at once.
  if (milliseconds >= 0) (void)attune_wait_idle(runtime, milliseconds);
  return 0;
}
