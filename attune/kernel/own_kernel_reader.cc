#include "attune/kernel/own_kernel_reader.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace attune::kernel {
namespace {

constexpr size_t kMaxWords = 32;
constexpr size_t kMaxWordBytes = 4096;
constexpr size_t kMaxPathBytes = 4096;

Status ReadSizes(const JsonPlace& place, KernelFile& file) {
  ATTUNE_RETURN_IF_ERROR(place.CheckObject({}, {"run_time", "compile_time", "usual"}));
  std::set<std::string> seen;
  for (const char* const kind : {"run_time", "compile_time"}) {
    if (!place.Has(kind)) continue;
    const JsonPlace list = place.Member(kind);
    ATTUNE_RETURN_IF_ERROR(list.CheckArray(0, kMaxOwnSizes));
    for (size_t i = 0; i < list.Size(); ++i) {
      ATTUNE_ASSIGN_OR_RETURN(std::string name, list.Element(i).Identifier());
      if (!seen.insert(name).second) {
        return list.Element(i).Error(fmt::format("the size '{}' is declared twice.", name));
      }
      if (std::string_view(kind) == "compile_time") file.compile_time_sizes.push_back(name);
      file.own->sizes.push_back(std::move(name));
    }
  }
  if (place.Has("usual")) {
    const JsonPlace usual = place.Member("usual");
    if (!usual.value().is_object()) return usual.Error("must be an object of sizes.");
    for (const auto& item : usual.value().items()) {
      const JsonPlace value = usual.Member(item.key());
      if (!seen.contains(item.key())) {
        return value.Error(fmt::format("'{}' is not a size of this kernel.", item.key()));
      }
      ATTUNE_ASSIGN_OR_RETURN(file.own->usual_sizes[item.key()], value.Integer(0, kMaxOwnElements));
    }
  }
  if (file.own->sizes.size() <= kMaxOwnSizes) return Status::Ok();
  return place.Error(
      fmt::format("has {} sizes; {} are allowed.", file.own->sizes.size(), kMaxOwnSizes));
}

Status ReadFill(const JsonPlace& place, OwnOperand& operand) {
  ATTUNE_RETURN_IF_ERROR(place.CheckObject({}, {"uniform", "normal", "constant", "iota"}));
  if (place.Size() != 1) {
    return place.Error("has exactly one key: uniform, normal, constant or iota.");
  }
  const std::string kind = place.value().begin().key();
  operand.fill = *ParseFillKind(kind);
  const JsonPlace content = place.Member(kind);
  if (operand.fill == BufferFill::Kind::kConstant) {
    ATTUNE_ASSIGN_OR_RETURN(operand.first, ReadNumberOrExpression(content));
    ATTUNE_ASSIGN_OR_RETURN(operand.second, Expression::Parse("0"));
    return Status::Ok();
  }
  ATTUNE_RETURN_IF_ERROR(content.CheckArray(2, 2));
  ATTUNE_ASSIGN_OR_RETURN(operand.first, ReadNumberOrExpression(content.Element(0)));
  ATTUNE_ASSIGN_OR_RETURN(operand.second, ReadNumberOrExpression(content.Element(1)));
  return Status::Ok();
}

Result<OperandRole> ReadRole(const JsonPlace& place) {
  ATTUNE_ASSIGN_OR_RETURN(const std::string name, place.Text(kMaxWordBytes));
  if (name == "in") return OperandRole::kIn;
  if (name == "out") return OperandRole::kOut;
  if (name == "inout") return OperandRole::kInOut;
  return place.Error(fmt::format("'{}' is not one of in, out, inout.", name));
}

Status CheckFillFits(const JsonPlace& place, const OwnOperand& operand) {
  const bool is_integer = operand.type == DataType::kI32 || operand.type == DataType::kI8;
  if (operand.role == OperandRole::kOut) {
    if (!place.Has("fill")) return Status::Ok();
    return place.Member("fill").Error("what is only written has no fill.");
  }
  if (is_integer && !place.Has("fill")) {
    return place.Error("integers that are read need a 'fill', as {\"uniform\": [0, 9]}.");
  }
  return Status::Ok();
}

Result<OwnOperand> ReadOperand(const JsonPlace& place) {
  ATTUNE_RETURN_IF_ERROR(place.CheckObject({"name", "type", "shape", "access"}, {"fill"}));
  OwnOperand operand;
  ATTUNE_ASSIGN_OR_RETURN(operand.name, place.Member("name").Identifier());
  if (operand.name == kWorkspaceName) {
    return place.Member("name").Error("'workspace' is what 'workspace_bytes' asks for.");
  }
  ATTUNE_ASSIGN_OR_RETURN(const std::string type, place.Member("type").Text(kMaxWordBytes));
  const auto known = ParseDataType(type);
  if (!known.has_value()) {
    return place.Member("type").Error(
        fmt::format("'{}' is not one of f64, f32, f16, bf16, i32, i8, f8e4m3, f8e5m2.", type));
  }
  operand.type = *known;
  ATTUNE_ASSIGN_OR_RETURN(operand.role, ReadRole(place.Member("access")));
  const JsonPlace shape = place.Member("shape");
  ATTUNE_RETURN_IF_ERROR(shape.CheckArray(1, kMaxOwnDimensions));
  for (size_t i = 0; i < shape.Size(); ++i) {
    ATTUNE_ASSIGN_OR_RETURN(Expression extent, shape.Element(i).ParsedExpression());
    operand.shape.push_back(std::move(extent));
  }
  ATTUNE_RETURN_IF_ERROR(CheckFillFits(place, operand));
  if (place.Has("fill")) ATTUNE_RETURN_IF_ERROR(ReadFill(place.Member("fill"), operand));
  return operand;
}

// What an operand reads are sizes alone.
Status CheckReadsSizes(const JsonPlace& place, const OwnOperand& operand, const OwnKernel& own) {
  std::vector<const Expression*> expressions;
  for (const Expression& extent : operand.shape) expressions.push_back(&extent);
  if (operand.first) expressions.push_back(&*operand.first);
  if (operand.second) expressions.push_back(&*operand.second);
  for (const Expression* expression : expressions) {
    for (const std::string& name : expression->names()) {
      if (std::find(own.sizes.begin(), own.sizes.end(), name) != own.sizes.end()) continue;
      return place.Error(fmt::format("'{}' reads '{}', which is not a size of this kernel.",
                                     expression->text(), name));
    }
  }
  return Status::Ok();
}

Status ReadOperands(const JsonPlace& place, OwnKernel& own) {
  ATTUNE_RETURN_IF_ERROR(place.CheckArray(1, kMaxOwnBuffers));
  for (size_t i = 0; i < place.Size(); ++i) {
    ATTUNE_ASSIGN_OR_RETURN(OwnOperand operand, ReadOperand(place.Element(i)));
    ATTUNE_RETURN_IF_ERROR(CheckReadsSizes(place.Element(i), operand, own));
    for (const OwnOperand& earlier : own.operands) {
      if (earlier.name == operand.name) {
        return place.Element(i).Error(fmt::format("there are two operands '{}'.", operand.name));
      }
    }
    operand.index_in_file = i;
    own.operands.push_back(std::move(operand));
  }
  std::stable_partition(own.operands.begin(), own.operands.end(),
                        [](const OwnOperand& operand) { return operand.role == OperandRole::kIn; });
  if (own.operands.back().role != OperandRole::kIn) return Status::Ok();
  return place.Error("no operand is written: one needs \"access\": \"out\" or \"inout\".");
}

Result<double> ReadTolerance(const JsonPlace& place, const char* key) {
  if (!place.Has(key)) return 0.0;
  const JsonPlace number = place.Member(key);
  const bool is_good = number.value().is_number() && number.value().get<double>() >= 0 &&
                       std::isfinite(number.value().get<double>());
  if (is_good) return number.value().get<double>();
  return number.Error("must be a number from 0.");
}

Result<Config> ReadConfig(const JsonPlace& place, const KernelFile& file) {
  Config config;
  for (const Parameter& parameter : file.parameters) {
    if (!parameter.values.empty()) config[parameter.name] = parameter.values.front();
  }
  if (!place.value().is_object()) return place.Error("must be an object of parameters.");
  for (const auto& item : place.value().items()) {
    const JsonPlace value = place.Member(item.key());
    const auto found = config.find(item.key());
    if (found == config.end()) {
      return value.Error(fmt::format("'{}' is not a parameter of this kernel.", item.key()));
    }
    ATTUNE_ASSIGN_OR_RETURN(found->second, ReadParameterValue(value, true));
  }
  return config;
}

}  // namespace

