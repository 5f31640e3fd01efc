// Text for HTML and SVG.
#pragma once

#include <string>
#include <string_view>

namespace attune {

// `text` for element content and quoted attributes: & < > " ' as entities; control characters and
// bytes that are not UTF-8 as U+FFFD. Everything that did not come from this program's own source
// goes through here.
std::string HtmlEscaped(std::string_view text);

}  // namespace attune
