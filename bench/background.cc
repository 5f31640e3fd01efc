// The cost of background tuning for the program that it serves: the time of calls on one busy core,
// without other load and while attune-tuner tunes other shapes.
//
//   background [--seconds S] [--rounds N] [--json]
//
// The caller's product is one thread of OpenBLAS. Stretches with and without tuning take turns, so
// that other load on the machine affects both.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "attune/attune.hpp"
#include "attune/base/random.h"
#include "attune/ops/gemm/gemm.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kSize = 192;
constexpr const char* kCaller = "host.openblas-gemm@1{routine=gemm,split=none,threads=1}";
// Enough that the tuner never runs out of work in a stretch.
constexpr int kShapesPerStretch = 200;

struct Options {
  double seconds = 8;  // Length of one stretch.
  int rounds = 3;
  bool json = false;
};

double Quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
}

// Operands filled with numbers that vary: zeros would be quicker to multiply.
std::vector<float> RandomValues(std::size_t count, attune::Random& random) {
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random.Below(1000)) / 500.0f - 1.0f;
  return values;
}

// The program with the timed calls.
class Caller {
 public:
  Caller() : random_(7), a_(RandomValues(kSize * kSize, random_)), b_(a_), c_(kSize * kSize) {
    ::setenv("ATTUNE_FORCE", kCaller, 1);
    attune::Options options;
    options.database = "none";
    options.policy = ATTUNE_NEVER;
    runtime_ = std::make_unique<attune::Runtime>(options);
    ::unsetenv("ATTUNE_FORCE");
    plan_ =
        std::make_unique<attune::GemmPlan>(runtime_->Gemm({.m = kSize, .n = kSize, .k = kSize}));
  }

  // Nanoseconds of each call, one after the other.
  std::vector<double> CallFor(double seconds) {
    std::vector<double> times_ns;
    const auto end = Clock::now() + std::chrono::duration<double>(seconds);
    for (auto begin = Clock::now(); begin < end;) {
      plan_->Run({.a = a_.data(), .b = b_.data(), .c = c_.data()});
      const auto now = Clock::now();
      times_ns.push_back(std::chrono::duration<double, std::nano>(now - begin).count());
      begin = now;
    }
    return times_ns;
  }

 private:
  attune::Random random_;
  std::vector<float> a_, b_, c_;
  std::unique_ptr<attune::Runtime> runtime_;
  std::unique_ptr<attune::GemmPlan> plan_;
};

// Shapes that were never seen, missed under the deferred policy.
class Background {
 public:
  explicit Background(const std::string& folder, int stretch)
      : random_(static_cast<std::uint64_t>(stretch) + 100) {
    attune::Options options;
    options.database = folder + "/background.db";
    options.policy = ATTUNE_DEFERRED;
    runtime_ = std::make_unique<attune::Runtime>(options);
    std::vector<float> a(512 * 512, 1.5f), b(a), c(a);
    for (int i = 0; i < kShapesPerStretch; ++i) {
      const auto size = [&] { return static_cast<std::int64_t>(1 + random_.Below(512)); };
      runtime_->Run(attune::GemmProblem{.m = size(), .n = size(), .k = size()},
                    {.a = a.data(), .b = b.data(), .c = c.data()});
    }
  }
  std::uint64_t tunings() const { return runtime_->Counters().tunings; }

 private:
  attune::Random random_;
  std::unique_ptr<attune::Runtime> runtime_;
};

struct Stretch {
  bool tunes = false;
  std::size_t calls = 0;
  double median_ns = 0, p99_ns = 0;
  std::uint64_t tunings = 0;
};

// Beside `background`, or alone if it is null. Adds every time to `all_ns`.
Stretch Measure(Caller& caller, double seconds, const Background* background,
                std::vector<double>& all_ns) {
  const bool tunes = background != nullptr;
  const std::vector<double> times_ns = caller.CallFor(seconds);
  all_ns.insert(all_ns.end(), times_ns.begin(), times_ns.end());
  Stretch stretch{tunes, times_ns.size(), Quantile(times_ns, 0.5), Quantile(times_ns, 0.99), 0};
  if (background) stretch.tunings = background->tunings();
  return stretch;
}

int Print(const std::vector<Stretch>& stretches, double growth, double alone_ns, double beside_ns,
          bool json) {
  if (json) {
    nlohmann::json out = {
        {"summary",
         {{"p99_growth", growth}, {"p99_alone_ns", alone_ns}, {"p99_beside_tuning_ns", beside_ns}}},
        {"rows", nlohmann::json::array()}};
    for (const Stretch& s : stretches) {
      out["rows"].push_back({{"tunes", s.tunes},
                             {"calls", s.calls},
                             {"median_ns", s.median_ns},
                             {"p99_ns", s.p99_ns},
                             {"tunings", s.tunings}});
    }
    fmt::print("{}\n", out.dump(2));
    return 0;
  }
  fmt::print("{:<16} {:>8} {:>12} {:>12} {:>8}\n", "stretch", "calls", "median us", "p99 us",
             "tuned");
  for (const Stretch& s : stretches) {
    fmt::print("{:<16} {:>8} {:>12.1f} {:>12.1f} {:>8}\n", s.tunes ? "beside tuning" : "alone",
               s.calls, s.median_ns / 1e3, s.p99_ns / 1e3, s.tunings);
  }
  fmt::print("\np99 alone {:.1f} us, beside tuning {:.1f} us: {:+.1f} %\n", alone_ns / 1e3,
             beside_ns / 1e3, 100 * growth);
  return 0;
}

int Run(const Options& options) {
  char pattern[] = "/tmp/attune_background_XXXXXX";
  const char* folder = ::mkdtemp(pattern);
  if (folder == nullptr) {
    fmt::print(stderr, "background: cannot make a folder in /tmp.\n");
    return 1;
  }
  Caller caller;
  caller.CallFor(1);  // Libraries loaded, memory touched, clocks up.
  std::vector<double> alone_ns, beside_ns;
  std::vector<Stretch> stretches;
  for (int round = 0; round < options.rounds; ++round) {
    fmt::print(stderr, "round {} of {}\n", round + 1, options.rounds);
    stretches.push_back(Measure(caller, options.seconds, nullptr, alone_ns));
    const Background background(folder, 2 * round + 1);
    stretches.push_back(Measure(caller, options.seconds, &background, beside_ns));
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  const double p99_alone_ns = Quantile(alone_ns, 0.99);
  const double p99_beside_ns = Quantile(beside_ns, 0.99);
  return Print(stretches, p99_beside_ns / p99_alone_ns - 1, p99_alone_ns, p99_beside_ns,
               options.json);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Times calls of a busy program while attune-tuner tunes other shapes for it.");
  app.add_option("--seconds", options.seconds, "Length of one stretch")
      ->check(CLI::Range(0.1, 600.0));
  app.add_option("--rounds", options.rounds, "Stretches of each kind")->check(CLI::Range(1, 100));
  app.add_flag("--json", options.json, "Print one JSON object");
  CLI11_PARSE(app, argc, argv);
  try {
    return Run(options);
  } catch (const attune::Error& error) {
    fmt::print(stderr, "background: {}\n", error.what());
    return 1;
  }
}
