// Files of tests/data/golden, and the message for a difference from them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace attune {

// The content of tests/data/golden/`name`; a test failure and nothing if it cannot be read.
std::string GoldenText(std::string_view name);
// Its lines without their ends.
std::vector<std::string> GoldenLines(std::string_view name);

// Checks that `written`, attune's present output, is the golden file byte for byte. `page` is the
// page of docs/formats with the version to raise if the difference is wanted.
::testing::AssertionResult IsGolden(std::string_view name, std::string_view written,
                                    std::string_view page);

// Lower-case hexadecimal digits, 32 bytes a line, and back.
std::string HexText(std::string_view bytes);
std::string BytesOfHex(std::string_view text);

}  // namespace attune
