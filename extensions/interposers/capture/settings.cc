#include "extensions/interposers/capture/settings.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "attune/kernel/capture/spool_format.h"
#include "extensions/interposers/preload/message.h"

namespace attune::capture {
namespace {

std::string Variable(const char* name) {
  const char* value = ::secure_getenv(name);
  return value == nullptr ? "" : value;
}

bool ReadNumber(const char* name, uint64_t& number) {
  const std::string text = Variable(name);
  if (text.empty()) return true;
  char* end = nullptr;
  errno = 0;
  number = std::strtoull(text.c_str(), &end, 10);
  if (*end == '\0' && errno == 0 && text[0] >= '0' && text[0] <= '9') return true;
  interposer::Say("%s is '%s', which is no number; nothing is captured.", name, text.c_str());
  return false;
}

Settings Read() {
  Settings settings;
  const bool is_readable = ReadNumber(kLaunchVariable, settings.first_launch) &&
                           ReadNumber(kCountVariable, settings.count) &&
                           ReadNumber(kMaxBytesVariable, settings.max_bytes);
  if (is_readable) settings.spool = Variable(kSpoolVariable);
  if (!settings.spool.empty() && settings.spool[0] != '/') {
    interposer::Say("%s is '%s', which is a relative path; nothing is captured.", kSpoolVariable,
                    settings.spool.c_str());
    settings.spool.clear();
  }
  const std::string names = Variable(kKernelsVariable);
  for (size_t at = 0; at < names.size();) {
    const size_t end = std::min(names.find('\n', at), names.size());
    if (end > at) settings.kernels.push_back(names.substr(at, end - at));
    at = end + 1;
  }
  return settings;
}

}  // namespace

bool Settings::Wants(const std::string& kernel) const {
  return kernels.empty() ||
         std::any_of(kernels.begin(), kernels.end(),
                     [&](const std::string& wanted) { return IsMeant(wanted, kernel); });
}

std::string Settings::Excess(uint64_t all_bytes) const {
  if (max_bytes == 0 || all_bytes <= max_bytes) return "";
  return "its buffers have " + std::to_string(all_bytes) + " bytes, and --max-bytes allows " +
         std::to_string(max_bytes);
}

const Settings& TheSettings() {
  // Never destroyed: threads may launch while the process ends.
  static const Settings* const settings = new Settings(Read());
  return *settings;
}

bool IsOn() { return !TheSettings().spool.empty(); }

}  // namespace attune::capture
