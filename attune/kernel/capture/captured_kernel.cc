#include "attune/kernel/capture/captured_kernel.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "attune/base/fingerprint.h"
#include "attune/base/gzip.h"
#include "attune/kernel/capture/build_options.h"
#include "attune/kernel/capture/captured_operand.h"
#include "attune/kernel/capture/signature.h"
#include "attune/kernel/device_limits.h"
#include "attune/kernel/json_place.h"
#include "attune/kernel/kernel_file.h"
#include "attune/kernel/kernel_plan.h"
#include "attune/kernel/name_expression.h"
#include "attune/problem/own_kernel.h"
#include "attune/space/expression.h"

namespace attune::capture {
namespace {

using Json = nlohmann::ordered_json;
using kernel::IsIdentifier;
using kernel::MacroOf;

constexpr size_t kMaxNameBytes = 48;
constexpr size_t kMaxParameters = 24;
constexpr size_t kMaxDeviceBytes = 200;
// Work-group size where the program left the choice to the driver.
constexpr uint64_t kUsualWorkGroup = 64;
constexpr int kMostInlined = 64;

std::string Hex(std::string_view bytes) {
  std::string digits;
  for (const char c : bytes) digits += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return digits;
}

// Difference by rounding alone, relative to the largest of the type's results.
double RelativeTolerance(DataType type) {
  switch (type) {
    case DataType::kF64:
      return 1e-9;
    case DataType::kF32:
      return 1e-4;
    case DataType::kF16:
      return 1e-2;
    default:
      return 4e-2;
  }
}

// "saxpy" of "_Z5saxpyiPf", a name of C++ without namespaces or templates, and of
// "blas::saxpy<float>".
std::string_view WrittenName(std::string_view function) {
  if (!function.starts_with("_Z")) return kernel::LastNameOf(function);
  size_t at = 2;
  size_t length = 0;
  while (at < function.size() && std::isdigit(static_cast<unsigned char>(function[at])) != 0 &&
         length < function.size()) {
    length = length * 10 + static_cast<size_t>(function[at++] - '0');
  }
  return length > 0 && length <= function.size() - at ? function.substr(at, length) : function;
}

// A scalar of C, as far as a kernel file has it.
enum class ScalarKind { kInt, kLong, kFloat, kDouble, kOther };

ScalarKind ScalarKindOf(const std::string& type, size_t size_bytes) {
  static const std::set<std::string_view> kInts = {"int",      "uint",    "unsigned int",
                                                   "unsigned", "int32_t", "uint32_t"};
  static const std::set<std::string_view> kLongs = {"long",     "ulong",     "unsigned long",
                                                    "size_t",   "ptrdiff_t", "int64_t",
                                                    "uint64_t", "long long", "unsigned long long"};
  if (kInts.contains(type) && size_bytes == sizeof(int32_t)) return ScalarKind::kInt;
  if (kLongs.contains(type) && size_bytes == sizeof(int64_t)) return ScalarKind::kLong;
  if (type == "float" && size_bytes == sizeof(float)) return ScalarKind::kFloat;
  if (type == "double" && size_bytes == sizeof(double)) return ScalarKind::kDouble;
  return ScalarKind::kOther;
}

// Opaque types of OpenCL, which have no bytes: "image2d_array_t", "sampler_t", "pipe int".
bool IsOpaque(std::string_view type) {
  constexpr std::string_view kImage = "image";
  const bool is_image = type.size() > kImage.size() && type.starts_with(kImage) &&
                        std::isdigit(static_cast<unsigned char>(type[kImage.size()])) != 0;
  return is_image || type == "sampler_t" || type == "queue_t" || type == "event_t" ||
         type == "pipe" || type.starts_with("pipe ");
}

class KernelMaker {
 public:
  KernelMaker(const CapturedLaunch& launch, std::string name)
      : launch_(launch),
        name_(std::move(name)),
        options_(TakeApart(launch.options, launch.language, launch.folder)) {}

