#include "extensions/interposers/preload/switches.h"

#include <cstdlib>
#include <cstring>

#include "extensions/interposers/preload/message.h"

namespace attune::interposer {

bool IsSet(const char* variable) {
  const char* value = ::secure_getenv(variable);
  if (value == nullptr || *value == '\0' || std::strcmp(value, "0") == 0) return false;
  if (std::strcmp(value, "1") == 0) return true;
  Die("%s is '%s'. It may be '1' or '0'.", variable, value);
}

Mode ReadMode() {
  const char* value = ::secure_getenv(ATTUNE_INTERPOSER_VARIABLE);
  if (value == nullptr || *value == '\0' || std::strcmp(value, "serve") == 0) return Mode::kServe;
  if (std::strcmp(value, "record") == 0) return Mode::kRecord;
  if (std::strcmp(value, "off") == 0) return Mode::kOff;
  Die("%s is '%s'. It may be 'serve', 'record' or 'off'.", ATTUNE_INTERPOSER_VARIABLE, value);
}

const char* ForcedChoice() {
  const char* forced = ::secure_getenv("ATTUNE_FORCE");
  return forced == nullptr || *forced == '\0' ? nullptr : forced;
}

}  // namespace attune::interposer
