// Shared by benches with a list of figures: the list, their folder, and fresh processes of
// themselves.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "attune/base/status.h"

namespace attune {

using WallClock = std::chrono::steady_clock;

double SecondsSince(WallClock::time_point start);
// CPU time of this process, which a busy machine disturbs less.
double ProcessorMs();
// REQUIRES: there is one at least.
double MedianOf(std::vector<double> values);

// Ends the program with the reason: a figure over half of the work is no figure.
void Require(const Status& status);

struct Figure {
  std::string name;
  double value = 0;
  std::string required;  // "< 50"; empty if nothing is.
};

// A table, or with `as_json` one object whose summary has the figures and `circumstances`.
void PrintFigures(const std::vector<Figure>& figures, const nlohmann::ordered_json& circumstances,
                  bool as_json);

// A folder that is there as long as this is. Ends the program if it cannot be made.
class BenchFolder {
 public:
  // In `parent`, or where temporary files are if that is empty.
  explicit BenchFolder(const std::string& parent);
  BenchFolder(const BenchFolder&) = delete;
  BenchFolder& operator=(const BenchFolder&) = delete;
  ~BenchFolder();

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

enum class DiskCache { kWarm, kCold };

// Drops a file from the page cache.
void Forget(const std::string& path);

// Runs this program again with `arguments`, standard output to the file `output`, and waits for it.
// Ends the program if that one fails.
void RunAgain(std::vector<std::string> arguments, const std::string& output);

// The same with the program `name` of this one's folder.
void RunBeside(const std::string& name, std::vector<std::string> arguments,
               const std::string& output);

}  // namespace attune
