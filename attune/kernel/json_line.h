// Where in a JSON text a value stands.
#pragma once

#include <string_view>

namespace attune::kernel {

// The line, from 1, on which the value that `pointer` (/launches/0/local) names begins; that of the
// innermost value around it if there is none. REQUIRES: `text` is JSON.
int LineOf(std::string_view text, std::string_view pointer);

}  // namespace attune::kernel
