// Times blocks of candidates in a child process, so that one that dies costs its own trial.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attune/base/status.h"
#include "attune/measure/figure_meter.h"
#include "attune/trial/candidate.h"
#include "attune/trial/trial.h"
#include "attune/tuner/child_process.h"
#include "attune/tuner/evaluator.h"
#include "attune/tuner/spare_children.h"

namespace attune {

// Of a block of `launches` by a candidate whose launches took `quick_ns` when it qualified (0 if
// that is unknown), in nanoseconds: ten times what the block and the launch before it would take
// at that pace, and never less than `run_deadline_ns`.
int64_t BlockDeadlineNs(int64_t run_deadline_ns, int launches, double quick_ns);

// How long a block may take.
struct Pace {
  int64_t run_deadline_ns = 0;
  std::map<Candidate, double> quick_ns;  // Of a launch, as qualifying saw it.

  double QuickNs(const Candidate& candidate) const {
    const auto found = quick_ns.find(candidate);
    return found == quick_ns.end() ? 0 : found->second;
  }
};

// What a timer leaves behind, for who made it.
struct TimerRemains {
  BusyTime& busy;
  DyingChildren& dying;  // Who is added is killed, and not waited for.
  bool& asking_harms;    // The question for its conditions ended a child: the device is not asked.
};

// Times candidates in one child at a time. A candidate that kills its child is remembered and left
// out of the next.
class ChildBlockTimer final : public BlockTimer, public FigureMeter {
 public:
  // Borrows `spares`, and what `remains` refers to.
  ChildBlockTimer(SpareChildren& spares, Assignment assignment, Pace pace,
                  std::vector<Candidate> candidates, const TimerRemains& remains);
  ~ChildBlockTimer() override;

  // Starts a child and loads into it everything that is not banned. When it returns, nobody dies
  // any more.
  Status Restart();

  tl::expected<double, Failure> TimeBlock(size_t index, const TimingRequest& request) override;
  tl::expected<MeterReading, Failure> Meter(size_t index, const MeterRequest& request) override;
  Status CheckMeter(const MeterRequest& request) override;
  int generation() const override { return generation_; }
  // A child that dies of the question is replaced, and no candidate is to blame.
  Result<std::optional<DeviceConditions>> Conditions() override;

 private:
  // Why candidate `index` cannot be asked for anything; nothing if it can.
  std::optional<Failure> FindObstacle(size_t index) const;
  // What becomes of candidate `index` after `reply`, which is not the answer that was asked for.
  Failure Ban(size_t index, const Reply& reply, const char* what_is_missing);
  Status BanAndRestart(size_t index, Failure failure);
  Failure Replace(size_t index, Failure failure);
  // After `restarted` nobody is timed any more if it failed.
  void NoteIfBroken(const Status& restarted);
  void CollectBusy();

  SpareChildren& spares_;
  const Assignment assignment_;
  const Pace pace_;
  const std::vector<Candidate> candidates_;
  const TimerRemains remains_;
  std::optional<ChildProcess> child_;
  std::vector<std::optional<uint64_t>> loaded_;  // Index in the child, by index here.
  std::map<size_t, Failure> banned_;
  std::string broken_;
  int generation_ = 0;
};

}  // namespace attune
