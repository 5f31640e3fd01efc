// The switches of a preload library in the environment. A word that is none of theirs ends the
// process: a typo must not change what runs.
#pragma once

namespace attune::interposer {

// '1' is set; '0', nothing and no variable are not.
bool IsSet(const char* variable);

enum class Mode { kServe, kRecord, kOff };

// Reads the interposer's own variable: 'serve', 'record' or 'off'. kServe if it is not set.
// Another word ends the process.
Mode ReadMode();

// The choice of ATTUNE_FORCE, or null if nothing is forced.
const char* ForcedChoice();

}  // namespace attune::interposer
