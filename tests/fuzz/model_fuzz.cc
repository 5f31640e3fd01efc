// Any bytes as the body of a model file: a parsed model is written and reads as the same, and
// predicts without going round in circles.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "attune/model/sample_times.h"
#include "attune/model/time_model.h"
#include "tests/fuzz/fuzz_check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace attune;  // NOLINT: this program is of that module alone.
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const FeatureSet features = SampleFeatures();
  ModelLines lines(text);
  const auto model = TimeModel::ReadFrom(lines, features);
  if (!model.ok()) return 0;
  std::string written;
  model->AppendText(written);
  ModelLines again(written);
  const auto read = TimeModel::ReadFrom(again, features);
  FuzzCheck(read.ok());
  std::string twice;
  read->AppendText(twice);
  FuzzCheck(twice == written);
  const FeatureRow row = SampleTimes(1, 0, 1)[1].row;
  Prediction prediction;
  model->Predict({&row, 1}, {&prediction, 1});
  return 0;
}
