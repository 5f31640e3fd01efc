#include "attune/kernel/own_kernel_reader.h"

#include <algorithm>
#include <cctype>
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
// CUDA's limit for all arguments of a launch together; OpenCL has less on most devices.
constexpr size_t kMaxArgumentBytes = 4096;
constexpr size_t kMaxOptions = 32;
constexpr size_t kMaxOptionBytes = 1024;
// Up to which every integer is a double.
constexpr int64_t kMostExactReal = int64_t{1} << 53;

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

Result<DataFile> ReadDataFileName(const JsonPlace& place) {
  ATTUNE_RETURN_IF_ERROR(place.CheckObject({"path", "xxh128"}));
  DataFile file;
  ATTUNE_ASSIGN_OR_RETURN(file.path, place.Member("path").Text(kMaxPathBytes));
  ATTUNE_ASSIGN_OR_RETURN(const std::string hash, place.Member("xxh128").Text(kMaxWordBytes));
  const auto known = Fingerprint::FromHex(hash);
  if (known.has_value()) {
    file.hash = *known;
    return file;
  }
  return place.Member("xxh128").Error(
      fmt::format("'{}' is not 32 hexadecimal digits, as `xxh128sum` prints them.", hash));
}

Status ReadFill(const JsonPlace& place, const KernelFile& file, OwnOperand& operand) {
  ATTUNE_RETURN_IF_ERROR(place.CheckObject({}, {"uniform", "normal", "constant", "iota", "file"}));
  if (place.Size() != 1) {
    return place.Error("has exactly one key: uniform, normal, constant, iota or file.");
  }
  ATTUNE_RETURN_IF_ERROR(CheckKeyOfVersion(place, "file", 4, file));
  const std::string kind = place.value().begin().key();
  operand.fill = *ParseFillKind(kind);
  const JsonPlace content = place.Member(kind);
  if (operand.fill == BufferFill::Kind::kFile) {
    ATTUNE_ASSIGN_OR_RETURN(operand.data, ReadDataFileName(content));
    ATTUNE_ASSIGN_OR_RETURN(operand.first, Expression::Parse("0"));
    ATTUNE_ASSIGN_OR_RETURN(operand.second, Expression::Parse("0"));
    return Status::Ok();
  }
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

Result<OwnOperand> ReadOperand(const JsonPlace& place, const KernelFile& file) {
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
  if (place.Has("fill")) ATTUNE_RETURN_IF_ERROR(ReadFill(place.Member("fill"), file, operand));
  return operand;
}

// Expressions of an operand may read sizes alone.
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

Status ReadOperands(const JsonPlace& place, const KernelFile& file, OwnKernel& own) {
  ATTUNE_RETURN_IF_ERROR(place.CheckArray(1, kMaxOwnBuffers));
  for (size_t i = 0; i < place.Size(); ++i) {
    ATTUNE_ASSIGN_OR_RETURN(OwnOperand operand, ReadOperand(place.Element(i), file));
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
    const bool is_real = std::holds_alternative<double>(found->second);
    ATTUNE_ASSIGN_OR_RETURN(found->second, ReadParameterValue(value, true));
    const auto* integer = std::get_if<int64_t>(&found->second);
    if (is_real && integer != nullptr) found->second = static_cast<double>(*integer);
  }
  return config;
}

// Words for one compiler: a file in two languages would need two lists.
Status ReadCompileOptions(const JsonPlace& place, KernelFile& file) {
  if (file.languages.size() > 1) {
    return place.Error("is for one compiler, and this file has two languages.");
  }
  ATTUNE_RETURN_IF_ERROR(place.CheckArray(0, kMaxOptions));
  for (size_t i = 0; i < place.Size(); ++i) {
    ATTUNE_ASSIGN_OR_RETURN(std::string option, place.Element(i).Text(kMaxOptionBytes));
    const bool is_word =
        option.front() == '-' && std::all_of(option.begin(), option.end(),
                                             [](unsigned char c) { return std::isgraph(c) != 0; });
    if (!is_word) {
      return place.Element(i).Error(
          fmt::format("'{}' is no option: it begins with '-' and has no blanks.", option));
    }
    file.compile_options.push_back(std::move(option));
  }
  return Status::Ok();
}

// A result for each operand that is written, and for no other.
Status ReadReferenceData(const JsonPlace& place, KernelFile& file) {
  if (!place.value().is_object()) return place.Error("must be an object of files by operand.");
  for (const auto& item : place.value().items()) {
    const JsonPlace content = place.Member(item.key());
    const auto& operands = file.own->operands;
    const bool is_written = std::any_of(operands.begin(), operands.end(), [&](const auto& operand) {
      return operand.name == item.key() && operand.role != OperandRole::kIn;
    });
    if (!is_written) {
      return content.Error(fmt::format("'{}' is no operand that is written.", item.key()));
    }
    ATTUNE_ASSIGN_OR_RETURN(file.own->reference.data[item.key()], ReadDataFileName(content));
  }
  for (const OwnOperand& operand : file.own->operands) {
    if (operand.role == OperandRole::kIn || file.own->reference.data.contains(operand.name)) {
      continue;
    }
    return place.Error(
        fmt::format("has no file for operand '{}', which is written.", operand.name));
  }
  return Status::Ok();
}

}  // namespace

Status CheckKeyOfVersion(const JsonPlace& place, std::string_view key, int version,
                         const KernelFile& file) {
  if (!place.Has(key) || file.format_version >= version) return Status::Ok();
  return place.Member(key).Error(
      fmt::format("'{}' is a key of version {} of the format; this file is of version {}.", key,
                  version, file.format_version));
}

