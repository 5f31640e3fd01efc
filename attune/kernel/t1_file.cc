#include "attune/kernel/t1_file.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "attune/base/json_reader.h"
#include "attune/base/text.h"
#include "attune/kernel/json_place.h"
#include "attune/kernel/kernel_file.h"
#include "attune/space/expression.h"

namespace attune::kernel {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxTextBytes = 4096;
constexpr size_t kMaxList = 4096;
constexpr const char* kAxes[] = {"X", "Y", "Z"};
// Tolerance between the results of two configs, if T1 gives none.
constexpr double kTolerance = 1e-4;

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// "ProblemSize[1]" is the size ProblemSize_1.
std::string WithSizeNames(const std::string& text) {
  static const std::regex kIndexed(R"(ProblemSize\s*\[\s*(\d+)\s*\])");
  return std::regex_replace(text, kIndexed, "ProblemSize_$1");
}

// A text or a number as the text of an expression.
Result<std::string> ExpressionText(const JsonPlace& place) {
  if (place.value().is_number()) return place.value().dump();
  ATTUNE_ASSIGN_OR_RETURN(const std::string text, place.Text(kMaxTextBytes));
  return WithSizeNames(text);
}

// Python can write numbers that are not finite, but no kernel accepts them.
Status CheckIsFinite(const JsonPlace& place) {
  const Json& value = place.value();
  if (value.is_number_float() && !std::isfinite(value.get<double>())) {
    return place.Error(fmt::format("{} is no value for a kernel.", value.get<double>()));
  }
  for (size_t i = 0; value.is_array() && i < value.size(); ++i) {
    ATTUNE_RETURN_IF_ERROR(CheckIsFinite(place.Element(i)));
  }
  if (!value.is_object()) return Status::Ok();
  for (const auto& item : value.items()) {
    ATTUNE_RETURN_IF_ERROR(CheckIsFinite(place.Member(item.key())));
  }
  return Status::Ok();
}

class T1Reader {
 public:
  explicit T1Reader(const Json& document) : root_(document) {}

  Result<Json> Read() {
    ATTUNE_RETURN_IF_ERROR(
        root_.CheckObject({"ConfigurationSpace", "KernelSpecification"},
                          {"General", "Search", "Budget", "BenchmarkConfig", "$schema"}));
    const JsonPlace kernel = root_.Member("KernelSpecification");
    ATTUNE_RETURN_IF_ERROR(CheckIsFinite(kernel));
    ATTUNE_RETURN_IF_ERROR(CheckIsFinite(root_.Member("ConfigurationSpace")));
    ATTUNE_RETURN_IF_ERROR(CheckKernelKeys(kernel));
    file_ = {{"attune_kernel_file", KernelFile::kFormatVersion},
             {"operator", "kernel"},
             {"expressions", "python"}};
    ATTUNE_RETURN_IF_ERROR(ReadHead(kernel));
    ATTUNE_RETURN_IF_ERROR(ReadSizes(kernel));
    ATTUNE_RETURN_IF_ERROR(ReadSpace(root_.Member("ConfigurationSpace")));
    ATTUNE_RETURN_IF_ERROR(ReadArguments(kernel.Member("Arguments")));
    ATTUNE_RETURN_IF_ERROR(ReadGeometry(kernel));
    file_["launches"] = Json::array({std::move(launch_)});
    file_["reference"] = {{"config", Json::object()}};
    file_["tolerance"] = {{"absolute", kTolerance}, {"relative", kTolerance}};
    return std::move(file_);
  }

 private:
  Status CheckKernelKeys(const JsonPlace& kernel) const {
    return kernel.CheckObject(
        {"Language", "KernelName", "KernelFile", "Arguments"},
        {"CompilerOptions", "BenchmarkName", "GlobalSizeType", "LocalSize", "GlobalSize",
         "GridDivX", "GridDivY", "GridDivZ", "ProblemSize", "SharedMemory", "Stream"});
  }

