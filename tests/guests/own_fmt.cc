// A part of a program that has its own copy of fmt.
#define FMT_HEADER_ONLY
#include <cstdio>

#include <fmt/format.h>

[[gnu::constructor]] static void Format() {
  std::fputs(fmt::format("{:?} {:.3f} {}\n", "fmt of the program", 2.5, 7).c_str(), stdout);
}