  Result<CapturedKernel> Make() {
    const bool is_name =
        IsIdentifier(launch_.function) || (IsBinary() && kernel::IsSymbol(launch_.function)) ||
        (launch_.language == "cuda" && kernel::MistakeInNameExpression(launch_.function).empty());
    if (!is_name) {
      return Unsupported(
          fmt::format("its name '{}' is none that a kernel file can have", launch_.function));
    }
    if (launch_.source.empty() && launch_.binary.empty()) {
      return Unsupported("its program has no source, and its driver gives no binary of it");
    }
    if (IsBinary()) options_ = {};
    ReadParameters();
    ChooseReservedNames();
    Json arguments = Json::array();
    for (size_t i = 0; i < launch_.arguments.size(); ++i) {
      ATTUNE_ASSIGN_OR_RETURN(Json argument, ArgumentOf(i));
      arguments.push_back(std::move(argument));
    }
    const std::string defines = TakeMacros();
    AddSources(defines);
    for (const std::string& word : options_.left_out) {
      kernel_.notes.push_back(
          fmt::format("The compiler was also told '{}', which is left out.", word));
    }
    kernel_.json = Document(std::move(arguments)).dump(2) + "\n";
    const auto language = launch_.language == "cuda" ? kernel::KernelLanguage::kCuda
                                                     : kernel::KernelLanguage::kOpenCl;
    // The parser names everything beyond the limits of kernel files.
    const auto read = kernel::ParseKernelFile(kernel_.json, language);
    if (!read.ok()) {
      return Unsupported(
          fmt::format("its kernel file would not be valid ({})", read.error().message()));
    }
    return std::move(kernel_);
  }

 private:
  void ReadParameters() {
    Macros macros;
    for (const Macro& macro : options_.macros) macros[macro.name] = macro.value;
    // Arguments of a template stand behind the name.
    const size_t arguments = std::min(launch_.function.find('<'), launch_.function.size());
    const auto signature =
        ParseSignature(launch_.source,
                       fmt::format("{}{}", WrittenName(launch_.function),
                                   std::string_view(launch_.function).substr(arguments)),
                       macros);
    const bool is_read = signature && signature->size() == launch_.arguments.size();
    for (size_t i = 0; i < launch_.arguments.size(); ++i) {
      const CapturedArgument& argument = launch_.arguments[i];
      KernelParameter& parameter = parameters_.emplace_back();
      if (is_read) parameter = (*signature)[i];
      parameter.is_const = is_read && parameter.is_pointer && parameter.is_const;
      is_typed_.push_back(is_read || argument.told.address != SpoolAddress::kUnknown);
      if (argument.told.address == SpoolAddress::kUnknown) continue;
      // The compiler knows better than a reader.
      const KernelParameter told = ParseParameter(argument.type, macros);
      if (!told.type.empty()) parameter.type = told.type;
      if (!argument.name.empty()) parameter.name = argument.name;
      parameter.address = argument.told.address;
      parameter.is_pointer = parameter.address != SpoolAddress::kPrivate;
      parameter.is_const = argument.told.is_const != 0;
    }
  }

  void ChooseReservedNames() {
    for (const std::string_view limit : kernel::kDeviceLimitNames) reserved_.emplace(limit);
    reserved_.insert({"alpha", "beta", "workspace"});
    for (const Macro& macro : options_.macros) reserved_.insert(macro.name);
  }

  // A name for argument `i` that no other has, as near to its own as can be.
  std::string NameFor(size_t i) {
    std::string name = parameters_[i].name;
    if (!IsIdentifier(name)) name = fmt::format("arg{}", i);
    while (reserved_.contains(name) || reserved_.contains(MacroOf(name))) name += '_';
    reserved_.insert(name);
    return name;
  }

  std::string Who(size_t i) const {
    const std::string& name = parameters_[i].name;
    return name.empty() ? fmt::format("argument {}", i) : fmt::format("argument {} ({})", i, name);
  }

