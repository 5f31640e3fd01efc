// Lines per second of reading a list of distinct MIOpenDriver commands into problems, without a
// database.
//
//   import_bench [--lines N] [--repeats N] [--json]
#include <algorithm>
#include <chrono>
#include <ctime>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "attune/base/random.h"
#include "attune/formats/problem_list.h"

namespace attune {
namespace {

struct Options {
  int lines = 100'000;
  int repeats = 5;
  bool json = false;
};

// Commands as in published lists; the sizes make each line another problem.
std::string MakeList(int lines) {
  Random random(1);
  std::string list;
  for (int i = 0; i < lines; ++i) {
    const int filter = 1 + 2 * static_cast<int>(random.Below(3));
    list += fmt::format(
        "./bin/MIOpenDriver conv -n {} -c {} -H {} -W {} -k {} -y {} -x {} -p {} -q {} -u 1 -v 1 "
        "-l 1 "
        "-j 1 -m conv -g 1 -F {} -t 1\n",
        1 + i % 512, 64, 7 + i / 512, 56, 16 * (1 + static_cast<int>(random.Below(64))), filter,
        filter, filter / 2, filter / 2, 1 << random.Below(3));
  }
  return list;
}

struct Run {
  double seconds = 0;
  double cpu_seconds = 0;  // Tells a slow reader from a busy machine.
  ProblemList list;
};

Run ReadOnce(const std::string& content) {
  Run run;
  const auto start = std::chrono::steady_clock::now();
  const std::clock_t cpu_start = std::clock();
  run.list = ReadProblemList(content);
  run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  run.cpu_seconds = static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC;
  return run;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void PrintTable(const nlohmann::ordered_json& summary) {
  for (const auto& figure : summary.items()) {
    fmt::print("{:<32} {:.0f}\n", figure.key(), figure.value().get<double>());
  }
}

int RunBench(const Options& options) {
  const std::string content = MakeList(options.lines);
  std::vector<double> rates;
  std::vector<double> cpu_rates;
  nlohmann::ordered_json report = {{"summary", nlohmann::ordered_json::object()},
                                   {"rows", nlohmann::ordered_json::array()}};
  ProblemList list;
  for (int i = 0; i < options.repeats; ++i) {
    Run run = ReadOnce(content);
    rates.push_back(options.lines / run.seconds);
    cpu_rates.push_back(options.lines / run.cpu_seconds);
    report["rows"].push_back(
        {{"lines_per_second", rates.back()}, {"lines_per_cpu_second", cpu_rates.back()}});
    list = std::move(run.list);
  }
  report["summary"] = {{"lines", options.lines},
                       {"imported", list.imported},
                       {"rejected", list.rejected.size()},
                       {"median_lines_per_second", Median(rates)},
                       {"min_lines_per_second", *std::min_element(rates.begin(), rates.end())},
                       {"max_lines_per_second", *std::max_element(rates.begin(), rates.end())},
                       {"median_lines_per_cpu_second", Median(cpu_rates)}};
  if (options.json) {
    fmt::print("{}\n", report.dump(2));
  } else {
    PrintTable(report["summary"]);
  }
  return list.rejected.empty() && list.duplicates == 0 ? 0 : 1;
}

}  // namespace
}  // namespace attune

int main(int argc, char** argv) {
  attune::Options options;
  CLI::App app("Measures how fast lists of problems are read.");
  app.add_option("--lines", options.lines, "Lines of the list")->check(CLI::Range(1, 10'000'000));
  app.add_option("--repeats", options.repeats, "Runs")->check(CLI::Range(1, 1000));
  app.add_flag("--json", options.json, "Print one JSON object");
  CLI11_PARSE(app, argc, argv);
  return attune::RunBench(options);
}
