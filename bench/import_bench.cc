// Lines per second of a list of distinct MIOpenDriver commands: of `attune import`, a new database
// each time, and of reading the list into problems alone.
//
//   import_bench [--lines N] [--repeats N] [--json]
#include <algorithm>
#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "attune/base/file.h"
#include "attune/base/random.h"
#include "attune/formats/problem_list.h"
#include "bench/figures.h"

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

// Repeated measurements, in seconds.
struct Times {
  std::vector<double> import;       // The program, from its start to its end.
  std::vector<double> reading;      // The list alone.
  std::vector<double> reading_cpu;  // Tells a slow reader from a busy machine.
};

// In a database of its own. Ends the program unless every line became a problem.
double ImportOnce(const std::filesystem::path& folder, const std::string& list, int lines) {
  const std::string database = (folder / "import.db").string();
  const std::string output = (folder / "import.json").string();
  const auto start = WallClock::now();
  RunBeside("attune", {"--db", database, "import", list, "--tag", "t", "--json"}, output);
  const double seconds = SecondsSince(start);
  const Result<std::string> text = ReadFile(output);
  Require(text.status());
  const auto said = nlohmann::json::parse(*text);
  if (said.at("imported") != lines || said.at("problems") != lines) {
    Require(Internal(fmt::format("Of {} lines this became: {}", lines, *text)));
  }
  for (const char* end : {"", "-wal", "-shm"}) std::filesystem::remove(database + end);
  return seconds;
}

void ReadOnce(const std::string& content, Times& times) {
  const auto start = WallClock::now();
  const std::clock_t cpu_start = std::clock();
  const ProblemList list = ReadProblemList(content);
  times.reading.push_back(SecondsSince(start));
  times.reading_cpu.push_back(static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC);
  if (!list.rejected.empty() || list.duplicates > 0) {
    Require(Internal("The list is not what this bench made."));
  }
}

void RunBench(const Options& options) {
  const BenchFolder folder("");
  const std::string content = MakeList(options.lines);
  const std::string list = (folder.path() / "list.txt").string();
  Require(WriteFileAtomically(list, content));
  Times times;
  for (int i = 0; i < options.repeats; ++i) {
    times.import.push_back(ImportOnce(folder.path(), list, options.lines));
    ReadOnce(content, times);
  }
  const double slowest_s = *std::max_element(times.import.begin(), times.import.end());
  PrintFigures({{"imported_lines_per_s", options.lines / MedianOf(times.import), ">= 50000"},
                {"slowest_imported_lines_per_s", options.lines / slowest_s, ""},
                {"read_lines_per_s", options.lines / MedianOf(times.reading), ""},
                {"read_lines_per_cpu_s", options.lines / MedianOf(times.reading_cpu), ""}},
               {{"lines", options.lines}, {"repeats", options.repeats}}, options.json);
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
  attune::RunBench(options);
  return 0;
}
