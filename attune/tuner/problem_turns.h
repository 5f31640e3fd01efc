// Distributes problems among several processes that tune one list.
#pragma once

#include <memory>

#include "attune/base/status.h"
#include "attune/problem/problem.h"

namespace attune {

class ProblemTurns {
 public:
  virtual ~ProblemTurns() = default;

  // The right to tune one problem, during its lifetime.
  class Turn {
   public:
    virtual ~Turn() = default;
  };

  // Null while another process tunes `problem`.
  virtual Result<std::unique_ptr<Turn>> TryTake(const Problem& problem) = 0;
  // Rests a moment before the remaining problems are asked for again.
  virtual void Rest() = 0;
};

}  // namespace attune