  Result<Json> ArgumentOf(size_t i) {
    const CapturedArgument& argument = launch_.arguments[i];
    const KernelParameter& parameter = parameters_[i];
    const bool is_pointer = parameter.address == SpoolAddress::kGlobal ||
                            parameter.address == SpoolAddress::kConstant ||
                            (launch_.language == "cuda" && parameter.is_pointer);
    if (IsOpaque(parameter.type)) {
      return Unsupported(
          fmt::format("{} is of type {}, which kernel files have not", Who(i), parameter.type));
    }
    switch (argument.told.kind) {
      case SpoolArgumentKind::kBuffer:
        return BufferArgument(i);
      case SpoolArgumentKind::kNull:
        if (is_pointer) {
          return Unsupported(
              fmt::format("{} has no buffer, which kernel files cannot say", Who(i)));
        }
        return Json{{"local_bytes", argument.told.size_bytes}};
      case SpoolArgumentKind::kScalar:
        break;
    }
    if (is_pointer && argument.value.find_first_not_of('\0') == std::string::npos) {
      return Unsupported(fmt::format("{} has no buffer, which kernel files cannot say", Who(i)));
    }
    if (is_pointer) {
      return Unsupported(fmt::format(
          "{} is a buffer that was made in a way that is not seen (of OpenGL, for one)", Who(i)));
    }
    return ScalarArgument(i);
  }

  // Fixed, unless it is a size: whole numbers from 0 are taken for such.
  Json ScalarArgument(size_t i) {
    const std::string& value = launch_.arguments[i].value;
    const Json bytes = Json{{"bytes", Hex(value)}};
    const auto number = [&](const char* key, auto real) {
      std::memcpy(&real, value.data(), sizeof real);
      const double exact = real;
      const auto parsed = Expression::Parse(Json(exact).dump());
      const bool is_plain = std::isfinite(exact) && !(exact == 0 && std::signbit(exact)) &&
                            parsed.ok() && IsValue(*parsed, exact);
      return is_plain ? Json{{key, exact}} : bytes;
    };
    const auto integer = [&](const char* key, auto whole) {
      std::memcpy(&whole, value.data(), sizeof whole);
      if (whole < 0 && whole > -kMaxOwnElements) return Json{{key, whole}};
      if (whole < 0 || whole > kMaxOwnElements) return bytes;
      if (sizes_.size() == kMaxOwnSizes) return Json{{key, whole}};
      const std::string name = NameFor(i);
      sizes_.push_back(name);
      usual_[name] = whole;
      return Json{{key, name}};
    };
    switch (ScalarKindOf(parameters_[i].type, value.size())) {
      case ScalarKind::kInt:
        // Beyond the largest int, an unsigned one is negative here.
        if (parameters_[i].type.starts_with('u') && (value[3] & 0x80) != 0) return bytes;
        return integer("int", int32_t{0});
      case ScalarKind::kLong:
        return integer("long", int64_t{0});
      case ScalarKind::kFloat:
        return number("float", float{0});
      case ScalarKind::kDouble:
        return number("double", double{0});
      case ScalarKind::kOther:
        break;
    }
    return bytes;
  }

  static bool IsValue(const Expression& expression, double exact) {
    const auto value =
        expression.Evaluate([](std::string_view) -> const ParameterValue* { return nullptr; });
    if (!value.ok()) return false;
    if (const auto* real = std::get_if<double>(&*value)) return *real == exact;
    const auto* integer = std::get_if<int64_t>(&*value);
    return integer != nullptr && static_cast<double>(*integer) == exact;
  }

  Result<Json> BufferArgument(size_t i) {
    const CapturedArgument& argument = launch_.arguments[i];
    if (argument.told.same_as >= 0) {
      return Json{{"operand", operand_names_[static_cast<size_t>(argument.told.same_as)]}};
    }
    CapturedBuffer buffer;
    buffer.name = operand_names_[i] = NameFor(i);
    buffer.type = parameters_[i].type;
    buffer.is_written = argument.after.has_value();
    buffer.is_const = !is_typed_[i] || parameters_[i].is_const ||
                      parameters_[i].address == SpoolAddress::kConstant;
    // The same buffer may come again as one that is written.
    for (size_t j = i + 1; j < launch_.arguments.size(); ++j) {
      if (launch_.arguments[j].told.same_as == static_cast<int32_t>(i)) {
        buffer.is_const = buffer.is_const && parameters_[j].is_const;
      }
    }
    buffer.before = argument.before;
    buffer.after = argument.after.value_or(argument.before);
    ATTUNE_ASSIGN_OR_RETURN(CapturedOperand operand, MakeOperand(buffer));
    ATTUNE_RETURN_IF_ERROR(AddOperand(buffer, std::move(operand)));
    return Json{{"operand", buffer.name}};
  }

