// Where results of TunableOp's kind hold: the validators of whatever this process writes or serves.
#pragma once

#include "attune/tunable/validators.h"
#include "runtime/places.h"

namespace attune {

TunableIdentity TunableIdentityAt(const Place& place);

}  // namespace attune
