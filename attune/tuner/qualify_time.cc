#include "attune/tuner/qualify_time.h"

#include <algorithm>

#include <fmt/format.h>

namespace attune {
namespace {

constexpr int64_t kLeastGraceNs = 1'000'000'000;

}  // namespace

QualifyTime TimeToQualify(const ProblemTime& time, int64_t begin_by_ns, bool somebody_passed) {
  QualifyTime limits;
  limits.begin_by_ns = begin_by_ns;
  limits.ready_by_ns = time.end_ns + std::max(time.per_problem_ns, kLeastGraceNs);
  limits.first_ready_by_ns = limits.ready_by_ns;
  if (!somebody_passed) {
    limits.first_ready_by_ns =
        time.run_end_ns > 0 ? std::max(time.run_end_ns, limits.ready_by_ns) : QualifyTime::kForever;
  }
  return limits;
}

Status NobodyWasReady(int64_t elapsed_ns) {
  return DeadlineExceeded(
      fmt::format("No candidate was built and loaded in {:.1f} s, and the time of the run was "
                  "over. A larger budget lets the problem be tuned, as does none.",
                  static_cast<double>(elapsed_ns) / 1e9));
}

}  // namespace attune
