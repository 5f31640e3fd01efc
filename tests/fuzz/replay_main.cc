// Runs a fuzz target on files instead of generated input, so that every build tests past findings:
//   miopen_find_db_replay FILE...
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size);

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    if (!file) {
      std::fprintf(stderr, "Cannot open '%s'.\n", argv[i]);
      return 1;
    }
    const std::string content(std::istreambuf_iterator<char>(file), {});
    // The last printed name is the input that aborts.
    std::fprintf(stderr, "%s\n", argv[i]);
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(content.data()), content.size());
  }
  std::printf("%d inputs\n", argc - 1);
  return argc > 1 ? 0 : 1;
}
