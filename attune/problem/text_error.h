// The position and reason of an error in a text: readers of lines return it, so that a list can
// report positions as numbers.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <tl/expected.hpp>

#include "attune/base/status.h"

namespace attune {

struct TextError {
  size_t column = 1;   // 1-based, in bytes.
  std::string reason;  // A sentence; bytes of the text in it are escaped.
  StatusCode code = StatusCode::kInvalidArgument;

  friend bool operator==(const TextError&, const TextError&) = default;
};

// "Column 7: <reason>".
Status ToStatus(const TextError& error);

// A value or the place that made it impossible.
template <class T>
using Parsed = tl::expected<T, TextError>;

inline tl::unexpected<TextError> ErrorAtOffset(size_t offset, std::string reason) {
  return tl::unexpected(TextError{offset + 1, std::move(reason)});
}

// At most 80 bytes of `text` for a message: printable ASCII as it is, everything else as \xNN.
std::string Quoted(std::string_view text);

}  // namespace attune
