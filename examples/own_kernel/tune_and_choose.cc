// A kernel of our own in a few lines of C++: described here, tuned for one size, and looked up for
// others. The answer has all that a program needs to compile and launch it itself.
//
//   tune_and_choose FOLDER DATABASE [DEVICE]
#include <cstdint>
#include <cstdio>
#include <set>
#include <string>
#include <utility>

#include "attune/kernels.hpp"

namespace {

constexpr const char* kSource = R"(
__kernel void scale(__global const float* x, __global float* y, int n, float factor) {
  for (int k = 0; k < VECTOR; ++k) {
    const int i = (get_group_id(0) * VECTOR + k) * BLOCK + get_local_id(0);
    if (i < n) y[i] = factor * x[i];
  }
}
)";

std::string WriteKernel(const std::string& folder) {
  return attune::KernelDescription("scale-in-code", kSource)
      .Size("n", 1 << 16)
      .Parameter("BLOCK", {1, 16, 64})
      .Parameter("VECTOR", {1, 4})
      .Constraint("BLOCK * VECTOR <= 256")
      .In("x", "f32", {"n"})
      .Out("y", "f32", {"n"})
      .Scalar("int", "n")
      .Scalar("float", "3")
      .Launch("scale", {"BLOCK"}, {"ceil_div(n, BLOCK * VECTOR)"})
      .Write(folder);
}

void Show(attune::Kernel& kernel, std::int64_t n) {
  static const char* const by[] = {"exact", "nearest", "default"};
  const attune::KernelChoice& choice = kernel.Choose({{"n", n}});
  const attune_kernel_geometry& launch = choice.launches[0];
  std::printf("n=%lld: %s, %s, %s<%llu x %llu>, %s, source of %zu bytes, measured: %s\n",
              static_cast<long long>(n), by[choice.served_by], choice.config, launch.function,
              static_cast<unsigned long long>(launch.groups[0]),
              static_cast<unsigned long long>(launch.local[0]), choice.options,
              std::string(choice.source).size(), choice.time_ns > 0 ? "yes" : "no");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) {
    std::fprintf(stderr, "usage: tune_and_choose FOLDER DATABASE [DEVICE]\n");
    return 1;
  }
  try {
    attune_kernel_options options = ATTUNE_KERNEL_OPTIONS_INIT;
    options.database = argv[2];
    if (argc == 4) options.device = argv[3];
    options.check_wait_ns = 60'000'000'000;  // It asks once for each size, and has time.
    attune::Kernel kernel(WriteKernel(argv[1]), options);
    // A function can use data of the program; a text constraint stands in the description.
    const std::set<std::pair<std::int64_t, std::int64_t>> unwanted = {{64, 1}, {64, 4}};
    kernel.Constrain({"BLOCK", "VECTOR"}, "not on the program's list",
                     [&](std::int64_t block, std::int64_t vector) {
                       return unwanted.count({block, vector}) == 0;
                     });
    Show(kernel, 1000);
    kernel.Tune({{"n", 1 << 16}});
    Show(kernel, 1 << 16);
    Show(kernel, 50'000);
    return 0;
  } catch (const attune::Error& error) {
    std::fprintf(stderr, "tune_and_choose: %s\n", error.what());
    return error.code() == ATTUNE_NOT_FOUND || error.code() == ATTUNE_UNAVAILABLE ? 2 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tune_and_choose: %s\n", error.what());
    return 1;
  }
}
