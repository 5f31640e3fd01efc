// The figures that are read of NVIDIA's profilers: how they are called, in which units they come,
// and how their values are spelled.
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

// Null for a metric that is not read. By the names of nvprof and ncu, and where a layout has
// others, by these.
const Metric* FindMetric(std::string_view name);

// How many of the measure's base units (ms, sectors, bytes, tenths) one of `unit` is; what it is
// per does not count: "Kbyte/block" is 1000 bytes. Nothing for a unit of something else.
std::optional<double> FactorOf(std::string_view unit, Measure measure);

// A number with commas between groups of three digits, or without them; nothing for anything else,
// such as a decimal comma.
std::optional<double> NumberOf(std::string_view text);
// What a profiler prints where it knows nothing: n/a and the like.
bool IsUnknown(std::string_view text);
// "Mid (7)" is 7 of 10, as nvprof prints utilisations; a number is in percent, as ncu prints them.
// Whole numbers up to 10, as SEER has them; nothing for anything else.
std::optional<double> TenthsOf(std::string_view text);

}  // namespace attune::seer
