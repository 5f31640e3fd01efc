#include "extensions/models/seer/operator_models.h"

#include <algorithm>

#include <fmt/format.h>

#include "attune/base/text.h"
#include "attune/model/seer_variant.h"
#include "extensions/models/seer/table_rows.h"

namespace attune::seer {
namespace {

using Terms = std::vector<double> (*)(const Layer&, Rules);

constexpr std::string_view kPointwise = "conv1x1";
constexpr std::string_view kIm2col = "im2col";
constexpr std::array<std::string_view, 6> kNames = {
    "maxpool", "maxpool_grad", kPointwise, "layout", "conv_grad_input", "conv_grad_filter"};
constexpr size_t kMostModels = 16;
constexpr size_t kColumns = 10;  // And the forward time.

// For operators with one polynomial; null for others.
Terms TermsOf(std::string_view name) {
  if (name == "maxpool") return &MaxPoolTerms;
  if (name == "maxpool_grad") return &MaxPoolGradientTerms;
  if (name == "layout") return &LayoutTerms;
  return nullptr;
}

}  // namespace

std::span<const std::string_view> OperatorNames() { return kNames; }

bool IsGradientOfConv(std::string_view name) {
  return name == "conv_grad_input" || name == "conv_grad_filter";
}

bool IsPreKernel(std::string_view name) {
  if (name == kIm2col) return true;
  const Variant* const variant = FindVariant(name);
  return variant != nullptr && variant->algorithm == 7;
}

Result<std::vector<OperatorTime>> ReadOperatorTimes(std::string_view csv) {
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<CsvRow> rows, DataRows(csv, 1));
  std::vector<OperatorTime> times;
  for (const CsvRow& row : rows) {
    const bool has_forward = row.fields.size() == kColumns + 1 && !row.fields.back().empty();
    if (row.fields.size() != kColumns && row.fields.size() != kColumns + 1) {
      return WrongRow(row, fmt::format("{} columns, where {} or {} belong.", row.fields.size(),
                                       kColumns, kColumns + 1));
    }
    OperatorTime time;
    time.name = row.fields[0];
    if (!IsPreKernel(time.name) && std::ranges::find(kNames, time.name) == kNames.end()) {
      return WrongRow(row, fmt::format("no operator is called '{}'.", Excerpt(time.name)));
    }
    ATTUNE_ASSIGN_OR_RETURN(time.layer, LayerIn(row, 1));
    ATTUNE_ASSIGN_OR_RETURN(time.time_ms, TimeIn(row, 9));
    if (IsGradientOfConv(time.name) != has_forward) {
      return WrongRow(row, "gradients of convolutions, and they alone, have a forward time.");
    }
    if (has_forward) {
      ATTUNE_ASSIGN_OR_RETURN(time.forward_ms, TimeIn(row, kColumns));
    }
    times.push_back(std::move(time));
  }
  return times;
}

std::string Csv(std::span<const OperatorTime> times) {
  std::string text = "operator,N,C,W,K,P,f,s,p,time_ms,forward_ms\n";
  for (const OperatorTime& x : times) {
    text += fmt::format("{},{},{},{}\n", x.name, LayerColumns(x.layer), x.time_ms,
                        x.forward_ms > 0 ? fmt::format("{}", x.forward_ms) : "");
  }
  return text;
}

Result<OperatorModels> OperatorModels::Train(std::span<const OperatorTime> times, uint64_t seed,
                                             Rules rules) {
  std::map<std::string, std::vector<TimedLayer>, std::less<>> timed;
  std::map<std::string, std::vector<GradientSample>, std::less<>> gradients;
  for (const OperatorTime& time : times) {
    if (IsPreKernel(time.name)) continue;
    if (IsGradientOfConv(time.name)) {
      gradients[time.name].push_back({time.layer, time.forward_ms, time.time_ms});
    } else {
      timed[time.name].push_back({time.layer, time.time_ms});
    }
  }
  OperatorModels models;
  for (const auto& [name, samples] : timed) {
    if (name == kPointwise) {
      ATTUNE_ASSIGN_OR_RETURN(models.pointwise_, PointwiseModel::Train(samples, rules));
      continue;
    }
    const Terms terms = TermsOf(name);
    if (terms == nullptr) {
      return FailedPrecondition(fmt::format("No operator is called '{}'.", Excerpt(name)));
    }
    ATTUNE_ASSIGN_OR_RETURN(models.polynomials_[name], FitPolynomial(terms, samples, rules));
  }
  for (const auto& [name, samples] : gradients) {
    ATTUNE_ASSIGN_OR_RETURN(models.gradients_[name], GradientModel::Train(samples, seed));
  }
  return models;
}

std::optional<double> OperatorModels::Predict(std::string_view name, const Layer& layer,
                                              double forward_ms) const {
  if (name == kPointwise) {
    return pointwise_.has_value() ? pointwise_->Predict(layer) : std::nullopt;
  }
  if (const auto found = polynomials_.find(name); found != polynomials_.end()) {
    return found->second.Predict(layer);
  }
  const auto found = gradients_.find(name);
  if (found == gradients_.end()) return std::nullopt;
  return found->second.Predict(layer, forward_ms);
}

std::vector<std::string> OperatorModels::names() const {
  std::vector<std::string> names;
  for (const std::string_view name : kNames) {
    if (polynomials_.contains(name) || gradients_.contains(name) ||
        (name == kPointwise && pointwise_.has_value())) {
      names.emplace_back(name);
    }
  }
  return names;
}

void OperatorModels::AppendText(std::string& text) const {
  const std::vector<std::string> all = names();
  AppendCount(text, "operators", all.size());
  for (const std::string& name : all) {
    AppendWord(text, "operator", name);
    if (name == kPointwise) {
      pointwise_->AppendText(text);
    } else if (const auto found = polynomials_.find(name); found != polynomials_.end()) {
      found->second.AppendText(text);
    } else {
      gradients_.find(name)->second.AppendText(text);
    }
  }
}

Result<OperatorModels> OperatorModels::ReadFrom(ModelLines& lines, Rules rules) {
  OperatorModels models;
  ATTUNE_ASSIGN_OR_RETURN(const size_t count, lines.Count("operators", kMostModels));
  for (size_t i = 0; i < count; ++i) {
    ATTUNE_ASSIGN_OR_RETURN(const std::string name, lines.Word("operator"));
    if (name == kPointwise) {
      ATTUNE_ASSIGN_OR_RETURN(models.pointwise_, PointwiseModel::ReadFrom(lines, rules));
    } else if (const Terms terms = TermsOf(name); terms != nullptr) {
      ATTUNE_ASSIGN_OR_RETURN(models.polynomials_[name], Polynomial::ReadFrom(lines, terms, rules));
    } else if (IsGradientOfConv(name)) {
      ATTUNE_ASSIGN_OR_RETURN(models.gradients_[name], GradientModel::ReadFrom(lines));
    } else {
      return lines.Wrong(fmt::format("no operator is called '{}'.", Excerpt(name)));
    }
  }
  if (models.names().size() != count) return lines.Wrong("an operator is there twice.");
  return models;
}

}  // namespace attune::seer
