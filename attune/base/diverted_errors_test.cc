#include "attune/base/diverted_errors.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace attune {
namespace {

// A memory file that returns the text written to it.
class MemoryFile {
 public:
  int get() const { return file_.get(); }
  std::string text() const {
    char bytes[256] = {};
    const ssize_t got = ::pread(file_.get(), bytes, sizeof bytes, 0);
    return {bytes, static_cast<size_t>(got < 0 ? 0 : got)};
  }

 private:
  const UniqueFd file_{::memfd_create("attune-test", MFD_CLOEXEC)};
};

void Say(std::string_view text) {
  ASSERT_EQ(::write(STDERR_FILENO, text.data(), text.size()), static_cast<ssize_t>(text.size()));
}

TEST(DivertedErrors, RedirectsOutputWhileItLives) {
  const MemoryFile outer, inner;
  const DivertedErrors all(outer.get());

  Say("before ");
  {
    const DivertedErrors some(inner.get());
    Say("meanwhile");
    std::fputs(" by a stream", stderr);
  }
  Say("after");

  EXPECT_EQ(inner.text(), "meanwhile by a stream");
  EXPECT_EQ(outer.text(), "before after");
}

TEST(DivertedErrors, WithoutAFileDropsOutput) {
  const MemoryFile outer;
  const DivertedErrors all(outer.get());

  {
    const DivertedErrors none(-1);
    Say("meanwhile");
  }
  Say("after");

  EXPECT_EQ(outer.text(), "after");
}

}  // namespace
}  // namespace attune
