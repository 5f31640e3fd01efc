// A layer in all three directions through plans with a bound on their workspace.
#include <iostream>
#include <string>
#include <vector>

#include <attune/attune.hpp>

int main() try {
  attune::Options options;
  options.database = "none";
  options.policy = ATTUNE_NEVER;
  const attune::Runtime runtime(options);

  // Depth, height, width; a 2-D layer has depth 1.
  attune::ConvProblem layer = {.batch = 2,
                               .in_channels = 16,
                               .out_channels = 32,
                               .in = {1, 28, 28},
                               .filter = {1, 3, 3},
                               .pad = {0, 1, 1}};

  std::vector<float> x(2 * 16 * 28 * 28, 1), w(32 * 16 * 3 * 3, 0.5f), y(2 * 32 * 28 * 28);
  constexpr std::uint64_t kLimitBytes = 8 << 20;

  layer.direction = ATTUNE_FORWARD;
  const attune::ConvPlan forward = runtime.Conv(layer, kLimitBytes);
  forward.Run({.a = x.data(), .b = w.data(), .c = y.data()});
  const float inner = y[28 * 5 + 5];

  layer.direction = ATTUNE_BACKWARD_DATA;
  std::vector<float> dx(x.size());
  runtime.Conv(layer, kLimitBytes).Run({.a = y.data(), .b = w.data(), .c = dx.data()});

  layer.direction = ATTUNE_BACKWARD_WEIGHTS;
  std::vector<float> dw(w.size());
  runtime.Conv(layer, kLimitBytes).Run({.a = x.data(), .b = y.data(), .c = dw.data()});

  std::cout << "y = " << inner << ", dx = " << dx[28 * 5 + 5] << ", dw = " << dw[0]
            << ", workspace " << forward.workspace_bytes() << " bytes\n";
  return inner == 16 * 9 * 0.5f ? 0 : 1;
} catch (const attune::Error& error) {
  std::cerr << "convolution: " << error.what() << "\n";
  return 1;
}
