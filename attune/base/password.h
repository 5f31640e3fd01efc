// Secrets that people give to programs: in files or in the environment, never in an argument, which
// every user of a machine can read.
#pragma once

#include <string>
#include <string_view>

#include "attune/base/status.h"

namespace attune {

// Checks that `file` is a regular file that not all users can read; else kFailedPrecondition. It
// holds `what` ("The password of the database") and was named in `variable`, as messages say.
Status CheckSecretFile(const std::string& file, std::string_view what, std::string_view variable);

// The password of `whose` ("the database"): the first line of the file that the variable
// `variable`_FILE of this process names, else `variable`, else empty. Fails if the file cannot be
// read; kFailedPrecondition if all users can read it, or if the line is empty.
Result<std::string> PasswordOf(std::string_view whose, const std::string& variable);

}  // namespace attune
