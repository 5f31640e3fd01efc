#include "extensions/fleet/queue/channel.h"

#include <algorithm>

#include "attune/base/fingerprint.h"

namespace attune {

std::string Token(const Channel& channel) {
  std::string token = Text(channel.step);
  std::replace(token.begin(), token.end(), ':', '-');
  return token + "-" + FingerprintOf(channel.target).ToHex();
}

}  // namespace attune
