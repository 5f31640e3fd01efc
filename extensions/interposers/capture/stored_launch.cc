#include "extensions/interposers/capture/stored_launch.h"

#include "extensions/interposers/capture/settings.h"

namespace attune::capture {
namespace {

__attribute__((destructor)) void AtExit() {
  if (IsOn()) TheSelection().Finish();
}

}  // namespace

std::shared_mutex& Launching() {
  static auto* const launching = new std::shared_mutex();
  return *launching;
}

}  // namespace attune::capture