  Status ReadHead(const JsonPlace& kernel) {
    ATTUNE_ASSIGN_OR_RETURN(const std::string function,
                            kernel.Member("KernelName").Text(kMaxTextBytes));
    std::string name = Lower(function).substr(0, 48);
    std::replace_if(
        name.begin(), name.end(),
        [](unsigned char c) { return std::isalnum(c) == 0 && c != '_' && c != '-'; }, '_');
    file_["name"] = name;
    launch_["function"] = function;
    ATTUNE_ASSIGN_OR_RETURN(const std::string language,
                            kernel.Member("Language").Text(kMaxTextBytes));
    language_ = Lower(language);
    if (language_ != "cuda" && language_ != "opencl") {
      return kernel.Member("Language").Error(fmt::format("'{}' is not CUDA or OpenCL.", language));
    }
    file_["language"] = language_;
    ATTUNE_ASSIGN_OR_RETURN(const std::string source,
                            kernel.Member("KernelFile").Text(kMaxTextBytes));
    file_["sources"] = Json::array({source});
    if (kernel.Has("Stream") && !kernel.Member("Stream").value().is_null()) {
      return kernel.Member("Stream").Error("a stream of its own cannot be expressed.");
    }
    return kernel.Has("CompilerOptions") ? CheckOptions(kernel.Member("CompilerOptions"))
                                         : Status::Ok();
  }

  // Everything is compiled as C++17 and OpenCL C 1.2.
  static Status CheckOptions(const JsonPlace& options) {
    static const std::regex kStandard(R"(-{1,2}(cl-)?std=(c\+\+(11|14|17)|CL1\.[0-2]))");
    ATTUNE_RETURN_IF_ERROR(options.CheckArray(0, kMaxList));
    for (size_t i = 0; i < options.Size(); ++i) {
      ATTUNE_ASSIGN_OR_RETURN(const std::string option, options.Element(i).Text(kMaxTextBytes));
      if (std::regex_match(option, kStandard)) continue;
      return options.Element(i).Error(
          fmt::format("the compiler option '{}' cannot be expressed.", option));
    }
    return Status::Ok();
  }

  Status ReadSizes(const JsonPlace& kernel) {
    Json names = Json::array();
    Json usual = Json::object();
    Json definitions = Json::array();
    if (kernel.Has("ProblemSize")) {
      const JsonPlace sizes = kernel.Member("ProblemSize");
      ATTUNE_RETURN_IF_ERROR(sizes.CheckArray(1, 3));
      for (size_t i = 0; i < sizes.Size(); ++i) {
        ATTUNE_ASSIGN_OR_RETURN(const int64_t size, sizes.Element(i).Integer(1, int64_t{1} << 40));
        const std::string name = fmt::format("ProblemSize_{}", i);
        names.push_back(name);
        usual[name] = size;
        // As Kernel Tuner calls it.
        definitions.push_back({{"name", "problem_size_" + Lower(kAxes[i])}, {"value", name}});
      }
      problem_dimensions_ = sizes.Size();
    }
    definitions.push_back({{"name", "kernel_tuner"}, {"value", 1}});
    file_["sizes"] = {{"compile_time", std::move(names)}, {"usual", std::move(usual)}};
    file_["definitions"] = std::move(definitions);
    return Status::Ok();
  }

  // "[1, 2, 4]" or a list.
  static Result<Json> ReadValues(const JsonPlace& place) {
    if (place.value().is_array()) return place.value();
    ATTUNE_ASSIGN_OR_RETURN(std::string text, place.Text(1 << 20));
    std::replace(text.begin(), text.end(), '\'', '"');
    text = std::regex_replace(text, std::regex(R"(\bTrue\b)"), "true");
    text = std::regex_replace(text, std::regex(R"(\bFalse\b)"), "false");
    auto values = ReadJson(text, {1, false});
    if (values.ok() && values->is_array()) return values;
    return place.Error(
        fmt::format("'{}' is computed, and only lists of values can be read.", Excerpt(text)));
  }

