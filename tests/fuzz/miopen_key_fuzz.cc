// Any text as a key, a target or a file name of MIOpen's: a valid one reads back, and an invalid
// one has the place of the mistake.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "attune/formats/miopen/batch_norm_key.h"
#include "attune/formats/miopen/conv_keys.h"
#include "attune/formats/miopen/file_name.h"
#include "tests/fuzz/fuzz_check.h"

namespace attune::miopen {
namespace {

template <class Key>
void CheckPlace(const Parsed<Key>& key, std::string_view text) {
  FuzzCheck(key.has_value() || (key.error().column >= 1 && key.error().column <= text.size() + 1 &&
                                !key.error().reason.empty()));
}

void CheckFindKey(const FindKey& key) {
  const auto again = ReadFindKey(Text(key));
  FuzzCheck(again.has_value() && *again == key);
  const PerfKey perf = PerfKeyOf(key);
  const auto perf_again = ReadPerfKey(Text(perf));
  FuzzCheck(perf_again.has_value() && *perf_again == perf);
  const auto conv = ProblemOf(key);
  if (!conv.ok()) return;
  // As it was, or with the layouts that MIOpen tries first where its tensors lie in several.
  auto back = FindKeyOf(*conv);
  FuzzCheck(back.ok());
  const auto meant = FindKeyOf(MeantByKeyOf(*conv));
  FuzzCheck(meant.ok() && *meant == *back);
  back->layouts = key.layouts;
  FuzzCheck(*back == key);
}

void CheckBatchNormKey(const BatchNormKey& key) {
  const auto again = ReadBatchNormKey(Text(key));
  FuzzCheck(again.has_value() && *again == key);
  const auto norm = ProblemOf(key);
  FuzzCheck(!norm.ok() || WhyImpossible(key).empty());
  if (!norm.ok()) return;
  const auto back = BatchNormKeyOf(*norm);
  FuzzCheck(back.ok());
  // Keys of three dimensions are those of two that compute the same.
  FuzzCheck(*back == key || key.spatial_rank == 3);
  const auto meant = BatchNormKeyOf(MeantByKeyOf(*norm));
  FuzzCheck(meant.ok() && *meant == *back);
}

void CheckTarget(const FileName& name) {
  if (name.target.empty() || ParseTargetName(name.target).ok()) return;
  // Kernels may be of a whole architecture.
  FuzzCheck(name.kind == DatabaseKind::kKernelDb && ParseTargetName(name.target + "_1").ok());
}

}  // namespace
}  // namespace attune::miopen

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace attune::miopen;  // NOLINT: this program is of that module alone.
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto find_key = ReadFindKey(text);
  CheckPlace(find_key, text);
  if (find_key.has_value()) CheckFindKey(*find_key);
  const auto perf_key = ReadPerfKey(text);
  CheckPlace(perf_key, text);
  if (perf_key.has_value()) {
    const auto again = ReadPerfKey(Text(*perf_key));
    attune::FuzzCheck(again.has_value() && *again == *perf_key);
  }
  const auto batch_norm_key = ReadBatchNormKey(text);
  CheckPlace(batch_norm_key, text);
  if (batch_norm_key.has_value()) CheckBatchNormKey(*batch_norm_key);
  const auto gpu = ParseTargetName(text);
  attune::FuzzCheck(!gpu.ok() || TargetName(*gpu) == text);
  const auto name = ParseFileName(std::filesystem::path(std::string(text)));
  if (name.ok()) CheckTarget(*name);
  return 0;
}
