#include "runtime/tunable_identity.h"

namespace attune {

TunableIdentity TunableIdentityAt(const Place& place) {
  return {ATTUNE_VERSION, place.target, place.environment};
}

}  // namespace attune
