// Who tunes which problem when several processes tune one list.
#pragma once

#include <memory>

#include "attune/base/status.h"
#include "attune/problem/problem.h"

namespace attune {

class ProblemTurns {
 public:
  virtual ~ProblemTurns() = default;

  // The right to tune one problem, as long as it lives.
  class Turn {
   public:
    virtual ~Turn() = default;
  };

  // Null while somebody else tunes `problem`.
  virtual Result<std::unique_ptr<Turn>> TryTake(const Problem& problem) = 0;
  // A moment, before those that are left are asked for again.
  virtual void Rest() = 0;
};

}  // namespace attune