Result<ParameterValue> ReadParameterValue(const JsonPlace& place, bool is_own) {
  if (is_own && place.value().is_number_float()) {
    return ParameterValue(place.value().get<double>());
  }
  if (is_own && place.value().is_boolean()) {
    return ParameterValue(int64_t{place.value().get<bool>()});
  }
  if (place.value().is_string()) {
    ATTUNE_ASSIGN_OR_RETURN(std::string name, place.Identifier());
    return ParameterValue(std::move(name));
  }
  ATTUNE_ASSIGN_OR_RETURN(const int64_t value, place.Integer(-(1 << 30), 1 << 30));
  return ParameterValue(value);
}

Result<Expression> ReadNumberOrExpression(const JsonPlace& place) {
  if (!place.value().is_number_float()) return place.ParsedExpression();
  Result<Expression> parsed = Expression::Parse(place.value().dump());
  if (parsed.ok()) return parsed;
  return place.Error(parsed.error().message());
}

Status ReadOwnKernel(const JsonPlace& root, KernelFile& file) {
  file.own.emplace();
  file.own->name = file.name;
  ATTUNE_RETURN_IF_ERROR(ReadSizes(root.Member("sizes"), file));
  ATTUNE_RETURN_IF_ERROR(ReadOperands(root.Member("operands"), *file.own));
  const JsonPlace tolerance = root.Member("tolerance");
  ATTUNE_RETURN_IF_ERROR(tolerance.CheckObject({}, {"absolute", "relative"}));
  ATTUNE_ASSIGN_OR_RETURN(file.own->absolute_tolerance, ReadTolerance(tolerance, "absolute"));
  ATTUNE_ASSIGN_OR_RETURN(file.own->relative_tolerance, ReadTolerance(tolerance, "relative"));
  return Status::Ok();
}

