// Any bytes as SEER's tables: parsed tables are written and read as the same.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "extensions/models/seer/kernel_record.h"
#include "extensions/models/seer/operator_models.h"
#include "tests/fuzz/fuzz_check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace attune::seer;  // NOLINT: this program is of that module alone.
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const AlgorithmOrder order : {AlgorithmOrder::kCudnn, AlgorithmOrder::kReadme}) {
    const auto records = ReadKernelRecords(text, order);
    if (records.ok()) {
      const auto again = ReadKernelRecords(Csv(*records), AlgorithmOrder::kCudnn);
      attune::FuzzCheck(again.ok() && *again == *records);
    }
    const auto times = ReadAlgorithmTimes(text, order);
    if (times.ok()) {
      const auto again = ReadAlgorithmTimes(Csv(*times), AlgorithmOrder::kCudnn);
      attune::FuzzCheck(again.ok() && *again == *times);
    }
  }
  const auto operators = ReadOperatorTimes(text);
  if (operators.ok()) {
    const auto again = ReadOperatorTimes(Csv(*operators));
    attune::FuzzCheck(again.ok() && *again == *operators);
  }
  const auto layers = ReadConfigurations(text);
  if (!layers.ok()) return 0;
  for (const Layer& layer : *layers)
    attune::FuzzCheck(layer.p == OutputWidth(layer) && layer.p > 0);
  return 0;
}