  Status AddOperand(const CapturedBuffer& buffer, CapturedOperand operand) {
    ATTUNE_ASSIGN_OR_RETURN(const Json before, AddData(buffer.name + ".before.gz", operand.before));
    const size_t elements = operand.before.size() / SizeBytes(operand.type);
    operands_.push_back({{"name", buffer.name},
                         {"type", Name(operand.type)},
                         {"shape", {elements}},
                         {"access", operand.is_read_only ? "in" : "inout"},
                         {"fill", {{"file", before}}}});
    if (operand.is_read_only) return Status::Ok();
    if (operand.before == operand.after) {
      reference_[buffer.name] = before;
    } else {
      ATTUNE_ASSIGN_OR_RETURN(reference_[buffer.name],
                              AddData(buffer.name + ".after.gz", operand.after));
    }
    if (operand.is_exact) {
      kernel_.notes.push_back(fmt::format(
          "{} is of {}, which attune does not compare: it is compared bit for bit.", buffer.name,
          buffer.type.empty() ? "a type that nobody tells"
                              : fmt::format("type '{}'", buffer.type)));
    }
    if (operand.not_finite > 0) {
      kernel_.notes.push_back(
          fmt::format("{} elements of {} that the launch left as they were are infinite or no "
                      "numbers; they are 0 in the data.",
                      operand.not_finite, buffer.name));
    }
    const double relative = RelativeTolerance(operand.type);
    if (UnitRoundoff(operand.type) > 0) {
      relative_ = std::max(relative_, relative);
      absolute_ = std::max(absolute_, relative / 10 * operand.largest);
    }
    return Status::Ok();
  }

  Result<Json> AddData(const std::string& path, const std::string& content) {
    ATTUNE_ASSIGN_OR_RETURN(kernel_.files[path], Gzip(content));
    return Json{{"path", path}, {"xxh128", FingerprintOf(content).ToHex()}};
  }

  // Macros become parameters; those that cannot be are the text of a source.
  std::string TakeMacros() {
    std::string defines;
    std::set<std::string> taken;
    for (const std::string& size : sizes_) taken.insert(MacroOf(size));
    for (const std::string_view limit : kernel::kDeviceLimitNames) taken.emplace(limit);
    taken.insert({"alpha", "beta"});
    for (const Macro& macro : options_.macros) {
      const auto value = ParameterOf(macro);
      if (!value || parameters_json_.size() == kMaxParameters || taken.contains(macro.name)) {
        defines += fmt::format("#define {} {}\n", macro.name, macro.value);
        continue;
      }
      const Json json = std::visit([](const auto& known) { return Json(known); }, *value);
      parameters_json_.push_back({{"name", macro.name}, {"values", {json}}});
    }
    return defines;
  }

  // Headers that the compiler was given by name stand where they are included.
  std::string WholeSource() const {
    std::string source = launch_.source;
    for (int round = 0; round < kMostInlined; ++round) {
      bool is_changed = false;
      for (const auto& [name, text] : launch_.headers) {
        for (const char* form : {"#include \"{}\"", "#include <{}>"}) {
          const std::string line = fmt::format(fmt::runtime(form), name);
          const size_t at = source.find(line);
          if (at == std::string::npos) continue;
          source.replace(at, line.size(), text);
          is_changed = true;
        }
      }
      if (!is_changed) break;
    }
    return source;
  }

  bool IsBinary() const { return launch_.source.empty(); }

  void AddSources(const std::string& defines) {
    if (IsBinary()) {
      sources_.push_back(name_ + ".bin");
      kernel_.files[sources_.back()] = launch_.binary;
      kernel_.notes.emplace_back(
          "Its program was made from a binary: its launches can be tuned, and nothing else.");
      return;
    }
    const char* const ending = launch_.language == "cuda" ? "cu" : "cl";
    if (!defines.empty()) {
      const std::string path = fmt::format("{}.defines.{}", name_, ending);
      kernel_.files[path] = defines;
      sources_.push_back(path);
    }
    const std::string path = fmt::format("{}.{}", name_, ending);
    kernel_.files[path] = WholeSource();
    sources_.push_back(path);
  }