  Status ReadSpace(const JsonPlace& space) {
    ATTUNE_RETURN_IF_ERROR(space.CheckObject({"TuningParameters"}, {"Conditions"}));
    const JsonPlace parameters = space.Member("TuningParameters");
    ATTUNE_RETURN_IF_ERROR(parameters.CheckArray(0, kMaxList));
    Json list = Json::array();
    for (size_t i = 0; i < parameters.Size(); ++i) {
      const JsonPlace parameter = parameters.Element(i);
      ATTUNE_RETURN_IF_ERROR(parameter.CheckObject({"Name", "Values"}, {"Type", "Default"}));
      ATTUNE_ASSIGN_OR_RETURN(const std::string name, parameter.Member("Name").Identifier());
      ATTUNE_ASSIGN_OR_RETURN(Json values, ReadValues(parameter.Member("Values")));
      if (parameter.Has("Default")) {
        Json usual = parameter.Member("Default").value();
        if (usual.is_array() && usual.size() == 1) usual = Json(usual[0]);
        const auto found = std::find(values.begin(), values.end(), usual);
        if (found == values.end()) {
          return parameter.Member("Default").Error(
              fmt::format("{} is not among the values of '{}'.", usual.dump(), name));
        }
        // The default comes first.
        std::rotate(values.begin(), found, found + 1);
      }
      ATTUNE_RETURN_IF_ERROR(CheckType(parameter, values));
      parameters_[name] = values;
      list.push_back({{"name", name}, {"values", std::move(values)}});
    }
    file_["parameters"] = std::move(list);
    return space.Has("Conditions") ? ReadConditions(space.Member("Conditions")) : Status::Ok();
  }

  // Truth values are integers, as in Python.
  static Status CheckType(const JsonPlace& parameter, const Json& values) {
    using Test = bool (*)(const Json&);
    static constexpr std::pair<std::string_view, Test> kTypes[] = {
        {"int", [](const Json& value) { return value.is_number_integer() || value.is_boolean(); }},
        {"uint",
         [](const Json& value) {
           return value.is_boolean() || (value.is_number_integer() && value >= 0);
         }},
        {"float", [](const Json& value) { return value.is_number(); }},
        {"bool", [](const Json& value) { return value.is_boolean() || value == 0 || value == 1; }},
        {"string", [](const Json& value) { return value.is_string(); }}};
    if (!parameter.Has("Type")) return Status::Ok();
    ATTUNE_ASSIGN_OR_RETURN(const std::string type, parameter.Member("Type").Text(kMaxTextBytes));
    const auto known = std::find_if(std::begin(kTypes), std::end(kTypes),
                                    [&](const auto& entry) { return entry.first == type; });
    if (known == std::end(kTypes)) {
      return parameter.Member("Type").Error(
          fmt::format("'{}' is not int, uint, float, bool or string.", type));
    }
    const auto wrong = std::find_if_not(values.begin(), values.end(), known->second);
    if (wrong == values.end()) return Status::Ok();
    return parameter.Member("Values").Error(
        fmt::format("{} is not of the parameter's type, {}.", wrong->dump(), type));
  }

  // Checks that a condition lists existing parameters, and all that it reads.
  Status CheckConditionParameters(const JsonPlace& condition, const std::string& text) const {
    if (!condition.Has("Parameters")) return Status::Ok();
    const JsonPlace place = condition.Member("Parameters");
    ATTUNE_RETURN_IF_ERROR(place.CheckArray(0, kMaxList));
    std::set<std::string> listed;
    for (size_t i = 0; i < place.Size(); ++i) {
      ATTUNE_ASSIGN_OR_RETURN(const std::string name, place.Element(i).Text(kMaxTextBytes));
      if (!HasParameter(name)) {
        return place.Element(i).Error(fmt::format("'{}' is no parameter.", name));
      }
      listed.insert(name);
    }
    // One that cannot be parsed is refused with its place when the kernel file is read.
    const auto expression = Expression::Parse(text, ExpressionDialect::kPython);
    if (!expression.ok()) return Status::Ok();
    for (const std::string& name : expression->names()) {
      if (!HasParameter(name) || listed.contains(name)) continue;
      return place.Error(fmt::format("has no '{}', which the expression reads.", name));
    }
    return Status::Ok();
  }

  Status ReadConditions(const JsonPlace& conditions) {
    ATTUNE_RETURN_IF_ERROR(conditions.CheckArray(0, kMaxList));
    Json constraints = Json::array();
    for (size_t i = 0; i < conditions.Size(); ++i) {
      const JsonPlace condition = conditions.Element(i);
      ATTUNE_RETURN_IF_ERROR(condition.CheckObject({"Expression"}, {"Parameters"}));
      ATTUNE_ASSIGN_OR_RETURN(std::string text, ExpressionText(condition.Member("Expression")));
      ATTUNE_RETURN_IF_ERROR(CheckConditionParameters(condition, text));
      constraints.push_back(std::move(text));
    }
    file_["constraints"] = std::move(constraints);
    return Status::Ok();
  }

