// Metrics of a candidate beside its time: energy, or values that its kernel wrote; and the
// objectives among them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/data_type.h"
#include "attune/base/status.h"

namespace attune {

enum class Direction { kMinimize, kMaximize };
std::string_view Name(Direction direction);  // "minimize", "maximize".
std::optional<Direction> ParseDirection(std::string_view name);

inline constexpr std::string_view kTimeObjective = "time";      // Nanoseconds of a launch.
inline constexpr std::string_view kEnergyObjective = "energy";  // Joules of a launch.

// An objective: minimize or maximize one metric.
struct Objective {
  std::string name;
  Direction direction = Direction::kMinimize;
  std::string unit;  // For users; empty if it has none.

  friend bool operator==(const Objective&, const Objective&) = default;
};
Objective TimeObjective();
Objective EnergyObjective();

// How to read a metric from the output or the text of a launch.
struct FigureSource {
  enum class Reduction { kFirst, kMax, kMin, kSum, kLast };

  // Name of the operand, or empty for the workspace: `count` elements of `type` from element
  // `first` on.
  std::string operand = {};
  DataType type = DataType::kF32;
  int64_t first = 0;
  int64_t count = 1;
  Reduction reduction = Reduction::kFirst;
  // If not empty, reads all numbers that are printed behind this word instead, and uses only the
  // reduction of the above.
  std::string printed = {};

  friend bool operator==(const FigureSource&, const FigureSource&) = default;
};
std::string_view Name(FigureSource::Reduction reduction);  // "first", "max", "min", "sum", "last".
std::optional<FigureSource::Reduction> ParseReduction(std::string_view name);
// Folds `next` into `so_far`, the result of all numbers before it.
double Reduced(FigureSource::Reduction reduction, double so_far, double next);

// Returns true if `byte` can be in a word that a metric is printed behind; bytes beside a word
// cannot.
bool IsPrintedWordByte(char byte);
// Letters, digits, `_`, `/`, `.` and `-`, a letter or `_` first: "GFLOPS", "GB/s".
bool IsPrintedWord(std::string_view word);

// "y f32 0 1 max": operand (`workspace` for that), type, first, count, reduction; or
// "printed GFLOPS max". kInvalidArgument with the text for another one.
std::string Text(const FigureSource& source);
Result<FigureSource> ParseFigureSource(std::string_view text);

// The metrics to measure for one candidate beside its time.
struct MeterRequest {
  bool energy = false;
  std::vector<FigureSource> outputs;

  bool empty() const { return !energy && outputs.empty(); }
  friend bool operator==(const MeterRequest&, const MeterRequest&) = default;
};

// Joules of a launch: the reading of the counter, with the bounds that its coarseness implies.
struct EnergyReading {
  double joules = 0;
  double low_joules = 0;
  double high_joules = 0;

  friend bool operator==(const EnergyReading&, const EnergyReading&) = default;
};

struct MeterReading {
  EnergyReading energy;         // Zeros if not requested.
  std::vector<double> outputs;  // In the order of the request; finite.

  friend bool operator==(const MeterReading&, const MeterReading&) = default;
};

// A metric of a candidate over all its samples: the median and the interval that covers it with
// `confidence` (0.99; lower with too few samples). It is 0 if one sample is exact: then the
// interval is the uncertainty from the counter's coarseness.
struct FigureValue {
  double value = 0;
  double low = 0;
  double high = 0;
  double confidence = 0;
  int64_t samples = 0;

  friend bool operator==(const FigureValue&, const FigureValue&) = default;
};

}  // namespace attune
