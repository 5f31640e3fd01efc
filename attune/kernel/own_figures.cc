#include "attune/kernel/own_figures.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "attune/kernel/own_kernel_reader.h"

namespace attune::kernel {
namespace {

constexpr size_t kMaxUnitBytes = 16;
constexpr size_t kMaxWordBytes = 64;

Status CheckReadsSizes(const JsonPlace& place, const Expression& expression, const OwnKernel& own) {
  for (const std::string& name : expression.names()) {
    if (std::find(own.sizes.begin(), own.sizes.end(), name) != own.sizes.end()) continue;
    return place.Error(fmt::format("'{}' reads '{}', which is not a size of this kernel.",
                                   expression.text(), name));
  }
  return Status::Ok();
}

Result<std::optional<Expression>> ReadCount(const JsonPlace& from, const char* key,
                                            const OwnKernel& own) {
  if (!from.Has(key)) return std::optional<Expression>();
  ATTUNE_ASSIGN_OR_RETURN(Expression count, from.Member(key).ParsedExpression());
  ATTUNE_RETURN_IF_ERROR(CheckReadsSizes(from.Member(key), count, own));
  return std::optional<Expression>(std::move(count));
}

// The operand, or the workspace, and the type of its elements.
Status ReadRegion(const JsonPlace& from, const KernelFile& file, OwnFigure& figure) {
  ATTUNE_ASSIGN_OR_RETURN(const std::string operand, from.Member("operand").Text(kMaxWordBytes));
  if (operand != kWorkspaceName) {
    const auto& operands = file.own->operands;
    const auto found = std::find_if(operands.begin(), operands.end(),
                                    [&](const OwnOperand& each) { return each.name == operand; });
    if (found == operands.end() || found->role == OperandRole::kIn) {
      return from.Member("operand").Error(
          fmt::format("'{}' is no operand that is written, nor 'workspace'.", operand));
    }
    if (from.Has("type")) return from.Member("type").Error("is that of the operand: leave it out.");
    figure.operand = operand;
    figure.type = found->type;
    return Status::Ok();
  }
  if (!file.workspace_bytes.has_value()) {
    return from.Member("operand").Error("is the workspace, and the file has no 'workspace_bytes'.");
  }
  if (!from.Has("type")) return from.Error("has no 'type', which the workspace needs.");
  ATTUNE_ASSIGN_OR_RETURN(const std::string type, from.Member("type").Text(kMaxWordBytes));
  const auto known = ParseDataType(type);
  if (!known.has_value()) {
    return from.Member("type").Error(
        fmt::format("'{}' is not one of f64, f32, f16, bf16, i32, i8, f8e4m3, f8e5m2.", type));
  }
  figure.type = *known;
  return Status::Ok();
}

Status ReadReduction(const JsonPlace& from, OwnFigure& figure) {
  if (!from.Has("reduce")) return Status::Ok();
  const bool is_printed = !figure.printed.empty();
  ATTUNE_ASSIGN_OR_RETURN(const std::string word, from.Member("reduce").Text(kMaxWordBytes));
  const auto reduction = ParseReduction(word);
  if (!reduction.has_value() || (*reduction == FigureSource::Reduction::kLast && !is_printed)) {
    return from.Member("reduce").Error(fmt::format("'{}' is not one of first, {}max, min, sum.",
                                                   word, is_printed ? "last, " : ""));
  }
  figure.reduction = *reduction;
  return Status::Ok();
}

Status ReadPrinted(const JsonPlace& from, OwnFigure& figure) {
  ATTUNE_RETURN_IF_ERROR(from.CheckObject({"printed"}, {"reduce"}));
  ATTUNE_ASSIGN_OR_RETURN(figure.printed, from.Member("printed").Text(kMaxWordBytes));
  if (IsPrintedWord(figure.printed)) return ReadReduction(from, figure);
  return from.Member("printed").Error(
      fmt::format("'{}' is not one word of letters, digits, _ / . and -, a letter or _ first.",
                  figure.printed));
}

Status ReadWritten(const JsonPlace& from, const KernelFile& file, OwnFigure& figure) {
  ATTUNE_RETURN_IF_ERROR(from.CheckObject({"operand"}, {"type", "first", "count", "reduce"}));
  ATTUNE_RETURN_IF_ERROR(ReadRegion(from, file, figure));
  ATTUNE_RETURN_IF_ERROR(ReadReduction(from, figure));
  ATTUNE_ASSIGN_OR_RETURN(figure.first, ReadCount(from, "first", *file.own));
  ATTUNE_ASSIGN_OR_RETURN(figure.count, ReadCount(from, "count", *file.own));
  const bool is_one = figure.reduction == FigureSource::Reduction::kFirst;
  if (is_one && figure.count.has_value()) {
    return from.Member("count").Error("goes with 'reduce' of max, min or sum.");
  }
  if (!is_one && figure.operand.empty() && !figure.count.has_value()) {
    return from.Error("has no 'count', which a reduction of the workspace needs.");
  }
  return Status::Ok();
}

Result<OwnFigure> ReadFigure(const std::string& name, const JsonPlace& place,
                             const KernelFile& file) {
  const bool is_taken = name == kTimeObjective || name == kEnergyObjective;
  const bool is_name = !name.empty() && name.size() <= kMaxWordBytes &&
                       std::all_of(name.begin(), name.end(), [](char c) {
                         return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
                       });
  if (!is_name || is_taken) {
    return place.Error(fmt::format(
        "'{}' is no name of a figure: it has a-z 0-9 _, and 'time' and 'energy' are taken.", name));
  }
  ATTUNE_RETURN_IF_ERROR(place.CheckObject({"from"}, {"direction", "unit"}));
  OwnFigure figure;
  figure.objective.name = name;
  if (place.Has("direction")) {
    ATTUNE_ASSIGN_OR_RETURN(const std::string word, place.Member("direction").Text(kMaxWordBytes));
    const auto direction = ParseDirection(word);
    if (!direction.has_value()) {
      return place.Member("direction")
          .Error(fmt::format("'{}' is neither 'minimize' nor 'maximize'.", word));
    }
    figure.objective.direction = *direction;
  }
  if (place.Has("unit")) {
    ATTUNE_ASSIGN_OR_RETURN(figure.objective.unit, place.Member("unit").Text(kMaxUnitBytes));
  }
  const JsonPlace from = place.Member("from");
  ATTUNE_RETURN_IF_ERROR(CheckKeyOfVersion(from, "printed", 7, file));
  ATTUNE_RETURN_IF_ERROR(from.Has("printed") ? ReadPrinted(from, figure)
                                             : ReadWritten(from, file, figure));
  return figure;
}

Result<int64_t> ValueOf(const Expression& expression, const OwnFigure& figure,
                        const OwnSizes& sizes) {
  ParameterValue held;
  const auto value =
      expression.EvaluateInteger([&sizes, &held](std::string_view name) -> const ParameterValue* {
        const auto found = sizes.find(name);
        if (found == sizes.end()) return nullptr;
        held = found->second;
        return &held;
      });
  if (value.ok() && *value >= 0) return *value;
  return InvalidArgument(fmt::format(
      "The figure '{}': '{}' {}", figure.objective.name, expression.text(),
      value.ok() ? fmt::format("is {}, which is below 0.", *value) : value.error().message()));
}

// All elements of the operand of `figure`.
Result<int64_t> ElementsOf(const OwnFigure& figure, const KernelFile& file, const OwnSizes& sizes) {
  int64_t elements = 1;
  for (const OwnOperand& operand : file.own->operands) {
    if (operand.name != figure.operand) continue;
    for (const Expression& extent : operand.shape) {
      ATTUNE_ASSIGN_OR_RETURN(const int64_t value, ValueOf(extent, figure, sizes));
      elements *= value;
    }
  }
  return elements;
}

}  // namespace

Status ReadOwnFigures(const JsonPlace& place, KernelFile& file) {
  if (!place.value().is_object() || place.Size() > kMaxOwnFigures) {
    return place.Error(fmt::format("must be an object of at most {} figures.", kMaxOwnFigures));
  }
  for (const auto& item : place.value().items()) {
    ATTUNE_ASSIGN_OR_RETURN(OwnFigure figure,
                            ReadFigure(item.key(), place.Member(item.key()), file));
    file.own->figures.push_back(std::move(figure));
  }
  return Status::Ok();
}

const OwnFigure* FindFigure(const KernelFile& file, std::string_view name) {
  for (const OwnFigure& figure : file.own->figures) {
    if (figure.objective.name == name) return &figure;
  }
  return nullptr;
}

Result<FigureSource> SourceOf(const OwnFigure& figure, const KernelFile& file,
                              const OwnSizes& sizes) {
  FigureSource source;
  source.reduction = figure.reduction;
  source.printed = figure.printed;
  if (!figure.printed.empty()) return source;
  source.operand = figure.operand;
  source.type = figure.type;
  if (figure.first.has_value()) {
    ATTUNE_ASSIGN_OR_RETURN(source.first, ValueOf(*figure.first, figure, sizes));
  }
  if (figure.count.has_value()) {
    ATTUNE_ASSIGN_OR_RETURN(source.count, ValueOf(*figure.count, figure, sizes));
  } else if (figure.reduction != FigureSource::Reduction::kFirst) {
    ATTUNE_ASSIGN_OR_RETURN(const int64_t elements, ElementsOf(figure, file, sizes));
    source.count = elements - source.first;
  }
  if (source.count >= 1) return source;
  return InvalidArgument(fmt::format("The figure '{}' reads {} elements; at least one is needed.",
                                     figure.objective.name, source.count));
}

}  // namespace attune::kernel
