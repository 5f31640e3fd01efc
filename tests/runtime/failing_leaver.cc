// A program with failing calls in main, in an atexit handler and in a static destructor. It prints
// for each "<place> <code>", with code -1 if the message is not that of the call.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "attune/attune.h"

namespace {

attune_runtime* runtime = nullptr;

void FailIn(const char* place) {
  // Too long for a string to keep it without memory of its own.
  constexpr const char* kNoProblem = "this-is-no-problem-and-its-name-is-quite-long";
  char* json = nullptr;
  const attune_code code = attune_explain(runtime, kNoProblem, &json);
  const bool is_told = std::strstr(attune_last_message(), kNoProblem) != nullptr;
  std::printf("%s %d\n", place, is_told ? static_cast<int>(code) : -1);
}

struct FailsAtItsEnd {
  ~FailsAtItsEnd() { FailIn("static_destructor"); }
};

const FailsAtItsEnd last;

}  // namespace

int main() {
  std::atexit([] { FailIn("atexit_handler"); });
  if (attune_runtime_create(nullptr, &runtime) != ATTUNE_OK) return 1;
  FailIn("main");
  return 0;
}