  // The extent of an argument, where min(p) and max(p) of a parameter are those of its values.
  Result<std::string> ReadExtent(const JsonPlace& place) const {
    ATTUNE_ASSIGN_OR_RETURN(std::string text, ExpressionText(place));
    for (const auto& item : parameters_.items()) {
      const auto [least, most] = std::minmax_element(item.value().begin(), item.value().end());
      if (least == item.value().end()) continue;
      const auto replace = [&](const char* function, const Json& value) {
        const std::regex call(fmt::format(R"(\b{}\s*\(\s*{}\s*\))", function, item.key()));
        text = std::regex_replace(text, call, value.dump());
      };
      replace("min", *least);
      replace("max", *most);
    }
    return text;
  }

  Status ReadArguments(const JsonPlace& arguments) {
    ATTUNE_RETURN_IF_ERROR(arguments.CheckArray(1, kMaxList));
    file_["operands"] = Json::array();
    launch_["arguments"] = Json::array();
    for (size_t i = 0; i < arguments.Size(); ++i) {
      const JsonPlace argument = arguments.Element(i);
      ATTUNE_RETURN_IF_ERROR(argument.CheckObject(
          {"Name", "Type", "MemoryType"},
          {"AccessType", "FillType", "FillValue", "Size", "Output", "MemType"}));
      ATTUNE_ASSIGN_OR_RETURN(const std::string memory,
                              argument.Member("MemoryType").Text(kMaxTextBytes));
      if (memory == "Vector") {
        ATTUNE_RETURN_IF_ERROR(ReadVector(argument));
      } else if (memory == "Scalar") {
        ATTUNE_RETURN_IF_ERROR(ReadScalar(argument));
      } else {
        return argument.Member("MemoryType")
            .Error(fmt::format("'{}' is not Vector or Scalar.", memory));
      }
    }
    return Status::Ok();
  }

  Status ReadScalar(const JsonPlace& argument) {
    static constexpr std::pair<std::string_view, const char*> kKinds[] = {
        {"float", "float"}, {"double", "double"}, {"int", "int"},
        {"int32", "int"},   {"int64", "long"},    {"long", "long"}};
    ATTUNE_ASSIGN_OR_RETURN(const std::string type, argument.Member("Type").Text(kMaxTextBytes));
    for (const auto& [name, kind] : kKinds) {
      if (name != type) continue;
      if (!argument.Has("FillValue")) return argument.Error("a scalar needs a FillValue.");
      const Json& value = argument.Member("FillValue").value();
      const bool is_number = value.is_number();
      if (!is_number && !value.is_string()) {
        return argument.Member("FillValue").Error("is neither a number nor an expression.");
      }
      Json content = is_number ? value : Json(WithSizeNames(value.get<std::string>()));
      launch_["arguments"].push_back({{kind, std::move(content)}});
      return Status::Ok();
    }
    return argument.Member("Type").Error(
        fmt::format("a scalar of type '{}' cannot be expressed.", type));
  }

  Status ReadVector(const JsonPlace& argument) {
    static constexpr std::pair<std::string_view, const char*> kTypes[] = {
        {"float", "f32"}, {"double", "f64"}, {"half", "f16"},
        {"int", "i32"},   {"int32", "i32"},  {"int8", "i8"}};
    if (argument.Has("MemType") && argument.Member("MemType").value() != "Global") {
      return argument.Member("MemType").Error(fmt::format(
          "memory of kind {} cannot be expressed.", argument.Member("MemType").value().dump()));
    }
    ATTUNE_ASSIGN_OR_RETURN(const std::string type, argument.Member("Type").Text(kMaxTextBytes));
    const auto known = std::find_if(std::begin(kTypes), std::end(kTypes),
                                    [&](const auto& entry) { return entry.first == type; });
    if (known == std::end(kTypes)) {
      return argument.Member("Type").Error(
          fmt::format("a vector of type '{}' cannot be expressed.", type));
    }
    if (!argument.Has("Size")) return argument.Error("a vector needs a Size.");
    ATTUNE_ASSIGN_OR_RETURN(const std::string name, argument.Member("Name").Identifier());
    ATTUNE_ASSIGN_OR_RETURN(std::string extent, ReadExtent(argument.Member("Size")));
    ATTUNE_ASSIGN_OR_RETURN(const std::string access, ReadAccess(argument));
    Json operand = {{"name", name},
                    {"type", known->second},
                    {"shape", Json::array({std::move(extent)})},
                    {"access", access}};
    if (access != "out") {
      ATTUNE_ASSIGN_OR_RETURN(operand["fill"], ReadFill(argument));
    }
    file_["operands"].push_back(std::move(operand));
    launch_["arguments"].push_back({{"operand", name}});
    return Status::Ok();
  }