Status ReadOwnReference(const JsonPlace& place, KernelFile& file) {
  ATTUNE_RETURN_IF_ERROR(place.CheckObject({}, {"config", "launches", "kernel", "program"}));
  OwnReference& reference = file.own->reference;
  const bool is_same_source = place.Has("config") || place.Has("launches");
  if (int{is_same_source} + int{place.Has("kernel")} + int{place.Has("program")} != 1) {
    return place.Error(
        "is one of: 'config' with or without 'launches', which is this source; 'kernel', another "
        "kernel file; 'program', an executable.");
  }
  if (place.Has("kernel")) {
    ATTUNE_ASSIGN_OR_RETURN(reference.file, place.Member("kernel").Text(kMaxPathBytes));
    return Status::Ok();
  }
  if (place.Has("program")) {
    const JsonPlace words = place.Member("program");
    ATTUNE_RETURN_IF_ERROR(words.CheckArray(1, kMaxWords));
    for (size_t i = 0; i < words.Size(); ++i) {
      ATTUNE_ASSIGN_OR_RETURN(std::string word, words.Element(i).Text(kMaxWordBytes));
      reference.program.push_back(std::move(word));
    }
    return Status::Ok();
  }
  // The default, which is the first that the constraints allow.
  if (place.Has("config") && place.Member("config").Size() == 0 && !place.Has("launches")) {
    reference.config.emplace();
    return Status::Ok();
  }
  static const nlohmann::json no_config = nlohmann::json::object();
  ATTUNE_ASSIGN_OR_RETURN(
      reference.config,
      ReadConfig(place.Has("config") ? place.Member("config") : JsonPlace(no_config), file));
  return Status::Ok();
}

FieldNames FieldNamesFor(const KernelFile& file) {
  if (!file.own.has_value()) {
    const FieldNames* const known = FieldNamesOf(file.operator_name);
    return known == nullptr ? FieldNames() : *known;
  }
  FieldNames names;
  names.sizes = file.own->sizes;
  for (const OwnOperand& operand : file.own->operands) names.operands.push_back(operand.name);
  return names;
}

}  // namespace attune::kernel
