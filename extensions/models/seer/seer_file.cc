#include "extensions/models/seer/seer_file.h"

#include <fmt/format.h>

#include "attune/base/text.h"
#include "attune/model/model_text.h"

namespace attune::seer {
namespace {

constexpr std::string_view kFormat = "attune_seer";
constexpr size_t kVersion = 1;
constexpr std::string_view kFixedRules = "fixed";
constexpr std::string_view kPublishedRules = "as_published";
constexpr size_t kMostMultiprocessors = 1 << 20;
constexpr size_t kVariantFeatures = 6;
constexpr size_t kFftClassFeatures = 4;
// The algorithms with a variant that a tree selects.
constexpr std::array<int, 4> kTreeAlgorithms = {0, 2, 6, 7};

Result<Rules> ReadRules(ModelLines& lines) {
  ATTUNE_ASSIGN_OR_RETURN(const std::string name, lines.Word("rules"));
  if (name == kFixedRules) return Rules::kFixed;
  if (name == kPublishedRules) return Rules::kAsPublished;
  return lines.Wrong(fmt::format("no rules are called '{}'.", Excerpt(name)));
}

Result<const Variant*> ReadVariantName(ModelLines& lines, std::string_view keyword) {
  ATTUNE_ASSIGN_OR_RETURN(const std::string name, lines.Word(keyword));
  const Variant* const variant = FindVariant(name);
  if (variant != nullptr) return variant;
  return lines.Wrong(fmt::format("no kernel variant is called '{}'.", Excerpt(name)));
}

}  // namespace

void SeerModel::AppendText(std::string& text) const {
  AppendCount(text, "variants", variants_.size());
  for (const auto& [name, model] : variants_) {
    AppendWord(text, "variant", name);
    model.AppendText(text);
  }
  for (const int algorithm : kTreeAlgorithms) {
    const auto tree = variant_trees_.find(algorithm);
    AppendCount(text, "chooses", tree == variant_trees_.end() ? 0 : 1);
    if (tree != variant_trees_.end()) tree->second.AppendText(text);
  }
  AppendOptional(text, "fft", fft_);
  AppendOptional(text, "fft_tiling", fft_tiling_);
  AppendOptional(text, "fft_class", fft_class_);
  AppendOptional(text, "im2col", im2col_);
  AppendCount(text, "transforms", transforms_.size());
  for (const auto& [name, polynomial] : transforms_) {
    AppendWord(text, "of", name);
    polynomial.AppendText(text);
  }
}

Result<SeerModel> SeerModel::ReadFrom(ModelLines& lines, Rules rules) {
  SeerModel model;
  model.rules_ = rules;
  ATTUNE_ASSIGN_OR_RETURN(const size_t variants, lines.Count("variants", Variants().size()));
  for (size_t i = 0; i < variants; ++i) {
    ATTUNE_ASSIGN_OR_RETURN(const Variant* const variant, ReadVariantName(lines, "variant"));
    ATTUNE_ASSIGN_OR_RETURN(VariantModel read, VariantModel::ReadFrom(lines, *variant, rules));
    if (!model.variants_.emplace(variant->name, std::move(read)).second) {
      return lines.Wrong("a variant is there twice.");
    }
  }
  for (const int algorithm : kTreeAlgorithms) {
    ATTUNE_ASSIGN_OR_RETURN(const bool is_there, lines.IsThere("chooses"));
    if (!is_there) continue;
    const size_t labels = VariantsOf(algorithm, 3).size();
    ATTUNE_ASSIGN_OR_RETURN(model.variant_trees_[algorithm],
                            Cart::ReadFrom(lines, kVariantFeatures, labels));
  }
  ATTUNE_ASSIGN_OR_RETURN(const bool has_fft, lines.IsThere("fft"));
  if (has_fft) {
    ATTUNE_ASSIGN_OR_RETURN(model.fft_, FftModel::ReadFrom(lines, rules));
  }
  ATTUNE_ASSIGN_OR_RETURN(const bool has_tiling, lines.IsThere("fft_tiling"));
  if (has_tiling) {
    ATTUNE_ASSIGN_OR_RETURN(model.fft_tiling_, FftTilingModel::ReadFrom(lines, rules));
  }
  ATTUNE_ASSIGN_OR_RETURN(const bool has_class, lines.IsThere("fft_class"));
  if (has_class) {
    ATTUNE_ASSIGN_OR_RETURN(model.fft_class_, Cart::ReadFrom(lines, kFftClassFeatures, kClasses));
  }
  ATTUNE_ASSIGN_OR_RETURN(const bool has_im2col, lines.IsThere("im2col"));
  if (has_im2col) {
    ATTUNE_ASSIGN_OR_RETURN(model.im2col_, Polynomial::ReadFrom(lines, &Im2colTerms, rules));
  }
  ATTUNE_ASSIGN_OR_RETURN(const size_t transforms, lines.Count("transforms", Variants().size()));
  for (size_t i = 0; i < transforms; ++i) {
    ATTUNE_ASSIGN_OR_RETURN(const Variant* const variant, ReadVariantName(lines, "of"));
    ATTUNE_ASSIGN_OR_RETURN(Polynomial read,
                            Polynomial::ReadFrom(lines, &WinogradTransformTerms, rules));
    if (!model.transforms_.emplace(variant->name, std::move(read)).second) {
      return lines.Wrong("transforms of a variant are there twice.");
    }
  }
  return model;
}

Result<std::string> SeerText(const SeerFile& file) {
  if (!IsOneLine(file.device)) return InvalidArgument("The name of a device is one line.");
  std::string text;
  AppendCount(text, kFormat, kVersion);
  AppendWord(text, "device", file.device);
  AppendCount(text, "multiprocessors", static_cast<size_t>(file.multiprocessors));
  AppendWord(text, "rules", file.model.rules() == Rules::kFixed ? kFixedRules : kPublishedRules);
  file.model.AppendText(text);
  file.operators.AppendText(text);
  AppendSeal(text);
  return text;
}

Result<SeerFile> ReadSeerFile(std::string_view text) {
  ModelLines lines(text);
  ATTUNE_ASSIGN_OR_RETURN(const size_t version, lines.Count(kFormat, SIZE_MAX));
  if (version != kVersion) {
    return FailedPrecondition(fmt::format(
        "The model has version {} of the format, and this program reads version {}: train it "
        "again.",
        version, kVersion));
  }
  ATTUNE_RETURN_IF_ERROR(CheckSeal(text));
  SeerFile file;
  ATTUNE_ASSIGN_OR_RETURN(file.device, lines.Word("device"));
  ATTUNE_ASSIGN_OR_RETURN(const size_t multiprocessors,
                          lines.Count("multiprocessors", kMostMultiprocessors));
  file.multiprocessors = static_cast<int64_t>(multiprocessors);
  ATTUNE_ASSIGN_OR_RETURN(const Rules rules, ReadRules(lines));
  ATTUNE_ASSIGN_OR_RETURN(file.model, SeerModel::ReadFrom(lines, rules));
  ATTUNE_ASSIGN_OR_RETURN(file.operators, OperatorModels::ReadFrom(lines, rules));
  ATTUNE_RETURN_IF_ERROR(lines.Word("seal").status());
  if (!lines.AtEnd()) return lines.Wrong("there is more behind the seal.");
  return file;
}

}  // namespace attune::seer