Result<std::string> ReadArgumentBytes(const JsonPlace& place) {
  ATTUNE_ASSIGN_OR_RETURN(std::string digits, place.Text(2 * kMaxArgumentBytes));
  const bool is_hexadecimal =
      digits.size() % 2 == 0 && std::all_of(digits.begin(), digits.end(), [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
      });
  if (is_hexadecimal) return digits;
  return place.Error(fmt::format("'{}' is not an even number of the digits 0-9 and a-f.", digits));
}

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
  if (!place.value().is_number_integer()) {
    return place.Error(
        fmt::format("must be {} and is {}.",
                    is_own ? "a number, a name, true or false" : "an integer or a name",
                    place.value().type_name()));
  }
  constexpr int64_t kMost = 1 << 30;
  ATTUNE_ASSIGN_OR_RETURN(const int64_t value, is_own ? place.Integer(INT64_MIN, INT64_MAX)
                                                      : place.Integer(-kMost, kMost));
  return ParameterValue(value);
}

Status MakeOneKind(const JsonPlace& place, std::vector<ParameterValue>& values) {
  const auto holds_text = [](const ParameterValue& value) {
    return std::holds_alternative<std::string>(value);
  };
  const auto holds_real = [](const ParameterValue& value) {
    return std::holds_alternative<double>(value);
  };
  for (size_t i = 1; i < values.size(); ++i) {
    if (holds_text(values[i]) != holds_text(values[0])) {
      return place.Element(i).Error("numbers and names are mixed in one parameter.");
    }
  }
  if (std::none_of(values.begin(), values.end(), holds_real)) return Status::Ok();
  for (size_t i = 0; i < values.size(); ++i) {
    const auto* integer = std::get_if<int64_t>(&values[i]);
    if (integer == nullptr) continue;
    if (*integer < -kMostExactReal || *integer > kMostExactReal) {
      return place.Element(i).Error(fmt::format(
          "beside real numbers {} would be rounded; integers up to 2^53 are exact.", *integer));
    }
    values[i] = static_cast<double>(*integer);
  }
  return Status::Ok();
}

Result<Expression> ReadNumberOrExpression(const JsonPlace& place) {
  if (!place.value().is_number_float()) return place.ParsedExpression();
  Result<Expression> parsed = Expression::Parse(place.value().dump());
  if (parsed.ok()) return parsed;
  return place.Error(parsed.error().message());
}

Status ReadBinaryName(const JsonPlace& root, KernelFile& file) {
  ATTUNE_RETURN_IF_ERROR(CheckKeyOfVersion(root, "binary", 6, file));
  const JsonPlace place = root.Member("binary");
  if (!root.Has("language") || file.languages.size() != 1) {
    return place.Error("needs a 'language', one, that says whose driver loads it.");
  }
  for (const char* const key : {"definitions", "compile_options"}) {
    if (root.Has(key)) return root.Member(key).Error("nothing is compiled of a 'binary'.");
  }
  const JsonPlace sizes = root.Member("sizes");
  const bool compiles_sizes = sizes.value().is_object() && sizes.Has("compile_time") &&
                              !sizes.Member("compile_time").value().empty();
  if (compiles_sizes) {
    return sizes.Member("compile_time").Error("nothing is compiled of a 'binary'.");
  }
  ATTUNE_ASSIGN_OR_RETURN(std::string name, place.Text(kMaxPathBytes));
  file.source_names = {std::move(name)};
  file.is_binary = true;
  return Status::Ok();
}

Status ReadOwnKernel(const JsonPlace& root, KernelFile& file) {
  file.own.emplace();
  file.own->name = file.name;
  ATTUNE_RETURN_IF_ERROR(ReadSizes(root.Member("sizes"), file));
  ATTUNE_RETURN_IF_ERROR(ReadOperands(root.Member("operands"), file, *file.own));
  const JsonPlace tolerance = root.Member("tolerance");
  ATTUNE_RETURN_IF_ERROR(tolerance.CheckObject({}, {"absolute", "relative"}));
  ATTUNE_ASSIGN_OR_RETURN(file.own->absolute_tolerance, ReadTolerance(tolerance, "absolute"));
  ATTUNE_ASSIGN_OR_RETURN(file.own->relative_tolerance, ReadTolerance(tolerance, "relative"));
  ATTUNE_RETURN_IF_ERROR(CheckKeyOfVersion(root, "compile_options", 4, file));
  return root.Has("compile_options") ? ReadCompileOptions(root.Member("compile_options"), file)
                                     : Status::Ok();
}

Status ReadOwnReference(const JsonPlace& place, KernelFile& file) {
  ATTUNE_RETURN_IF_ERROR(
      place.CheckObject({}, {"config", "launches", "kernel", "program", "data"}));
  ATTUNE_RETURN_IF_ERROR(CheckKeyOfVersion(place, "data", 4, file));
  OwnReference& reference = file.own->reference;
  const bool is_same_source = place.Has("config") || place.Has("launches");
  if (int{is_same_source} + int{place.Has("kernel")} + int{place.Has("program")} +
          int{place.Has("data")} !=
      1) {
    return place.Error(
        "is one of: 'config' with or without 'launches', which is this source; 'kernel', another "
        "kernel file; 'program', an executable; 'data', files that hold the results.");
  }
  if (place.Has("data")) return ReadReferenceData(place.Member("data"), file);
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
  const bool has_empty_config = place.Has("config") && place.Member("config").value().is_object() &&
                                place.Member("config").Size() == 0;
  if (has_empty_config && !place.Has("launches")) {
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
