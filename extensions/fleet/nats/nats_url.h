// Where a queue on NATS is, as people write it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"

namespace attune::nats {

// "SCHEME://[USER@]HOST[:PORT][,HOST[:PORT]...][?NAME=VALUE&...]".
struct NatsUrl {
  bool has_tls = false;            // Of "tls://"; without it, "nats://".
  std::string user;                // May be empty.
  std::vector<std::string> hosts;  // "HOST:PORT", of one cluster; at least one.
  int replicas = 0;                // Of each stream; 0: 1 where they are made, else what is there.
  std::string fleet = "attune";    // What names of streams and subjects begin with.
  std::string authority_file;      // PEM; empty for what the system trusts.
  std::string certificate_file;    // PEM, of this client, with its key; both or none.
  std::string key_file;

  // As it is shown; it has no password.
  std::string Text() const;
};

// kInvalidArgument says what cannot be read, and for a URL with a password where that belongs,
// without repeating it.
Result<NatsUrl> ParseNatsUrl(std::string_view url);

}  // namespace attune::nats
