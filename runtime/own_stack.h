// Calls from threads that have less stack than attune needs.
#pragma once

namespace attune {

// Runs `body` in this thread, on a stack of attune's own, for which HasAmpleStack() is true.
// Returns false and runs nothing if there is no memory for a stack. Takes a microsecond; `body`
// must not throw.
bool RunOnOwnStack(void (*body)(void* argument), void* argument);

// As RunOnOwnStack(), for a callable. Calls `otherwise` instead if there is no memory.
template <class Body, class Otherwise>
auto OnOwnStack(const Body& body, const Otherwise& otherwise) {
  struct Call {
    const Body& body;
    decltype(body()) result;
  } call{body, {}};
  const bool has_run = RunOnOwnStack(
      [](void* argument) {
        auto* made = static_cast<Call*>(argument);
        made->result = made->body();
      },
      &call);
  return has_run ? call.result : otherwise();
}

}  // namespace attune
