// References that a child computes on its device, before it qualifies candidates there.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attune/base/status.h"
#include "attune/tuner/child_evaluator.h"
#include "attune/tuner/child_process.h"
#include "attune/tuner/spare_children.h"
#include "attune/verify/reference_maker.h"

namespace attune {

// A device that failed at a reference once, or was found out, is not asked for another one. Used by
// one thread, which starts the children: the system kills them with it.
class ReferenceChild final : public ReferenceMaker {
 public:
  // Borrows both.
  ReferenceChild(SpareChildren& spares, const ChildOptions& options)
      : spares_(spares), options_(options) {}

  // This, or null where the processor does better, which it never does for a user's kernel.
  ReferenceMaker* For(const Problem& problem);

  // In a child that nobody has asked anything. Such a child may compute for as long as a phase may
  // run, or as the processor is expected to take if that is longer.
  Status Make(const Problem& problem, int data_fd, const std::function<bool()>& go_on) override;
  void Distrust(const Status& reason) override;

  // The child that has computed the last reference, or refused to, its device open and nothing else
  // asked of it; nothing if it is no more, or was taken.
  std::optional<ChildProcess> TakeChild() { return std::exchange(child_, std::nullopt); }

  // Why the device is not asked any more, since the last call.
  std::vector<std::string> TakeNotes() { return std::exchange(notes_, {}); }

 private:
  void GiveUp(const std::string& reason);

  SpareChildren& spares_;
  const ChildOptions& options_;
  std::optional<ChildProcess> child_;
  bool is_trusted_ = true;
  std::vector<std::string> notes_;
};

}  // namespace attune
