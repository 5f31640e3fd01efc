// A tool as attune runs it: transposes a matrix tile by tile, checks the result, and prints one
// line for each time that it took. docs/own-tool.md.
//
//   c++ -O2 -o transpose transpose.cc
//   ./transpose --rows 512 --columns 512 --tile 32

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

constexpr int kRuns = 5;

struct Sizes {
  long rows = 0;
  long columns = 0;
  long tile = 0;
};

// 0 for what is no positive number.
long NumberOf(const char* text) {
  char* end = nullptr;
  const long number = std::strtol(text, &end, 10);
  return *end == '\0' && number > 0 && number <= 1 << 20 ? number : 0;
}

Sizes ReadSizes(int argc, char** argv) {
  Sizes sizes;
  for (int i = 1; i + 1 < argc; i += 2) {
    const long number = NumberOf(argv[i + 1]);
    if (std::strcmp(argv[i], "--rows") == 0) sizes.rows = number;
    if (std::strcmp(argv[i], "--columns") == 0) sizes.columns = number;
    if (std::strcmp(argv[i], "--tile") == 0) sizes.tile = number;
  }
  return sizes;
}

void Transpose(const Sizes& sizes, const std::vector<float>& from, std::vector<float>& to) {
  for (long row0 = 0; row0 < sizes.rows; row0 += sizes.tile) {
    for (long column0 = 0; column0 < sizes.columns; column0 += sizes.tile) {
      const long row_end = std::min(row0 + sizes.tile, sizes.rows);
      const long column_end = std::min(column0 + sizes.tile, sizes.columns);
      for (long row = row0; row < row_end; ++row) {
        for (long column = column0; column < column_end; ++column) {
          to[column * sizes.rows + row] = from[row * sizes.columns + column];
        }
      }
    }
  }
}

bool IsRight(const Sizes& sizes, const std::vector<float>& from, const std::vector<float>& to) {
  for (long row = 0; row < sizes.rows; ++row) {
    for (long column = 0; column < sizes.columns; ++column) {
      if (to[column * sizes.rows + row] != from[row * sizes.columns + column]) return false;
    }
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const Sizes sizes = ReadSizes(argc, argv);
  if (sizes.rows == 0 || sizes.columns == 0 || sizes.tile == 0) {
    std::fprintf(stderr, "usage: transpose --rows N --columns N --tile N, each from 1 to 2^20\n");
    return 2;
  }
  std::vector<float> from(sizes.rows * sizes.columns);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<float>(i % 8191);
  std::vector<float> to(from.size());
  Transpose(sizes, from, to);  // Not timed: pages are touched for the first time.
  // A wrong result must not win, however fast.
  if (!IsRight(sizes, from, to)) {
    std::puts("FAILED");
    return 1;
  }
  for (int run = 0; run < kRuns; ++run) {
    const auto begin = std::chrono::steady_clock::now();
    Transpose(sizes, from, to);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    std::printf("OP:transpose,TIME:%.6f,WS:0\n", took.count());
  }
  return 0;
}
