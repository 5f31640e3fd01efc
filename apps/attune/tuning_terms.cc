#include "apps/attune/tuning_terms.h"

#include <cstdint>
#include <utility>

namespace attune {

TuneOptions UnderTerms(TuneOptions options, const TuningTerms& terms) {
  constexpr int64_t kNsPerMs = 1'000'000;
  options.limits.max_launches = terms.max_iterations;
  options.limits.max_time_ns = terms.max_duration_ms * kNsPerMs;
  options.terms.warm_up_launches = terms.max_warmup_iterations;
  options.terms.warm_up_ns = terms.max_warmup_duration_ms * kNsPerMs;
  options.terms.rotation_bytes = terms.rotation_bytes;
  if (terms.rotation_bytes > 0) options.cache = CacheState::kRotating;
  options.max_listed = terms.max_listed;
  options.excluded_libraries = terms.disabled_libraries;
  if (terms.numerical_check.enabled) {
    options.terms.output_check =
        OutputTolerance{terms.numerical_check.atol, terms.numerical_check.rtol};
  }
  return options;
}

}  // namespace attune
