// The URL of a queue on NATS, as users write it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"

namespace attune::nats {

// "SCHEME://[USER@]HOST[:PORT][,HOST[:PORT]...][?NAME=VALUE&...]".
struct NatsUrl {
  bool has_tls = false;            // True for "tls://", false for "nats://".
  std::string user;                // May be empty.
  std::vector<std::string> hosts;  // "HOST:PORT", of one cluster; at least one.
  int replicas = 0;                // Per stream; 0: 1 for new streams, else unchanged.
  std::string fleet = "attune";    // Prefix of stream and subject names.
  std::string authority_file;      // PEM; empty: the system's authorities.
  std::string certificate_file;    // PEM with this client's key; both or none.
  std::string key_file;

  // For display; without a password.
  std::string Text() const;
};

// kInvalidArgument names the part that cannot be read. For a URL with a password it says where the
// password belongs, without repeating it.
Result<NatsUrl> ParseNatsUrl(std::string_view url);

}  // namespace attune::nats
