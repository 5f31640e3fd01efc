// Measures the costs of recording: a new problem, a known problem, the exit, and the import by the
// command that opens the database.
//
//   recording [--problems N] [--repeats N] [--folder DIR] [--json]

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "attune/ops/gemm/gemm.h"
#include "attune/record/spool_writer.h"
#include "bench/figures.h"
#include "storage/sql/sql_store.h"

namespace attune {
namespace {

struct Options {
  int64_t problems = 20000;
  int repeats = 9;
  std::string folder;
  bool json = false;
};

std::vector<Problem> Problems(int64_t count) {
  std::vector<Problem> problems;
  for (int64_t i = 0; i < count; ++i) {
    Gemm gemm;
    gemm.m = 16 + i % 300;
    gemm.n = 16 + i / 300;
    gemm.k = 64;
    problems.emplace_back(Normalized(gemm));
  }
  return problems;
}

SpoolWriterOptions WriterOptions(const std::string& database) {
  SpoolWriterOptions options;
  options.place = SpoolPlaceOf(database, /*makes_folders=*/false);
  options.header.tag = "bench";
  return options;
}

double NsOf(const std::vector<Problem>& problems, SpoolWriter& writer) {
  const WallClock::time_point start = WallClock::now();
  for (const Problem& problem : problems) Require(writer.Append(problem).status());
  return SecondsSince(start) * 1e9 / static_cast<double>(problems.size());
}

// The part for the key of a problem, which every record needs.
double NsOfKeys(const std::vector<Problem>& problems) {
  const WallClock::time_point start = WallClock::now();
  uint64_t sum = 0;
  for (const Problem& problem : problems) sum += KeyOf(problem).low;
  const double seconds = SecondsSince(start);
  if (sum == 0) fmt::print(stderr, "unlikely\n");
  return seconds * 1e9 / static_cast<double>(problems.size());
}

int Run(const Options& options) {
  constexpr std::chrono::seconds kPatience{60};
  const BenchFolder folder(options.folder);
  const std::vector<Problem> problems = Problems(options.problems);
  std::vector<double> new_ns, known_ns, key_ns, close_ms, import_us;
  for (int i = 0; i < options.repeats; ++i) {
    const std::string database = folder.path() / fmt::format("{}.db", i);
    {
      SpoolWriter writer(WriterOptions(database));
      new_ns.push_back(NsOf(problems, writer));
      known_ns.push_back(NsOf(problems, writer));
      key_ns.push_back(NsOfKeys(problems));
      const WallClock::time_point start = WallClock::now();
      if (!writer.Close(kPatience)) Require(Unavailable("The spool was not written."));
      close_ms.push_back(SecondsSince(start) * 1e3);
      Require(writer.failure());
    }
    const WallClock::time_point start = WallClock::now();
    const auto store = OpenSqlStore(database);
    Require(store.status());
    import_us.push_back(SecondsSince(start) * 1e6 / static_cast<double>(problems.size()));
    if ((*store)->Problems("bench")->size() != problems.size()) Require(DataLoss("Some are lost."));
  }
  PrintFigures({{"new_problem_ns", MedianOf(new_ns), "< 1000"},
                {"new_problem_worst_repeat_ns", *std::ranges::max_element(new_ns), ""},
                {"known_problem_ns", MedianOf(known_ns), ""},
                {"key_of_problem_ns", MedianOf(key_ns), ""},
                {"close_ms", MedianOf(close_ms), "< 500"},
                {"import_us_per_problem", MedianOf(import_us), ""}},
               {{"problems", options.problems}, {"repeats", options.repeats}}, options.json);
  return 0;
}

}  // namespace
}  // namespace attune

int main(int argc, char** argv) {
  attune::Options options;
  CLI::App program("Measures what recording problems costs.");
  program.add_option("--problems", options.problems, "Different problems")
      ->check(CLI::Range(1, 250'000))
      ->capture_default_str();
  program.add_option("--repeats", options.repeats)
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  program.add_option("--folder", options.folder, "On the disk to be measured");
  program.add_flag("--json", options.json);
  CLI11_PARSE(program, argc, argv);
  return attune::Run(options);
}
