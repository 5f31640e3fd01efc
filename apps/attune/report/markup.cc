#include "apps/attune/report/markup.h"

#include "apps/attune/terminal.h"

namespace attune {

std::string HtmlEscaped(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size();) {
    const size_t length = Utf8Length(text.substr(i));
    const char byte = text[i];
    if (length == 0 || IsControl(text.substr(i))) {
      result += byte == '\n' || byte == '\t' ? " " : "\xEF\xBF\xBD";
    } else if (byte == '&') {
      result += "&amp;";
    } else if (byte == '<') {
      result += "&lt;";
    } else if (byte == '>') {
      result += "&gt;";
    } else if (byte == '"') {
      result += "&quot;";
    } else if (byte == '\'') {
      result += "&#39;";
    } else {
      result += text.substr(i, length);
    }
    i += length == 0 ? 1 : length;
  }
  return result;
}

}  // namespace attune
