// Shapes that are not known beforehand: each is served at once, and tuned in the background.
//
//   varying_shapes [DATABASE]
#include <iostream>
#include <string>
#include <vector>

#include <attune/attune.hpp>

int main(int argc, char** argv) try {
  attune::Options options;
  options.policy = ATTUNE_DEFERRED;
  options.per_problem = std::chrono::milliseconds(500);
  if (argc > 1) options.database = argv[1];
  attune::Runtime runtime(options);
  runtime.SetListener([](attune_event event, const std::string& problem,
                         const std::string& candidate, const std::string& message) {
    if (event == ATTUNE_EVENT_SWAP) {
      std::cout << problem << " is now served by " << candidate << ". " << message << std::endl;
    }
  });

  std::vector<float> a(512 * 512, 1), b(512 * 512, 1), c(512 * 512);
  for (int round = 0; round < 2; ++round) {
    for (const std::int64_t size : {16, 100, 333}) {
      runtime.Run(attune::GemmProblem{.m = size, .n = 1, .k = size},
                  {.a = a.data(), .b = b.data(), .c = c.data()});
      if (c[0] != static_cast<float>(size)) return 1;
    }
    // A program has other things to do; this one waits to show what became of it.
    runtime.WaitIdle(std::chrono::seconds(60));
  }
  std::cout << runtime.Metrics();
  return 0;
} catch (const attune::Error& error) {
  std::cerr << "varying_shapes: " << error.what() << "\n";
  return 1;
}
