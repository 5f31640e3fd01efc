// Figures of a candidate beside its time: what it draws, or what its kernel wrote; and what is
// sought among them.
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

// What is sought: little or much of one figure.
struct Objective {
  std::string name;
  Direction direction = Direction::kMinimize;
  std::string unit;  // For people; empty if it has none.

  friend bool operator==(const Objective&, const Objective&) = default;
};
Objective TimeObjective();
Objective EnergyObjective();

// How a figure is read out of what a launch has written or printed.
struct FigureSource {
  enum class Reduction { kFirst, kMax, kMin, kSum, kLast };

  // Of the operand called so, or of the workspace if this is empty: `count` elements of `type` from
  // element `first` on.
  std::string operand = {};
  DataType type = DataType::kF32;
  int64_t first = 0;
  int64_t count = 1;
  Reduction reduction = Reduction::kFirst;
  // Unless this is empty: of all numbers that are printed behind this word instead, and of the
  // above the reduction alone counts.
  std::string printed = {};

  friend bool operator==(const FigureSource&, const FigureSource&) = default;
};
std::string_view Name(FigureSource::Reduction reduction);  // "first", "max", "min", "sum", "last".
std::optional<FigureSource::Reduction> ParseReduction(std::string_view name);
// What `next` makes of `so_far`, all numbers before it put together.
double Reduced(FigureSource::Reduction reduction, double so_far, double next);

// Whether `byte` can be in a word that a figure is printed behind; what is beside a word cannot.
bool IsPrintedWordByte(char byte);
// Letters, digits, `_`, `/`, `.` and `-`, a letter or `_` first: "GFLOPS", "GB/s".
bool IsPrintedWord(std::string_view word);

// "y f32 0 1 max": operand (`workspace` for that), type, first, count, reduction; or
// "printed GFLOPS max". kInvalidArgument with the text for another one.
std::string Text(const FigureSource& source);
Result<FigureSource> ParseFigureSource(std::string_view text);

// What is asked of one candidate beside its time.
struct MeterRequest {
  bool energy = false;
  std::vector<FigureSource> outputs;

  bool empty() const { return !energy && outputs.empty(); }
  friend bool operator==(const MeterRequest&, const MeterRequest&) = default;
};

// Joules of a launch: what the counter says, and between which bounds it is, as coarsely as the
// counter moves.
struct EnergyReading {
  double joules = 0;
  double low_joules = 0;
  double high_joules = 0;

  friend bool operator==(const EnergyReading&, const EnergyReading&) = default;
};

struct MeterReading {
  EnergyReading energy;         // Zeros unless it was asked for.
  std::vector<double> outputs;  // In the order of the request; finite.

  friend bool operator==(const MeterReading&, const MeterReading&) = default;
};

// A figure of a candidate over all its samples: the median and the interval that covers it with
// `confidence` (0.99; lower where there are too few samples, and 0 where one sample says it all:
// then the interval is what the counter's coarseness leaves open).
struct FigureValue {
  double value = 0;
  double low = 0;
  double high = 0;
  double confidence = 0;
  int64_t samples = 0;

  friend bool operator==(const FigureValue&, const FigureValue&) = default;
};

}  // namespace attune
