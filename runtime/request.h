// Calls of the C interface as keys and problems.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "attune/attune.h"
#include "attune/base/status.h"
#include "attune/dispatch/plan_key.h"
#include "attune/problem/problem.h"

namespace attune {

// 0 for the value 0, 1 for the value 1, 2 for any other.
inline int ScalarClassOf(double value) { return value == 0 ? 0 : value == 1 ? 1 : 2; }

// True for the integers of int32_t, which scale integer products. False for NaN.
inline bool IsWhole(double value) {
  using Limits = std::numeric_limits<int32_t>;
  return value >= Limits::min() && value <= Limits::max() && value == std::trunc(value);
}

inline int IsWide(const attune_arguments& arguments) {
  const auto bits =
      reinterpret_cast<uintptr_t>(arguments.a) | reinterpret_cast<uintptr_t>(arguments.b) |
      reinterpret_cast<uintptr_t>(arguments.bias) | reinterpret_cast<uintptr_t>(arguments.c);
  return bits % kWideAlignmentBytes == 0 ? 1 : 0;
}

// What the key of a call is made of: the words of its struct, the limit and the classes.
template <class Call>
KeyParts PartsOfCall(const Call& call, CallClasses classes, uint64_t workspace_limit_bytes) {
  static_assert(sizeof(Call) % sizeof(uint64_t) == 0);
  static_assert(sizeof(Call) / sizeof(uint64_t) + 2 <= PlanKey::kMaxWords);
  const int packed_classes = 1 + classes.alpha + 4 * classes.beta + 16 * classes.wide;
  return {&call,
          sizeof call / sizeof(uint64_t),
          {workspace_limit_bytes, static_cast<uint64_t>(packed_classes)}};
}
template <class Call>
PlanKey KeyOfCall(const Call& call, CallClasses classes, uint64_t workspace_limit_bytes) {
  const KeyParts parts = PartsOfCall(call, classes, workspace_limit_bytes);
  PlanKey key;
  key.Append(&call, sizeof call / sizeof(uint64_t));
  for (const uint64_t word : parts.last_words) key.Append(word);
  return key;
}
// The key of a problem in any other form.
PlanKey KeyOfProblem(const Problem& problem, uint64_t workspace_limit_bytes);

// kInvalidArgument names the field, its value and the limit.
Result<Problem> ProblemOf(const attune_gemm& gemm, CallClasses classes);
Result<Problem> ProblemOf(const attune_conv& conv, CallClasses classes);
// A canonical text, a MIOpenDriver command of one direction or a line of TunableOp's.
Result<Problem> ProblemOf(const char* text);

}  // namespace attune
