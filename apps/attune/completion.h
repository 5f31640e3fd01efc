// Completion of command lines, for the scripts of the shells in apps/attune/shell/.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "apps/attune/extensions.h"

namespace attune {

// `attune kCompleteFlag WORD...` prints what may stand for the last of these words, which is not
// complete: on each line a word, a tab and a description. Nothing if the shell completes a file.
inline constexpr const char* kCompleteFlag = "--complete";

// REQUIRES: `words` is not empty.
std::string Completions(const CLI::App& program, const std::vector<Extension>& extensions,
                        const std::vector<std::string>& words);

}  // namespace attune
