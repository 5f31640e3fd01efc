// A program that convolves while it exits: in threads, in an exit handler that was registered
// before its libraries were opened, and in a static destructor. It prints for each of the latter
// two
// "<place> <code>", with code -1 if a result is wrong.
//
//   convolving_leaver FORCED THREADS PRODUCTS
//
// FORCED: the solver of all convolutions. THREADS: how many convolve until the process is gone; if
// none, the static destructor destroys the run time, too. PRODUCTS: of how many shapes there are
// products before the first convolution. If there are threads and products, the exit comes while
// the threads convolve for the first time.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "attune/attune.h"

namespace {

constexpr int64_t kChannels = 8;

bool MultiplyOnes(attune_runtime* runtime, int64_t size) {
  attune_gemm gemm{};
  gemm.m = gemm.n = gemm.k = size;
  const std::vector<float> ones(static_cast<size_t>(size * size), 1.0F);
  std::vector<float> result(ones.size());
  attune_arguments arguments = ATTUNE_ARGUMENTS_INIT;
  arguments.a = arguments.b = ones.data();
  arguments.c = result.data();
  return attune_run_gemm(runtime, &gemm, &arguments) == ATTUNE_OK &&
         result.front() == static_cast<float>(size);
}

// Convolves an image of ones with filters of ones. Returns -1 if a sum is wrong.
int Convolve(attune_runtime* runtime, int64_t size) {
  attune_conv conv{};
  conv.batch = 1;
  conv.in_channels = conv.out_channels = kChannels;
  conv.in[1] = conv.in[2] = size;
  conv.filter[1] = conv.filter[2] = 3;
  conv.pad[1] = conv.pad[2] = 1;
  const std::vector<float> image(static_cast<size_t>(kChannels * size * size), 1.0F);
  const std::vector<float> filters(kChannels * kChannels * 9, 1.0F);
  std::vector<float> result(image.size());
  attune_arguments arguments = ATTUNE_ARGUMENTS_INIT;
  arguments.a = image.data();
  arguments.b = filters.data();
  arguments.c = result.data();
  const attune_code code = attune_run_conv(runtime, &conv, &arguments);
  if (code != ATTUNE_OK) return code;
  return result[static_cast<size_t>(size + 1)] == 9 * kChannels ? ATTUNE_OK : -1;
}

attune_runtime* runtime = nullptr;

// Its destructor runs after every exit handler.
struct Owner {
  ~Owner() {
    std::printf("static_destructor %d\n", Convolve(runtime, 17));
    if (is_last) attune_runtime_destroy(runtime);
  }
  bool is_last = false;
};
Owner owner;

void ConvolveInHandler() {
  // One shape that was served before, and a new one.
  const int served = Convolve(runtime, 12);
  std::printf("exit_handler %d\n", served != ATTUNE_OK ? served : Convolve(runtime, 15));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  ::setenv("ATTUNE_FORCE", argv[1], 1);
  const int threads = std::atoi(argv[2]);
  const int products = std::atoi(argv[3]);
  attune_options options = ATTUNE_OPTIONS_INIT;
  options.device = "cpu";
  options.policy = ATTUNE_NEVER;
  if (attune_runtime_create(&options, &runtime) != ATTUNE_OK) return 3;
  owner.is_last = threads == 0;
  std::atexit(ConvolveInHandler);
  for (int64_t size = 1; size <= products; ++size) {
    if (!MultiplyOnes(runtime, size)) return 4;
  }
  const bool is_first = threads > 0 && products > 0;
  for (int64_t size = 12; size < 15 && !is_first; ++size) {
    if (Convolve(runtime, size) != ATTUNE_OK) return 5;
  }
  static std::atomic<int> calls{0};
  for (int64_t first = 0; first < threads; ++first) {
    std::thread([first] {
      for (int64_t i = first;; ++i) {
        ++calls;
        (void)Convolve(runtime, 8 + i % 60);
      }
    }).detach();
  }
  while (calls < (is_first ? 1 : 20) * threads) std::this_thread::yield();
  return 0;
}
