// Completion of command lines, for the scripts of the shells in apps/attune/shell/.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "apps/attune/extensions.h"

namespace attune {

// `attune kCompleteFlag WORD...` prints the completions of the last word: on each line a word, a
// tab and a description. Prints nothing where the shell must complete a file name.
inline constexpr const char* kCompleteFlag = "--complete";

// REQUIRES: `words` is not empty.
std::string Completions(const CLI::App& program, const std::vector<Extension>& extensions,
                        const std::vector<std::string>& words);

}  // namespace attune
