// Short names for people. Programs read the canonical text.
#pragma once

#include <string>

#include "attune/problem/problem.h"
#include "attune/record/network.h"
#include "attune/record/select.h"
#include "attune/trial/device_conditions.h"
#include "attune/trial/trial.h"

namespace attune {

// "conv fwd 4x64x56x56 k64 3x3 p1 nhwc f32", "gemm 512x512x512 nt f32", "pool 8x64x56x56 max 3x3 s2
// f32": names only unusual values. Not unique, not for parsing.
std::string Label(const Problem& problem);

// "1.23x", two decimals; "1.2e+03x" from a thousand on.
std::string FormatSpeedup(double speedup);

// "12.3 GFLOP/s", "45.6 GB/s": `rate` per second, decimal prefixes.
std::string FormatRate(double rate, const char* unit);

// The rate of `problem` at `time_ns`, in the unit of its operator's limit: bytes per second for a
// memory-bound one, FLOP/s for others. "" if unknown.
std::string FormatRateOf(const Problem& problem, double time_ns);

// "1305 MHz, memory 2619 MHz, 698 of 700 W, 71 °C, throttled: power cap": the known values.
// "nothing is known" if there are none.
std::string FormatConditions(const DeviceConditions& conditions);

// "87%"; "" if unknown (0).
std::string FormatShare(double fraction);

// A fraction of the roofline: as FormatShare, and ">100%" above it.
std::string FormatRoofline(double fraction);

// Why `fraction` of the roofline of `problem` by `peaks` is above 1, a sentence; empty if it is
// not.
std::string RooflineNote(const Problem& problem, double fraction, const Peaks& peaks);

// "99.9%": a tenth of a percent, rounded down, because nothing measured is certain.
std::string FormatConfidence(double confidence);

// Half of the confidence interval as a share of the median: "±0.8%".
std::string FormatSpread(const Measurement& measurement);

// "Resnet50:1 (Pytorch:1)": a network with its framework; without one the model alone.
std::string Label(const Network& network);

}  // namespace attune
