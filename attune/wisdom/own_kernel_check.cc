#include "attune/wisdom/own_kernel_check.h"

#include <array>

#include "attune/tuner/qualify_time.h"

namespace attune {
namespace {

constexpr uint64_t kCheckSeed = 1;

}  // namespace

Status OwnKernelCheck::Begin() {
  ATTUNE_ASSIGN_OR_RETURN(evaluator_, MakeEvaluatorAt(place_));
  return evaluator_->Begin(problem_, kCheckSeed, {}, {});
}

Status OwnKernelCheck::operator()(const Config& config) {
  if (!begun_.has_value()) begun_ = Begin();
  ATTUNE_RETURN_IF_ERROR(*begun_);
  const std::array<Candidate, 1> candidates = {{{solver_, config}}};
  ATTUNE_ASSIGN_OR_RETURN(const auto results,
                          evaluator_->Qualify(candidates, QualifyTime(), nullptr));
  if (results.empty()) return Unavailable("It was not ready in time.");
  const Failure* failure = results.front().trial.failure();
  return failure == nullptr ? Status::Ok() : Unavailable(failure->message);
}

}  // namespace attune
