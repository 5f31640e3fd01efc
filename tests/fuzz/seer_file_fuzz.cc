// Any bytes as the body of a trained SEER model with a matching seal: a model that is read is
// written and reads as the same, and predicts without going round in circles.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "extensions/models/seer/seer_file.h"
#include "tests/fuzz/fuzz_check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace attune::seer;  // NOLINT: this program is of that module alone.
  std::string text(reinterpret_cast<const char*>(data), size);
  attune::AppendSeal(text);
  const auto file = ReadSeerFile(text);
  if (!file.ok()) return 0;
  const auto written = SeerText(*file);
  attune::FuzzCheck(written.ok());
  const auto read = ReadSeerFile(*written);
  attune::FuzzCheck(read.ok() && *SeerText(*read) == *written);
  const Layer layer = {128, 64, 40, 100, 40, 3, 1, 1};
  file->model.Pick(layer);
  for (const std::string& name : file->operators.names()) file->operators.Predict(name, layer, 1);
  return 0;
}
