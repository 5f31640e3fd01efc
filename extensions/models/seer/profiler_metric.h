// The metrics read from NVIDIA's profilers: their names, their units, and the spelling of their
// values.
#pragma once

#include <optional>
#include <string_view>

namespace attune::seer {

enum Figure {
  kTime,
  kFp32,
  kFfma,
  kFadd,
  kFmul,
  kReads,
  kWrites,
  kFp,
  kDram,
  kRegisters,
  kStaticShared,
  kDynamicShared,
  kGrid,
  kBlock,
  kFigures
};

enum class Measure { kMilliseconds, kCount, kSectorsOfBytes, kTenths, kBytes };

struct Metric {
  std::string_view name;
  Figure figure;
  Measure measure;
};

// Null for a metric that is not read. Looks up the names of nvprof and ncu, and the different names
// of some layouts.
const Metric* FindMetric(std::string_view name);

// How many of the measure's base units (ms, sectors, bytes, tenths) one of `unit` is. Ignores a
// divisor: "Kbyte/block" is 1000 bytes. Nothing for a unit of another measure.
std::optional<double> FactorOf(std::string_view unit, Measure measure);

// A number with commas between groups of three digits, or without them; nothing for anything else,
// such as a decimal comma.
std::optional<double> NumberOf(std::string_view text);
// True for a profiler's text for an unknown value: n/a and the like.
bool IsUnknown(std::string_view text);
// "Mid (7)" is 7 of 10, as nvprof prints utilisations; a number is in percent, as ncu prints them.
// Whole numbers up to 10, as in SEER; nothing for anything else.
std::optional<double> TenthsOf(std::string_view text);

}  // namespace attune::seer