  static Result<std::string> ReadAccess(const JsonPlace& argument) {
    if (!argument.Has("AccessType")) return argument.Error("a vector needs an AccessType.");
    ATTUNE_ASSIGN_OR_RETURN(const std::string access,
                            argument.Member("AccessType").Text(kMaxTextBytes));
    if (access == "ReadOnly") return std::string("in");
    if (access == "WriteOnly") return std::string("out");
    if (access == "ReadWrite") return std::string("inout");
    return argument.Member("AccessType").Error(fmt::format("'{}' is unknown.", access));
  }

  // Random values are between 0 and the given value.
  static Result<Json> ReadFill(const JsonPlace& argument) {
    if (!argument.Has("FillType")) return argument.Error("a vector that is read needs a FillType.");
    ATTUNE_ASSIGN_OR_RETURN(const std::string type,
                            argument.Member("FillType").Text(kMaxTextBytes));
    const Json value = argument.Has("FillValue") ? argument.Member("FillValue").value() : Json(1.0);
    if (!value.is_number()) return argument.Member("FillValue").Error("is not a number.");
    if (type == "Constant") return Json{{"constant", value}};
    if (type != "Random") {
      return argument.Member("FillType")
          .Error(
              fmt::format("filling by '{}' cannot be expressed; Constant and Random can.", type));
    }
    const double most = value.get<double>();
    return Json{{"uniform", Json::array({std::min(0.0, most), std::max(0.0, most)})}};
  }

  bool HasParameter(const std::string& name) const { return parameters_.contains(name); }

  static std::string BlockSizeName(size_t axis) { return "block_size_" + Lower(kAxes[axis]); }

  // Kernel Tuner's defaults (util.get_thread_block_dimensions).
  std::string UsualLocalExtent(size_t axis) const {
    const std::string name = BlockSizeName(axis);
    if (HasParameter(name)) return name;
    return axis == 0 ? "256" : "1";
  }

  Result<std::string> LocalExtent(const JsonPlace& kernel, size_t axis) const {
    const std::string name = BlockSizeName(axis);
    if (!kernel.Has("LocalSize")) {
      if (problem_dimensions_ > 0 || HasParameter(name)) return UsualLocalExtent(axis);
      if (axis > 0) return std::string("1");
      return kernel.Error(
          "has no LocalSize, no ProblemSize and no parameter 'block_size_x', so that the size of a "
          "work-group cannot be told.");
    }
    const JsonPlace local = kernel.Member("LocalSize");
    ATTUNE_RETURN_IF_ERROR(local.CheckObject({}, {"X", "Y", "Z"}));
    if (!local.Has(kAxes[axis])) {
      if (axis > 0 && !HasParameter(name)) return std::string("1");
      return local.Error(fmt::format("has no {}, and whether that is 1 or {} cannot be told.",
                                     kAxes[axis], UsualLocalExtent(axis)));
    }
    ATTUNE_ASSIGN_OR_RETURN(std::string extent, ExpressionText(local.Member(kAxes[axis])));
    return extent == name ? UsualLocalExtent(axis) : extent;
  }

  // Work-groups along an axis: of the problem's size, divided as GridDiv says, else by the block
  // size, else of GlobalSize (Kernel Tuner's util.get_grid_dimensions).
  Result<std::string> Groups(const JsonPlace& kernel, size_t axis, const std::string& local) const {
    const std::string key = fmt::format("GridDiv{}", kAxes[axis]);
    if (axis < problem_dimensions_) {
      std::string divisor = HasParameter(BlockSizeName(axis)) ? BlockSizeName(axis) : "1";
      if (kernel.Has(key) && !kernel.Member(key).value().is_null()) {
        const JsonPlace list = kernel.Member(key);
        ATTUNE_RETURN_IF_ERROR(list.CheckArray(0, kMaxList));
        divisor = "1";
        for (size_t i = 0; i < list.Size(); ++i) {
          ATTUNE_ASSIGN_OR_RETURN(const std::string factor, ExpressionText(list.Element(i)));
          divisor += fmt::format(" * int({})", factor);
        }
      }
      return fmt::format("ceil_div(ProblemSize_{}, {})", axis, divisor);
    }
    if (problem_dimensions_ > 0 || !kernel.Has("GlobalSize")) return std::string("1");
    const JsonPlace global = kernel.Member("GlobalSize");
    ATTUNE_RETURN_IF_ERROR(global.CheckObject({}, {"X", "Y", "Z"}));
    if (!global.Has(kAxes[axis])) return std::string("1");
    ATTUNE_ASSIGN_OR_RETURN(const std::string extent, ExpressionText(global.Member(kAxes[axis])));
    return counts_groups_ ? extent : fmt::format("ceil_div({}, {})", extent, local);
  }

