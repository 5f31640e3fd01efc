#include "attune/tuner/own_kernel/own_kernel_check.h"

#include <algorithm>
#include <array>
#include <utility>

#include "attune/problem/tensor.h"
#include "attune/tuner/own_kernel/config_choice.h"
#include "attune/tuner/qualify_time.h"

namespace attune {
namespace {

constexpr uint64_t kCheckSeed = 1;
// OpenCL compiles for the work-group when a kernel is first launched.
constexpr double kLeastDeadlineNs = 5e9;
constexpr double kSlowerThanExpected = 100;
// Pace of comparing operands on a machine that also has other load.
constexpr double kBytesComparedPerNs = 0.032;

// Growth of the work from `from` to `to`, if it is proportional to each size.
double Growth(const kernel::OwnSizes& from, const kernel::OwnSizes& to) {
  double growth = 1;
  for (const auto& [name, size] : to) {
    const auto before = from.find(name);
    if (before == from.end() || before->second <= 0) continue;
    growth *= std::max(1.0, static_cast<double>(size) / static_cast<double>(before->second));
  }
  return growth;
}

ChildOptions Stopping(ChildOptions children, std::stop_token stop) {
  children.go_on = [stop = std::move(stop)] { return !stop.stop_requested(); };
  return children;
}

}  // namespace

int64_t CheckDeadlineNs(const std::vector<TunedSize>& tuned, const kernel::OwnSizes& sizes,
                        const Problem& problem) {
  const auto most_ns = static_cast<double>(ChildOptions().run_deadline_ns);
  double expected_ns = 0;
  std::vector<const TunedSize*> nearest = NearestFirst(tuned, sizes);
  nearest.resize(std::min(nearest.size(), kMostConfigsTried));
  for (const TunedSize* size : nearest) {
    expected_ns = std::max(expected_ns, size->time_ns * Growth(size->sizes, sizes));
  }
  double bytes = 0;
  for (const Operand& operand : Operands(problem)) {
    bytes += static_cast<double>(SpanBytes(operand.tensor));
  }
  return static_cast<int64_t>(std::min(
      most_ns, kLeastDeadlineNs + kSlowerThanExpected * expected_ns + bytes / kBytesComparedPerNs));
}

OwnKernelCheck::OwnKernelCheck(ChildOptions children, SolverId solver, Problem problem,
                               std::stop_token stop)
    : solver_(std::move(solver)),
      problem_(std::move(problem)),
      stop_(stop),
      evaluator_(MakeChildEvaluator(Stopping(std::move(children), std::move(stop)))) {}

Status OwnKernelCheck::Begin() {
  ReferenceTerms reference;
  reference.go_on = [this](double) { return !stop_.stop_requested(); };
  return evaluator_->Begin(problem_, kCheckSeed, {}, reference);
}

Status OwnKernelCheck::operator()(const Config& config) {
  if (stop_.stop_requested()) return Unavailable("The check was stopped.");
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
