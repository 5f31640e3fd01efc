// The streams for a program's text, and the formatting that they allow.
#pragma once

#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "attune/base/status.h"

namespace attune {

// Columns of the terminal behind `fd`; 80 if it does not say.
int TerminalWidth(int fd);

// Capabilities of one stream.
struct Screen {
  bool is_terminal = false;  // Lines may be redrawn.
  bool colour = false;       // A terminal, no NO_COLOR, and TERM is not "dumb".
};
Screen ScreenOf(int fd);

// Colours carry meaning only beside text that says the same.
enum class Colour { kPlain, kBold, kDim, kGreen, kYellow, kRed };

// `text` in `colour` if the screen shows colours, else `text`.
std::string Paint(const Screen& screen, Colour colour, std::string_view text);

// Length in bytes of the well-formed UTF-8 character at the start of `text`, 0 if there is none.
// REQUIRES: `text` is not empty.
size_t Utf8Length(std::string_view text);
// True if `text` begins with a control character, C0, C1 or DEL: all of them steer terminals.
bool IsControl(std::string_view text);

// Columns that `text` takes: UTF-8 code points, colour sequences not counted. Every character that
// attune prints is one column wide.
size_t DisplayWidth(std::string_view text);

// The first columns of `text`, an ellipsis at the end if something is left out.
std::string Shortened(std::string_view text, size_t width);

// `text` with control characters and bytes that are not UTF-8 shown as \xNN: messages of libraries
// may hold anything, and must not reach a terminal as they are. Newlines become " | ".
std::string Printable(std::string_view text);

// `text`, made printable, as one word of a command for users to copy into a shell: between
// quotation marks if it has more than letters, digits and "_-.:/@+=%,".
std::string ShellWord(std::string_view text);

// Where `text` has its first byte that Printable does not show as it is, newlines and tabs among
// them; nothing if there is none.
std::optional<size_t> FirstUnprintable(std::string_view text);

// A standard stream, buffered by stdio, whose failure is known at the end. A reader that went away
// (`attune best | head -1`) is no failure.
class Output {
 public:
  explicit Output(std::FILE* stream);

  const Screen& screen() const { return screen_; }
  int width() const;
  void Print(std::string_view text);
  // From now on, drops text that a full pipe does not take at once. The program that the command
  // runs must not wait for a reader of messages.
  void NeverWait();
  void Flush();
  // Flushes; says why if anything could not be written, a full disk for example.
  Status Finish();

 private:
  std::FILE* stream_;
  Screen screen_;
  int write_error_ = 0;  // errno of the first failure.
  bool never_waits_ = false;
};

}  // namespace attune
