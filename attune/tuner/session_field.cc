// Selects the contenders of a session among the candidates that passed.
#include <algorithm>
#include <vector>

#include "attune/tuner/session_notes.h"
#include "attune/tuner/tuning_session.h"

namespace attune {
namespace {

// Quick times are unfair (others run beside), so only candidates far behind are left out.
constexpr double kQuickCut = 3.0;

}  // namespace

std::vector<TuningSession::Runner> TuningSession::QuickEnoughToCreate() {
  const auto is_slow = [this](const Runner& runner) {
    return runner.qualified.load_ns > options_.per_problem_ns;
  };
  if (std::all_of(passed_.begin(), passed_.end(), is_slow)) return passed_;
  std::vector<Runner> quick;
  for (const Runner& runner : passed_) {
    if (!is_slow(runner)) {
      quick.push_back(runner);
      continue;
    }
    left_out_.insert(runner.candidate);
    report_.notes.push_back(
        SlowToCreateNote(runner.candidate, runner.qualified.load_ns, options_.per_problem_ns));
  }
  return quick;
}

std::vector<TuningSession::Runner> TuningSession::SelectField() {
  std::vector<Runner> field = QuickEnoughToCreate();
  std::sort(field.begin(), field.end(),
            [](const Runner& a, const Runner& b) { return a.quick_ns < b.quick_ns; });
  auto baseline = field.begin();
  for (const Candidate& candidate : defaults_) {
    const auto found = std::find_if(field.begin(), field.end(), [&](const Runner& runner) {
      return runner.candidate == candidate;
    });
    if (found == field.end() && left_out_.contains(candidate)) continue;
    if (found == field.end()) {
      report_.notes.push_back(LostDefaultNote(candidate, unfinished_.contains(candidate)));
      continue;
    }
    baseline = found;
    break;
  }
  std::rotate(field.begin(), baseline, baseline + 1);
  const auto standing = std::find_if(field.begin() + 1, field.end(), [this](const Runner& runner) {
    return IsStanding(runner.candidate);
  });
  auto others = field.begin() + 1;
  if (standing != field.end()) {
    std::rotate(others, standing, standing + 1);
    ++others;
  }
  if (options_.searcher == "exhaustive") return field;
  const double best_ns =
      std::min_element(field.begin(), field.end(), [](const Runner& a, const Runner& b) {
        return a.quick_ns < b.quick_ns;
      })->quick_ns;
  const auto hopeless = std::find_if(others, field.end(), [&](const Runner& runner) {
    return runner.quick_ns > kQuickCut * best_ns;
  });
  field.erase(hopeless, field.end());
  if (field.size() > kMaxHeat) field.resize(kMaxHeat);
  return field;
}

}  // namespace attune
