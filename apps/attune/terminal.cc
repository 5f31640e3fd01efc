#include "apps/attune/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "attune/base/host_messages.h"

namespace attune {
namespace {

std::string_view Code(Colour colour) {
  switch (colour) {
    case Colour::kPlain:
      return "";
    case Colour::kBold:
      return "\x1b[1m";
    case Colour::kDim:
      return "\x1b[2m";
    case Colour::kGreen:
      return "\x1b[32m";
    case Colour::kYellow:
      return "\x1b[33m";
    case Colour::kRed:
      return "\x1b[31m";
  }
  return "";
}

// Length of the colour sequence at the start of `text`, 0 if there is none.
size_t EscapeLength(std::string_view text) {
  if (text.size() < 2 || text[0] != '\x1b' || text[1] != '[') return 0;
  const size_t end = text.find('m');
  return end == std::string_view::npos ? 0 : end + 1;
}

}  // namespace

size_t Utf8Length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const size_t length = first < 0xC2   ? 0
                        : first < 0xE0 ? 2
                        : first < 0xF0 ? 3
                        : first < 0xF5 ? 4
                                       : 0;
  if (length == 0 || length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  // Overlong forms, surrogates and code points beyond U+10FFFF.
  const unsigned char second = byte(1);
  if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
      (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F)) {
    return 0;
  }
  return length;
}

bool IsControl(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x20 || first == 0x7F) return true;
  return first == 0xC2 && text.size() > 1 && static_cast<unsigned char>(text[1]) < 0xA0;
}

int TerminalWidth(int fd) {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

Screen ScreenOf(int fd) {
  Screen screen;
  screen.is_terminal = ::isatty(fd) == 1;
  const char* no_colour = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  const bool refused = no_colour != nullptr && no_colour[0] != '\0';
  const bool dumb = term != nullptr && std::strcmp(term, "dumb") == 0;
  screen.colour = screen.is_terminal && !refused && !dumb;
  return screen;
}

std::string Paint(const Screen& screen, Colour colour, std::string_view text) {
  if (!screen.colour || colour == Colour::kPlain) return std::string(text);
  return fmt::format("{}{}\x1b[0m", Code(colour), text);
}

size_t DisplayWidth(std::string_view text) {
  size_t columns = 0;
  for (size_t i = 0; i < text.size();) {
    if (const size_t escape = EscapeLength(text.substr(i))) {
      i += escape;
      continue;
    }
    const size_t length = Utf8Length(text.substr(i));
    i += length == 0 ? 1 : length;
    ++columns;
  }
  return columns;
}

std::string Shortened(std::string_view text, size_t width) {
  if (DisplayWidth(text) <= width) return std::string(text);
  if (width == 0) return "";
  std::string result;
  size_t columns = 0;
  for (size_t i = 0; i < text.size() && columns + 1 < width; ++columns) {
    const size_t length = std::max<size_t>(1, Utf8Length(text.substr(i)));
    result += text.substr(i, length);
    i += length;
  }
  return result + "…";
}

std::string Printable(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  std::string result;
  for (size_t i = 0; i < text.size();) {
    const char byte = text[i];
    const size_t length = Utf8Length(text.substr(i));
    if (byte == '\n') {
      result += " | ";
      ++i;
    } else if (byte == '\t') {
      result += ' ';
      ++i;
    } else if (length == 0 || IsControl(text.substr(i))) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
      ++i;
    } else {
      result += text.substr(i, length);
      i += length;
    }
  }
  return result;
}

std::string ShellWord(std::string_view text) {
  constexpr std::string_view kPlain = "_-.:/@+=%,";
  const auto is_plain = [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           kPlain.find(c) != std::string_view::npos;
  };
  const std::string printable = Printable(text);
  if (!printable.empty() && std::all_of(printable.begin(), printable.end(), is_plain)) {
    return printable;
  }
  // Within these four characters alone have a meaning.
  std::string word = "\"";
  for (const char c : printable) {
    if (std::string_view("\"\\$`").find(c) != std::string_view::npos) word += '\\';
    word += c;
  }
  return word + "\"";
}

std::optional<size_t> FirstUnprintable(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const size_t length = Utf8Length(text.substr(i));
    if (length == 0 || IsControl(text.substr(i))) return i;
    i += length;
  }
  return std::nullopt;
}

Output::Output(std::FILE* stream) : stream_(stream), screen_(ScreenOf(::fileno(stream))) {}

int Output::width() const { return TerminalWidth(::fileno(stream_)); }

void Output::Print(std::string_view text) {
  if (write_error_ != 0) return;
  if (never_waits_) return WriteToHost(::fileno(stream_), text);
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stream_) != text.size()) {
    write_error_ = errno == 0 ? EIO : errno;
  }
}

void Output::NeverWait() {
  Flush();
  never_waits_ = true;
}

void Output::Flush() {
  if (write_error_ != 0) return;
  errno = 0;
  if (std::fflush(stream_) != 0) write_error_ = errno == 0 ? EIO : errno;
}

Status Output::Finish() {
  Flush();
  if (write_error_ == 0 || write_error_ == EPIPE) return Status::Ok();
  return Unavailable(
      fmt::format("The output could not be written: {}.", std::strerror(write_error_)));
}

}  // namespace attune
