// Runs profilers from within a program, and says which operation is the fastest:
//   profile_commands COMMAND...
// Each COMMAND is run by sh, alone on device 0, and prints lines OP:<name>,TIME:<ms>,WS:<bytes>.

#include <attune/profile.hpp>
#include <iostream>
#include <string>

int main(int argc, char** argv) {
  try {
    attune::Profiler::Terms terms;
    terms.deadline_ns = 10'000'000'000;
    attune::Profiler profiler({"0"}, terms);
    attune::Profiler::Op best;
    int failed = 0;
    for (int i = 1; i < argc; ++i) {
      profiler.Push({{"sh", "-c", argv[i]}, {}, ""}, [&](const attune::Profiler::Outcome& outcome) {
        // One callback at a time: nothing here needs a lock.
        if (!outcome.done()) {
          ++failed;
          std::cerr << outcome.message << "\n";
        }
        for (const attune::Profiler::Op& op : outcome.ops) {
          if (best.time_ms == 0 || op.time_ms < best.time_ms) best = op;
        }
      });
    }
    const auto joined = profiler.Join([&] {
      std::cout << "fastest: " << best.name << ", " << best.time_ms << " ms, "
                << best.workspace_bytes << " bytes\n";
    });
    for (const std::string& thrown : joined.thrown) std::cerr << thrown << "\n";
    return failed == 0 && joined.thrown.empty() ? 0 : 1;
  } catch (const attune::Error& error) {
    std::cerr << "profile_commands: " << error.what() << "\n";
    return 2;
  }
}
