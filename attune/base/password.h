// Secrets that people give to programs: in files or in the environment, never in an argument, which
// every user of a machine can read.
#pragma once

#include <string>
#include <string_view>

#include "attune/base/status.h"

namespace attune {

// That `file`, which holds `what` ("The password of the database") and was named in `variable`, is
// a regular file that not everybody can read; else kFailedPrecondition.
Status CheckSecretFile(const std::string& file, std::string_view what, std::string_view variable);

// The password of `whose` ("the database"): the first line of the file that the variable
// `variable`_FILE of this process names, else `variable`, else empty. Fails if the file cannot be
// read; kFailedPrecondition if everybody can read it, or if the line is empty.
Result<std::string> PasswordOf(std::string_view whose, const std::string& variable);

}  // namespace attune