  Status ReadGlobalSizeType(const JsonPlace& kernel) {
    if (!kernel.Has("GlobalSizeType")) return Status::Ok();
    const JsonPlace place = kernel.Member("GlobalSizeType");
    if (place.value().is_null()) return Status::Ok();
    ATTUNE_ASSIGN_OR_RETURN(const std::string text, place.Text(kMaxTextBytes));
    counts_groups_ = Lower(text) == "cuda";
    if (counts_groups_ || Lower(text) == "opencl") return Status::Ok();
    return place.Error(fmt::format("'{}' is not CUDA or OpenCL.", text));
  }

  Status ReadGeometry(const JsonPlace& kernel) {
    ATTUNE_RETURN_IF_ERROR(ReadGlobalSizeType(kernel));
    launch_["local"] = Json::array();
    launch_["groups"] = Json::array();
    for (size_t axis = 0; axis < std::size(kAxes); ++axis) {
      ATTUNE_ASSIGN_OR_RETURN(const std::string local, LocalExtent(kernel, axis));
      ATTUNE_ASSIGN_OR_RETURN(std::string groups, Groups(kernel, axis, local));
      launch_["local"].push_back(local);
      launch_["groups"].push_back(std::move(groups));
    }
    if (!kernel.Has("SharedMemory")) return Status::Ok();
    ATTUNE_ASSIGN_OR_RETURN(std::string bytes, ExpressionText(kernel.Member("SharedMemory")));
    if (bytes == "0") return Status::Ok();
    if (language_ == "opencl") {
      return kernel.Member("SharedMemory").Error("dynamic local memory of OpenCL is an argument.");
    }
    launch_["shared_bytes"] = std::move(bytes);
    return Status::Ok();
  }

  const JsonPlace root_;
  Json file_;
  Json launch_ = Json::object();
  Json parameters_ = Json::object();  // Values by name.
  std::string language_;
  size_t problem_dimensions_ = 0;
  bool counts_groups_ = false;  // GlobalSize, of groups and not of work-items.
};

}  // namespace

std::string PlaceInT1(std::string_view place) {
  static const std::pair<std::regex, const char*> kPlaces[] = {
      {std::regex(R"(/constraints/(\d+))"), "/ConfigurationSpace/Conditions/$1/Expression"},
      {std::regex(R"(/parameters/(\d+)(/name)?)"), "/ConfigurationSpace/TuningParameters/$1"},
      {std::regex(R"(/parameters/(\d+)/values.*)"),
       "/ConfigurationSpace/TuningParameters/$1/Values"},
      {std::regex("/parameters"), "/ConfigurationSpace/TuningParameters"},
      {std::regex(R"(/launches/0/arguments/(\d+).*)"), "/KernelSpecification/Arguments/$1"},
      {std::regex("/operands.*"), "/KernelSpecification/Arguments"},
      {std::regex("/launches/0/shared_bytes"), "/KernelSpecification/SharedMemory"},
      {std::regex("/launches/0/function|/name"), "/KernelSpecification/KernelName"},
      {std::regex("/sources.*"), "/KernelSpecification/KernelFile"}};
  const std::string text(place);
  for (const auto& [pattern, t1_place] : kPlaces) {
    std::smatch match;
    if (std::regex_match(text, match, pattern)) return match.format(t1_place);
  }
  return "/KernelSpecification";
}

bool IsT1(const nlohmann::json& document) {
  return document.is_object() && document.contains("ConfigurationSpace") &&
         document.contains("KernelSpecification");
}

Result<nlohmann::json> KernelFileOfT1(const nlohmann::json& document) {
  return T1Reader(document).Read();
}

}  // namespace attune::kernel
