// Tells people why nothing happens while another process has the machine.
#pragma once

#include <cstdint>
#include <string>

#include "apps/attune/terminal.h"

namespace attune {

// Says it once, on `err`, which outlives it. Not thread-safe.
class WaitNotice {
 public:
  WaitNotice(Output& err, std::string verb) : err_(err), verb_(std::move(verb)) {}

  // While waiting: says so once that takes longer than people notice.
  void StillWaiting();

 private:
  static constexpr int64_t kNoticedNs = 1'000'000'000;

  Output& err_;
  const std::string verb_;
  int64_t begin_ns_ = 0;  // 0 until the first wait begins.
  bool has_said_ = false;
};

}  // namespace attune
