// The full model of one kernel variant: a tree for its class, a line for its instructions, two
// trees for its DRAM traffic, and the formula of the class for its time.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attune/base/status.h"
#include "attune/model/seer_variant.h"
#include "extensions/models/seer/cart.h"
#include "extensions/models/seer/kernel_record.h"
#include "extensions/models/seer/time_formula.h"

namespace attune::seer {

struct KernelTime {
  KernelClass kernel_class = KernelClass::kUnderUtilised;
  double time_ms = 0;
  LaunchCounts counts;
};

class VariantModel {
 public:
  // kFailedPrecondition without records. A class without records gets coefficients of 1 and a
  // warning, as published; its tree never predicts it.
  static Result<VariantModel> Train(const Variant& variant, std::span<const KernelRecord> records,
                                    uint64_t seed, Rules rules);

  // Uses the blocks of the variant's formula and the resident blocks of most records (as published:
  // of a Titan Xp).
  KernelTime Predict(const Layer& layer) const;
  // With known blocks and resident blocks, as in SEER's test set I.
  KernelTime Predict(const Layer& layer, double blocks, double resident) const;

  const Variant& variant() const { return *variant_; }
  const Cart& class_tree() const { return class_tree_; }
  // a and b of i = a q + b, with q = f^2 C for GEMM and ceil(C / 8) for Winograd.
  const std::vector<double>& instruction_line() const { return instruction_line_; }
  const std::vector<double>& time_coefficients(KernelClass kernel_class) const {
    return coefficients_[static_cast<size_t>(kernel_class)];
  }
  const std::vector<std::string>& warnings() const { return warnings_; }
  // Appends lines of a file of models (docs/formats/seer.md), which do not contain the variant.
  void AppendText(std::string& text) const;
  static Result<VariantModel> ReadFrom(ModelLines& lines, const Variant& variant, Rules rules);

 private:
  std::vector<double> ClassFeatures(const Layer& layer, double blocks) const;
  std::vector<double> DramFeatures(const Layer& layer, double blocks) const;
  // Sectors read per block are proportional to it.
  double ReadScale(const Layer& layer) const;
  double StaticTerm(const Layer& layer) const;
  void GrowTrees(std::span<const KernelRecord> records, uint64_t seed);
  void FitTimes(std::span<const KernelRecord> records);

  const Variant* variant_ = nullptr;  // From Variants(), which always exist.
  Rules rules_ = Rules::kFixed;
  Cart class_tree_;
  Cart read_tree_;
  Cart write_tree_;
  std::vector<double> instruction_line_;
  std::array<std::vector<double>, kClasses> coefficients_;
  double resident_ = 0;
  double least_ms_ = 0;  // The minimum over the records.
  std::vector<std::string> warnings_;
};

}  // namespace attune::seer
