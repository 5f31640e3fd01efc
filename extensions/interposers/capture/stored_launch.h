// Makes a launch, in OpenCL and CUDA alike, and stores it if it was requested.
#pragma once

#include <shared_mutex>
#include <string>

#include "extensions/interposers/capture/selection.h"

namespace attune::capture {

// Held exclusively while a launch is stored, so that kernels of other threads do not write
// meanwhile. Never destroyed.
std::shared_mutex& Launching();

// Launches by `launch`, which returns `success` if it succeeded, and stores a ClLaunch or a
// CudaLaunch from `make_launch`.
template <class MakeLaunch, class Launch, class Code>
Code Store(const std::string& function, uint64_t code, const MakeLaunch& make_launch,
           const Launch& launch, Code success) {
  const Selection::Turn turn = TheSelection().Begin(function, code);
  if (!turn.is_wanted) {
    const std::shared_lock lock(Launching());
    return launch();
  }
  const std::unique_lock lock(Launching());
  auto stored = make_launch();
  std::string hindered = stored.Look();
  const bool is_new = hindered.empty() && TheSelection().IsNew(function, code, stored.Shape());
  if (is_new) hindered = stored.Begin(turn.number);
  const Code launched = launch();
  bool is_changed = false;
  if (is_new && hindered.empty()) {
    hindered = launched == success ? stored.End(is_changed)
                                   : "it failed with " + std::to_string(static_cast<int>(launched));
  }
  if (!hindered.empty()) {
    TheSelection().NoteRefused(function, code, hindered);
  } else if (is_changed) {
    TheSelection().NoteTaken(function, code, stored.Shape());
  } else if (is_new) {
    TheSelection().NoteUnchanged(function, code);
  }
  return launched;
}

}  // namespace attune::capture
