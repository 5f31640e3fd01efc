#include "attune/formats/miopen/batch_norm_key.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "attune/formats/miopen/key_text.h"
#include "attune/problem/operator.h"
#include "attune/problem/problem.h"

namespace attune::miopen {
namespace {

// In the order of the enumerations.
constexpr std::string_view kPasses[] = {"Trn", "Inf", "Bwd"};
constexpr std::string_view kModes[] = {"1", "0"};

constexpr std::pair<std::string_view, BatchNormLayout> kBatchNormLayouts[] = {
    {"NCHW", BatchNormLayout::kNchw},
    {"NHWC", BatchNormLayout::kNhwc},
    {"NCDHW", BatchNormLayout::kNcdhw},
    {"NDHWC", BatchNormLayout::kNdhwc}};
constexpr std::pair<ElementType, DataType> kBatchNormTypes[] = {
    {ElementType::kFp32, DataType::kF32},
    {ElementType::kFp16, DataType::kF16},
    {ElementType::kBf16, DataType::kBf16}};

// BnCK* since 3.3 of October 2024, the others since 2025.
constexpr std::string_view kBatchNormSolvers[] = {"BnBwdTrainingSpatial", "BnCKBwdBackward",
                                                  "BnCKFwdInference", "BnCKFwdTraining",
                                                  "BnFwdTrainingSpatial"};

// The letters of the dimensions of a tensor.
std::string_view DimensionsOf(int64_t rank) { return rank == 3 ? "NCDHW" : "NCHW"; }

bool IsOrderOf(std::string_view layout, std::string_view dimensions) {
  return std::is_permutation(layout.begin(), layout.end(), dimensions.begin(), dimensions.end());
}

bool IsLayout(std::string_view layout) {
  return IsOrderOf(layout, DimensionsOf(2)) || IsOrderOf(layout, DimensionsOf(3)) ||
         LayoutOf(layout).has_value();
}

bool ReadFlag(KeyReader& reader, std::string_view field) {
  const int64_t value = reader.Number('x', field);
  if (value > 1) reader.Fail(fmt::format("Field '{}' is {}, not 0 or 1.", field, value));
  return value == 1;
}

template <class Enum, size_t kSize>
Enum ReadWord(KeyReader& reader, const std::string_view (&words)[kSize], std::string_view field) {
  const std::string_view word = reader.Token('x', field);
  const auto* const found = std::find(std::begin(words), std::end(words), word);
  if (found != std::end(words)) return static_cast<Enum>(found - std::begin(words));
  reader.Fail(fmt::format("Field '{}' is {}, which is unknown.", field, Quoted(word)));
  return {};
}

void ReadSizes(KeyReader& reader, BatchNormKey& key) {
  key.spatial_rank = reader.Number('x', "spatial_dim");
  if (key.spatial_rank != 2 && key.spatial_rank != 3) {
    reader.Fail(fmt::format("Field 'spatial_dim' is {}, not 2 or 3.", key.spatial_rank));
  }
  key.batch = reader.Number('x', "batchsize");
  key.channels = reader.Number('x', "in_channels");
  key.extents[1] = reader.Number('x', "in_h");
  key.extents[2] = reader.Number('x', "in_w");
  key.extents[0] = reader.Number('x', "in_d");
}

Status CheckKeyTells(const BatchNorm& norm) {
  if (norm.fusion != BatchNormFusion::kNone) {
    return Unsupported("Keys of MIOpen's databases do not tell of a fused residual or activation.");
  }
  if (!norm.affine) return Unsupported("Batch norms of MIOpen's always have gamma and beta.");
  if (norm.deterministic) {
    return Unsupported("Keys of MIOpen's databases do not tell that results must repeat.");
  }
  if (norm.alignment_bytes != BatchNorm().alignment_bytes) {
    return Unsupported(
        fmt::format("Keys of MIOpen's databases do not tell of an alignment of {} bytes.",
                    norm.alignment_bytes));
  }
  return Status::Ok();
}

}  // namespace

std::string Text(const BatchNormKey& key) {
  return fmt::format("{}x{}x{}x{}x{}x{}x{:d}x{:d}x{:d}x{}x{}x{}x{}", key.spatial_rank, key.batch,
                     key.channels, key.extents[1], key.extents[2], key.extents[0], key.saves,
                     key.runs, key.uses_saved, key.layout, kPasses[static_cast<size_t>(key.pass)],
                     Name(key.type), kModes[static_cast<size_t>(key.mode)]);
}

Parsed<BatchNormKey> ReadBatchNormKey(std::string_view text) {
  BatchNormKey key;
  KeyReader reader(text);
  ReadSizes(reader, key);
  key.saves = ReadFlag(reader, "resultsave");
  key.runs = ReadFlag(reader, "resultrunning");
  key.uses_saved = ReadFlag(reader, "useSaved");
  key.layout = reader.Token('x', "layout");
  if (!IsLayout(key.layout)) {
    reader.Fail(fmt::format("Layout {} is unknown.", Quoted(key.layout)));
  }
  key.pass = ReadWord<BatchNormPass>(reader, kPasses, "direction");
  const std::string_view type = reader.Token('x', "data_type");
  const auto found_type = TypeOf(type);
  if (!found_type) reader.Fail(fmt::format("Type {} is unknown.", Quoted(type)));
  key.mode = ReadWord<BatchNormMode>(reader, kModes, "mode");
  if (!reader.at_end()) reader.FailAtEnd("Nothing is known behind the mode.");
  if (reader.failed()) return tl::unexpected(reader.error());
  key.type = *found_type;
  return key;
}

std::string WhyImpossible(const BatchNormKey& key) {
  const bool is_flat = key.spatial_rank == 2;
  if (is_flat && key.extents[0] != 1) return "It is of two dimensions and has a depth.";
  const bool has_depth_in_layout = key.layout.find('D') != std::string::npos;
  if (key.layout != Name(TensorLayout::kUnknown) && has_depth_in_layout == is_flat) {
    return fmt::format("Layout {} is not of {} dimensions.", key.layout, key.spatial_rank);
  }
  for (const int64_t extent : key.extents) {
    if (extent < 1) return fmt::format("{} is no extent.", extent);
  }
  if (key.batch < 1 || key.channels < 1) {
    return fmt::format("It has {} images of {} channels; both have to be at least 1.", key.batch,
                       key.channels);
  }
  if ((key.saves || key.runs) && key.pass != BatchNormPass::kTraining) {
    return "Only training writes statistics.";
  }
  if (key.uses_saved && key.pass != BatchNormPass::kBackward) {
    return "Only the backward pass reads saved statistics.";
  }
  return "";
}

Result<BatchNorm> ProblemOf(const BatchNormKey& key) {
  if (const std::string why = WhyImpossible(key); !why.empty()) return InvalidArgument(why);
  const auto* const type =
      std::ranges::find(kBatchNormTypes, key.type, [](auto& pair) { return pair.first; });
  if (type == std::end(kBatchNormTypes)) {
    return Unsupported(fmt::format("No batch norm is of type {}.", Name(key.type)));
  }
  const auto* const layout =
      std::ranges::find(kBatchNormLayouts, key.layout, [](auto& pair) { return pair.first; });
  if (layout == std::end(kBatchNormLayouts)) {
    return Unsupported(fmt::format("No batch norm has a tensor in layout {}.", key.layout));
  }
  BatchNorm norm;
  norm.pass = key.pass;
  norm.mode = key.mode;
  norm.batch = key.batch;
  norm.channels = key.channels;
  norm.depth = key.extents[0];
  norm.height = key.extents[1];
  norm.width = key.extents[2];
  norm.layout = layout->second;
  norm.running = key.runs;
  norm.saved = key.saves || key.uses_saved;
  norm.type = type->second;
  ATTUNE_RETURN_IF_ERROR(Validate(norm));
  return BatchNormOperator().Canonical(norm).Get<BatchNorm>();
}

Result<BatchNormKey> BatchNormKeyOf(const BatchNorm& norm) {
  ATTUNE_RETURN_IF_ERROR(Validate(norm));
  const Problem problem = BatchNormOperator().Canonical(norm);
  const auto& canonical = problem.Get<BatchNorm>();
  ATTUNE_RETURN_IF_ERROR(CheckKeyTells(canonical));
  BatchNormKey key;
  key.batch = norm.batch;
  key.channels = norm.channels;
  key.extents = {1, norm.depth * norm.height, norm.width};
  key.saves = canonical.saved && norm.pass == BatchNormPass::kTraining;
  key.runs = canonical.running;
  key.uses_saved = canonical.saved && norm.pass == BatchNormPass::kBackward;
  key.layout = IsChannelsLast(norm.layout) ? "NHWC" : "NCHW";
  key.pass = norm.pass;
  key.type =
      std::ranges::find(kBatchNormTypes, norm.type, [](auto& pair) { return pair.second; })->first;
  key.mode = norm.mode;
  return key;
}

BatchNorm MeantByKeyOf(const BatchNorm& norm) {
  const auto key = BatchNormKeyOf(norm);
  if (!key.ok()) return norm;
  const auto meant = ProblemOf(*key);
  return meant.ok() ? *meant : norm;
}

bool IsBatchNormSolver(std::string_view name) {
  return std::ranges::find(kBatchNormSolvers, name) != std::end(kBatchNormSolvers);
}

}  // namespace attune::miopen