  std::vector<uint64_t> LocalSize() {
    const SpoolGeometry& geometry = launch_.geometry;
    std::vector<uint64_t> local(geometry.dimensions, 1);
    if (geometry.has_local != 0) {
      local.assign(geometry.local, geometry.local + geometry.dimensions);
      return local;
    }
    bool is_required = true;
    for (uint32_t i = 0; i < geometry.dimensions; ++i) {
      is_required =
          is_required && geometry.required[i] > 0 && geometry.global[i] % geometry.required[i] == 0;
    }
    if (is_required) {
      local.assign(geometry.required, geometry.required + geometry.dimensions);
      return local;
    }
    local[0] = std::min(kUsualWorkGroup, geometry.global[0]);
    while (geometry.global[0] % local[0] != 0) --local[0];
    kernel_.notes.push_back(
        fmt::format("The program left the work-group to the driver; the file has {}.",
                    fmt::join(local, " x ")));
    return local;
  }

  Json Document(Json arguments) {
    const std::vector<uint64_t> local = LocalSize();
    std::vector<uint64_t> groups;
    for (size_t i = 0; i < local.size(); ++i)
      groups.push_back(launch_.geometry.global[i] / local[i]);
    std::string device;
    for (const char c : launch_.device.substr(0, kMaxDeviceBytes)) {
      device += c >= ' ' && c <= '~' && c != '"' && c != '\\' ? c : '?';
    }
    Json launch = {{"function", launch_.function}, {"local", local}, {"groups", groups}};
    if (launch_.geometry.shared_bytes > 0) launch["shared_bytes"] = launch_.geometry.shared_bytes;
    launch["arguments"] = std::move(arguments);
    Json document = {
        {"attune_kernel_file", kernel::KernelFile::kFormatVersion},
        {"name", name_},
        {"operator", kOwnKernelOperator},
        {"language", launch_.language},
        {"description",
         fmt::format("Captured: launch {} of {} on {}", launch_.number, launch_.function, device)},
        {IsBinary() ? "binary" : "sources", IsBinary() ? Json(sources_.front()) : Json(sources_)},
        {"sizes", {{"run_time", sizes_}, {"usual", usual_}}},
        {"operands", operands_},
        {"parameters", parameters_json_}};
    if (!options_.further.empty()) document["compile_options"] = options_.further;
    document["launches"] = Json::array({std::move(launch)});
    document["reference"] = {{"data", reference_}};
    document["tolerance"] = {{"absolute", absolute_}, {"relative", relative_}};
    return document;
  }

  const CapturedLaunch& launch_;
  const std::string name_;
  BuildOptions options_;
  CapturedKernel kernel_;
  std::vector<KernelParameter> parameters_;  // Per argument, as far as known.
  std::vector<bool> is_typed_;               // True if its type is known.
  std::set<std::string> reserved_;
  std::map<size_t, std::string> operand_names_;
  std::vector<std::string> sizes_;
  std::vector<std::string> sources_;
  Json usual_ = Json::object();
  Json operands_ = Json::array();
  Json parameters_json_ = Json::array();
  Json reference_ = Json::object();
  double absolute_ = 0;
  double relative_ = 0;
};

}  // namespace

Result<CapturedKernel> MakeCapturedKernel(const CapturedLaunch& launch, const std::string& name) {
  return KernelMaker(launch, name).Make();
}

std::string KernelNameOf(const std::string& function) {
  std::string name;
  for (const char c : WrittenName(function)) {
    const auto lower = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const bool is_known =
        std::isalnum(static_cast<unsigned char>(lower)) != 0 || lower == '_' || lower == '-';
    name += is_known ? lower : '-';
  }
  // Room for a number behind it.
  name.resize(std::min(name.size(), kMaxNameBytes - 16));
  return name.empty() ? "kernel" : name;
}

}  // namespace attune::capture
