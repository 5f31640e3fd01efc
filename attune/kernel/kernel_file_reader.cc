// JSON -> KernelFile: the shape of the file. kernel_file_scopes.cc checks the names that its
// expressions may read.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "attune/base/json_reader.h"
#include "attune/kernel/compiled_code.h"
#include "attune/kernel/json_place.h"
#include "attune/kernel/kernel_file.h"
#include "attune/kernel/kernel_file_scopes.h"
#include "attune/kernel/name_expression.h"
#include "attune/kernel/own_figures.h"
#include "attune/kernel/own_kernel_reader.h"
#include "attune/kernel/problem_fields.h"
#include "attune/ops/registry.h"

namespace attune::kernel {
namespace {

constexpr int kMaxDepth = 8;
constexpr size_t kMaxDescriptionBytes = 400;
constexpr size_t kMaxNameBytes = 48;
constexpr size_t kMaxSources = 8;
constexpr size_t kMaxParameters = 24;
constexpr size_t kMaxValues = 64;
constexpr double kMaxCombinations = 1 << 20;
// For a user's kernel: its space is searched and never listed whole.
constexpr size_t kMaxOwnValues = 4096;
constexpr double kMaxOwnCombinations = 0x1p62;
constexpr size_t kMaxOwnSourceNameBytes = 1024;
constexpr size_t kMaxExpressions = 64;
constexpr size_t kMaxLaunches = 16;
constexpr size_t kMaxArguments = 64;
constexpr size_t kMaxDimensions = 3;
constexpr size_t kMaxFunctionBytes = 256;
// Names of templates are long where a compiler has made one word of them.
constexpr size_t kMaxSymbolBytes = 4096;
constexpr int kVersionOfNameExpressions = 6;
constexpr int kVersionOfCooperativeLaunches = 8;
constexpr int kVersionOfRunTimeParameters = 9;
constexpr int kVersionOfClusters = 9;
constexpr int64_t kMaxVersion = 1000000;
constexpr std::string_view kOpenClExtension = ".cl";
constexpr std::string_view kCudaExtension = ".cu";
// For users' kernels alone, because their files may have any name.
constexpr std::string_view kOtherOpenClExtension = ".opencl";

Result<std::string> ReadSolverName(const JsonPlace& place) {
  ATTUNE_ASSIGN_OR_RETURN(std::string name, place.Text(kMaxNameBytes));
  const bool good = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
  if (!good) return place.Error(fmt::format("'{}' holds more than a-z, 0-9, '-' and '_'.", name));
  return name;
}

bool IsOwn(const KernelFile& file) { return file.operator_name == kOwnKernelOperator; }

bool Offers(const KernelFile& file, KernelLanguage language) {
  return std::find(file.languages.begin(), file.languages.end(), language) != file.languages.end();
}

Status CheckKeyOfVersion2(const JsonPlace& place, std::string_view key, const KernelFile& file) {
  return CheckKeyOfVersion(place, key, 2, file);
}

Result<KernelLanguage> ReadLanguage(const JsonPlace& place) {
  ATTUNE_ASSIGN_OR_RETURN(const std::string name, place.Text(kMaxNameBytes));
  for (const KernelLanguage language : kKernelLanguages) {
    if (Name(language) == name) return language;
  }
  return place.Error(fmt::format("'{}' is not a language of kernels: opencl, cuda.", name));
}

// One name, or a list of distinct ones.
Status ReadLanguages(const JsonPlace& place, KernelFile& file) {
  file.languages.clear();
  if (!place.value().is_array()) {
    ATTUNE_ASSIGN_OR_RETURN(const KernelLanguage only, ReadLanguage(place));
    file.languages.push_back(only);
    return Status::Ok();
  }
  ATTUNE_RETURN_IF_ERROR(place.CheckArray(1, std::size(kKernelLanguages)));
  for (size_t i = 0; i < place.Size(); ++i) {
    ATTUNE_ASSIGN_OR_RETURN(const KernelLanguage language, ReadLanguage(place.Element(i)));
    if (Offers(file, language)) {
      return place.Element(i).Error(fmt::format("'{}' stands twice.", Name(language)));
    }
    file.languages.push_back(language);
  }
  return Status::Ok();
}

// Only files beside the kernel file: a name cannot lead out of its folder, unless the file is a
// user's own. CUDA C++ is nothing that an OpenCL compiler reads.
Result<std::vector<std::string>> ReadSourceNames(const JsonPlace& place, const KernelFile& file) {
  ATTUNE_RETURN_IF_ERROR(place.CheckArray(1, kMaxSources));
  const bool may_be_cuda = !Offers(file, KernelLanguage::kOpenCl);
  std::vector<std::string> names;
  for (size_t i = 0; i < place.Size(); ++i) {
    ATTUNE_ASSIGN_OR_RETURN(
        std::string name,
        place.Element(i).Text(IsOwn(file) ? kMaxOwnSourceNameBytes : kMaxNameBytes));
    if (const Status source = RefuseCompiledCode(name, ""); !source.ok()) {
      return place.Element(i).Error(source.message());
    }
    const bool known = name.ends_with(kOpenClExtension) ||
                       (may_be_cuda && name.ends_with(kCudaExtension)) ||
                       (IsOwn(file) && name.ends_with(kOtherOpenClExtension));
    if ((name.find('/') != std::string::npos && !IsOwn(file)) || !known) {
      const char* const endings = IsOwn(file)
                                      ? (may_be_cuda ? ".cl, .opencl or .cu" : ".cl or .opencl")
                                      : (may_be_cuda ? ".cl or .cu" : ".cl");
      return place.Element(i).Error(fmt::format("'{}' is not the name of a {} file{}.", name,
                                                endings,
                                                IsOwn(file) ? "" : " in the folder of this file"));
    }
    names.push_back(std::move(name));
  }
  return names;
}

Status ReadSizeList(const JsonPlace& place, const FieldNames& fields, std::set<std::string>& seen,
                    std::vector<std::string>& names) {
  ATTUNE_RETURN_IF_ERROR(place.CheckArray(0, kMaxExpressions));
  for (size_t i = 0; i < place.Size(); ++i) {
    ATTUNE_ASSIGN_OR_RETURN(std::string name, place.Element(i).Identifier());
    const auto among = [&](const std::vector<std::string>& list) {
      return std::find(list.begin(), list.end(), name) != list.end();
    };
    if (!among(fields.sizes) && !among(fields.derived)) {
      return place.Element(i).Error(fmt::format("'{}' is not a size of this operator.", name));
    }
    if (!seen.insert(name).second) {
      return place.Element(i).Error(fmt::format("the size '{}' is declared twice.", name));
    }
    names.push_back(std::move(name));
  }
  return Status::Ok();
}

Status ReadSizes(const JsonPlace& place, const FieldNames& fields, KernelFile& file) {
  ATTUNE_RETURN_IF_ERROR(place.CheckObject({"run_time", "compile_time"}));
  std::set<std::string> seen;
  std::vector<std::string> run_time;
  ATTUNE_RETURN_IF_ERROR(ReadSizeList(place.Member("run_time"), fields, seen, run_time));
  ATTUNE_RETURN_IF_ERROR(
      ReadSizeList(place.Member("compile_time"), fields, seen, file.compile_time_sizes));
  for (const std::string& size : fields.sizes) {
    if (!seen.contains(size)) {
      return place.Error(
          fmt::format("the size '{}' is declared neither run_time nor compile_time.", size));
    }
  }
  // A derived size is fixed only if all that it follows from is.
  const auto fixed = [&](const std::string& size) {
    return std::find(file.compile_time_sizes.begin(), file.compile_time_sizes.end(), size) !=
           file.compile_time_sizes.end();
  };
  const bool all_fixed = std::all_of(fields.sizes.begin(), fields.sizes.end(), fixed);
  const auto derived = std::find_if(fields.derived.begin(), fields.derived.end(), fixed);
  if (!all_fixed && derived != fields.derived.end()) {
    return place.Member("compile_time")
        .Error(fmt::format(
            "'{}' follows from other sizes and can be compiled in only if all of them are.",
            *derived));
  }
  return Status::Ok();
}

Result<std::vector<ParameterValue>> ReadParameterValues(const JsonPlace& place,
                                                        const KernelFile& file) {
  ATTUNE_RETURN_IF_ERROR(place.CheckArray(1, IsOwn(file) ? kMaxOwnValues : kMaxValues));
  std::vector<ParameterValue> values;
  for (size_t i = 0; i < place.Size(); ++i) {
    ATTUNE_ASSIGN_OR_RETURN(ParameterValue value,
                            ReadParameterValue(place.Element(i), IsOwn(file)));
    values.push_back(std::move(value));
  }
  ATTUNE_RETURN_IF_ERROR(MakeOneKind(place, values));
  for (size_t i = 1; i < values.size(); ++i) {
    const auto here = values.begin() + static_cast<ptrdiff_t>(i);
    if (std::find(values.begin(), here, *here) != here) {
      return place.Element(i).Error(fmt::format("the value {} stands twice.", Text(*here)));
    }
  }
  return values;
}

// The values for each language, in the order of `file.languages`: one list for all, or an object
// with one for each.
Result<std::vector<std::vector<ParameterValue>>> ReadValuesOfLanguages(const JsonPlace& place,
                                                                       const KernelFile& file) {
  std::vector<std::vector<ParameterValue>> lists;
  const bool differ = file.format_version >= 2 && place.value().is_object();
  if (differ && place.Size() != file.languages.size()) {
    return place.Error("must have one list for each language of this file.");
  }
  for (const KernelLanguage language : file.languages) {
    if (differ && !place.Has(Name(language))) {
      return place.Error(fmt::format("has no list for '{}'.", Name(language)));
    }
    ATTUNE_ASSIGN_OR_RETURN(
        std::vector<ParameterValue> values,
        ReadParameterValues(differ ? place.Member(Name(language)) : place, file));
    lists.push_back(std::move(values));
  }
  return lists;
}

Status ReadParameters(const JsonPlace& place, KernelFile& file) {
  ATTUNE_RETURN_IF_ERROR(place.CheckArray(0, kMaxParameters));
  const double most = IsOwn(file) ? kMaxOwnCombinations : kMaxCombinations;
  std::vector<double> combinations(file.languages.size(), 1);
  for (size_t i = 0; i < place.Size(); ++i) {
    const JsonPlace element = place.Element(i);
    ATTUNE_RETURN_IF_ERROR(element.CheckObject({"name", "values"}, {"run_time"}));
    ATTUNE_RETURN_IF_ERROR(
        CheckKeyOfVersion(element, "run_time", kVersionOfRunTimeParameters, file));
    Parameter parameter;
    ATTUNE_ASSIGN_OR_RETURN(parameter.name, element.Member("name").Identifier());
    if (element.Has("run_time")) {
      ATTUNE_ASSIGN_OR_RETURN(const int64_t is_run_time, element.Member("run_time").Integer(0, 1));
      if (is_run_time == 1) file.run_time_parameters.push_back(parameter.name);
    }
    ATTUNE_ASSIGN_OR_RETURN(auto lists, ReadValuesOfLanguages(element.Member("values"), file));
    for (size_t language = 0; language < lists.size(); ++language) {
      combinations[language] *= static_cast<double>(lists[language].size());
      if (combinations[language] > most) {
        return element.Error(
            fmt::format("with this parameter there are {:.0f} combinations; {:.0f} are allowed.",
                        combinations[language], most));
      }
      if (file.languages[language] == file.language) parameter.values = std::move(lists[language]);
    }
    file.parameters.push_back(std::move(parameter));
  }
  return Status::Ok();
}

Result<std::vector<Expression>> ReadExpressions(const JsonPlace& place, size_t least, size_t most) {
  ATTUNE_RETURN_IF_ERROR(place.CheckArray(least, most));
  std::vector<Expression> expressions;
  for (size_t i = 0; i < place.Size(); ++i) {
    ATTUNE_ASSIGN_OR_RETURN(Expression expression, place.Element(i).ParsedExpression());
    expressions.push_back(std::move(expression));
  }
  return expressions;
}

Result<std::vector<NamedExpression>> ReadNamedExpressions(const JsonPlace& place) {
  ATTUNE_RETURN_IF_ERROR(place.CheckArray(0, kMaxExpressions));
  std::vector<NamedExpression> named;
  for (size_t i = 0; i < place.Size(); ++i) {
    const JsonPlace element = place.Element(i);
    ATTUNE_RETURN_IF_ERROR(element.CheckObject({"name", "value"}));
    ATTUNE_ASSIGN_OR_RETURN(std::string name, element.Member("name").Identifier());
    ATTUNE_ASSIGN_OR_RETURN(Expression value, element.Member("value").ParsedExpression());
    named.push_back({std::move(name), std::move(value)});
  }
  return named;
}

Result<KernelArgument> ReadArgument(const JsonPlace& place, const FieldNames& fields,
                                    const KernelFile& file) {
  using Kind = KernelArgument::Kind;
  static constexpr std::pair<std::string_view, Kind> kKinds[] = {
      {"operand", Kind::kOperand}, {"offset_of", Kind::kOffset},
      {"int", Kind::kInt},         {"long", Kind::kLong},
      {"float", Kind::kFloat},     {"double", Kind::kDouble},
      {"real", Kind::kReal},       {"local_bytes", Kind::kLocalBytes},
      {"bytes", Kind::kBytes}};
  ATTUNE_RETURN_IF_ERROR(place.CheckObject({}, {"operand", "offset_of", "int", "long", "float",
                                                "double", "real", "local_bytes", "bytes"}));
  ATTUNE_RETURN_IF_ERROR(CheckKeyOfVersion(place, "bytes", 4, file));
  if (place.Size() != 1) return place.Error("an argument has exactly one key, which is its kind.");
  const auto kind = std::find_if(std::begin(kKinds), std::end(kKinds),
                                 [&](const auto& entry) { return place.Has(entry.first); });
  const JsonPlace content = place.Member(kind->first);
  KernelArgument argument{.kind = kind->second, .name = "", .value = std::nullopt};
  if (argument.kind == Kind::kLocalBytes && Offers(file, KernelLanguage::kCuda)) {
    return content.Error(
        "is of OpenCL: a kernel in CUDA declares an array of fixed size, or takes 'shared_bytes'.");
  }
  if (argument.kind == Kind::kBytes) {
    ATTUNE_ASSIGN_OR_RETURN(argument.name, ReadArgumentBytes(content));
    return argument;
  }
  if (argument.kind != Kind::kOperand && argument.kind != Kind::kOffset) {
    ATTUNE_ASSIGN_OR_RETURN(Expression value, IsOwn(file) ? ReadNumberOrExpression(content)
                                                          : content.ParsedExpression());
    argument.value = std::move(value);
    return argument;
  }
  ATTUNE_ASSIGN_OR_RETURN(argument.name, content.Identifier());
  const bool known = argument.name == kWorkspaceName ||
                     std::find(fields.operands.begin(), fields.operands.end(), argument.name) !=
                         fields.operands.end();
  if (!known)
    return content.Error(fmt::format("'{}' is not an operand of this operator.", argument.name));
  return argument;
}

Result<std::string> ReadFunction(const JsonPlace& place, const KernelFile& file) {
  ATTUNE_ASSIGN_OR_RETURN(std::string name,
                          place.Text(file.is_binary ? kMaxSymbolBytes : kMaxFunctionBytes));
  if (file.is_binary) {
    if (IsSymbol(name)) return name;
    return place.Error(
        fmt::format("'{}' has to be what the binary calls it, a symbol as _Z5scalePf.", name));
  }
  if (name.find_first_of("<:") == std::string::npos) return place.Identifier();
  if (file.format_version < kVersionOfNameExpressions) {
    return place.Error(
        fmt::format("'{}' is a name of version {} of the format; this file is of version {}.", name,
                    kVersionOfNameExpressions, file.format_version));
  }
  if (Offers(file, KernelLanguage::kOpenCl)) {
    return place.Error(fmt::format(
        "'{}' is a kernel of CUDA C++, and OpenCL C has neither templates nor namespaces: say "
        "\"language\": \"cuda\", or name a kernel that is a C function.",
        name));
  }
  const std::string mistake = MistakeInNameExpression(name);
  if (!mistake.empty()) return place.Error(fmt::format("'{}' {}.", name, mistake));
  return name;
}

Result<std::vector<Expression>> ReadCluster(const JsonPlace& place, const KernelLaunch& launch,
                                            const KernelFile& file) {
  if (Offers(file, KernelLanguage::kOpenCl)) {
    return place.Error("is of CUDA: OpenCL has no clusters of work-groups.");
  }
  if (launch.cooperative) {
    return place.Error("does not go with 'cooperative': all work-groups wait for each other then.");
  }
  ATTUNE_ASSIGN_OR_RETURN(std::vector<Expression> extents,
                          ReadExpressions(place, 1, kMaxDimensions));
  if (extents.size() == launch.groups.size()) return extents;
  return place.Error(
      fmt::format("has {} dimensions but 'groups' has {}.", extents.size(), launch.groups.size()));
}

Result<KernelLaunch> ReadLaunch(const JsonPlace& place, const FieldNames& fields,
                                const KernelFile& file) {
  ATTUNE_RETURN_IF_ERROR(place.CheckObject({"function", "local", "groups", "arguments"},
                                           {"when", "shared_bytes", "cooperative", "cluster"}));
  ATTUNE_RETURN_IF_ERROR(CheckKeyOfVersion2(place, "shared_bytes", file));
  ATTUNE_RETURN_IF_ERROR(
      CheckKeyOfVersion(place, "cooperative", kVersionOfCooperativeLaunches, file));
  ATTUNE_RETURN_IF_ERROR(CheckKeyOfVersion(place, "cluster", kVersionOfClusters, file));
  KernelLaunch launch;
  ATTUNE_ASSIGN_OR_RETURN(launch.function, ReadFunction(place.Member("function"), file));
  if (place.Has("when")) {
    ATTUNE_ASSIGN_OR_RETURN(Expression when, place.Member("when").ParsedExpression());
    launch.when = std::move(when);
  }
  ATTUNE_ASSIGN_OR_RETURN(launch.local, ReadExpressions(place.Member("local"), 1, kMaxDimensions));
  ATTUNE_ASSIGN_OR_RETURN(launch.groups,
                          ReadExpressions(place.Member("groups"), 1, kMaxDimensions));
  if (launch.local.size() != launch.groups.size()) {
    return place.Member("groups").Error(fmt::format("has {} dimensions but 'local' has {}.",
                                                    launch.groups.size(), launch.local.size()));
  }
  if (place.Has("shared_bytes")) {
    const JsonPlace shared = place.Member("shared_bytes");
    if (Offers(file, KernelLanguage::kOpenCl)) {
      return shared.Error("is of CUDA: a kernel in OpenCL takes 'local_bytes' as an argument.");
    }
    ATTUNE_ASSIGN_OR_RETURN(Expression bytes, shared.ParsedExpression());
    launch.shared_bytes = std::move(bytes);
  }
  if (place.Has("cooperative")) {
    const JsonPlace cooperative = place.Member("cooperative");
    if (Offers(file, KernelLanguage::kOpenCl)) {
      return cooperative.Error("is of CUDA: work-groups of OpenCL cannot wait for each other.");
    }
    ATTUNE_ASSIGN_OR_RETURN(Expression is_cooperative, cooperative.ParsedExpression());
    launch.cooperative = std::move(is_cooperative);
  }
  if (place.Has("cluster")) {
    ATTUNE_ASSIGN_OR_RETURN(launch.cluster, ReadCluster(place.Member("cluster"), launch, file));
  }
  const JsonPlace arguments = place.Member("arguments");
  ATTUNE_RETURN_IF_ERROR(arguments.CheckArray(1, kMaxArguments));
  for (size_t i = 0; i < arguments.Size(); ++i) {
    ATTUNE_ASSIGN_OR_RETURN(KernelArgument argument,
                            ReadArgument(arguments.Element(i), fields, file));
    launch.arguments.push_back(std::move(argument));
  }
  return launch;
}

Result<std::vector<KernelLaunch>> ReadLaunches(const JsonPlace& place, const FieldNames& fields,
                                               const KernelFile& file) {
  ATTUNE_RETURN_IF_ERROR(place.CheckArray(1, kMaxLaunches));
  std::vector<KernelLaunch> launches;
  for (size_t i = 0; i < place.Size(); ++i) {
    ATTUNE_ASSIGN_OR_RETURN(KernelLaunch launch, ReadLaunch(place.Element(i), fields, file));
    launches.push_back(std::move(launch));
  }
  return launches;
}

// For the operator `kernel`, which describes its problem in more keys and needs no name.
Status CheckKeys(const JsonPlace& root) {
  const auto is_own = [&] {
    return root.value().is_object() && root.Has("operator") &&
           root.Member("operator").value() == kOwnKernelOperator;
  };
  if (root.value().is_object() && root.Has("attune_kernel_file") && !root.Has("operator")) {
    return root.Error(fmt::format(
        "the key 'operator' is missing: what the kernel computes ({}), or 'kernel' for a "
        "user's own.",
        fmt::join(OperatorNames(), ", ")));
  }
  if (is_own()) {
    const char* const code = root.Has("binary") ? "binary" : "sources";
    return root.CheckObject(
        {"attune_kernel_file", "name", "operator", code, "sizes", "operands", "parameters",
         "launches", "reference", "tolerance"},
        {"version", "description", "language", "expressions", "applies", "constraints", "cost",
         "definitions", "variables", "workspace_bytes", "compile_options", "figures"});
  }
  return root.CheckObject({"attune_kernel_file", "name", "version", "description", "operator",
                           "sources", "sizes", "parameters", "launches"},
                          {"language", "applies", "constraints", "cost", "definitions", "variables",
                           "workspace_bytes"});
}

// CUDA C++ is in one language alone.
bool IsWrittenInCuda(const JsonPlace& root) {
  if (!root.Has("sources")) return false;
  const nlohmann::json& sources = root.Member("sources").value();
  return sources.is_array() && !sources.empty() &&
         std::all_of(sources.begin(), sources.end(), [](const nlohmann::json& name) {
           return name.is_string() && name.get_ref<const std::string&>().ends_with(kCudaExtension);
         });
}

// Dialect of a user's kernel; its author may come from Python.
Result<ExpressionDialect> DialectOf(const JsonPlace& root) {
  if (!root.value().is_object() || !root.Has("expressions")) return ExpressionDialect::kC;
  ATTUNE_ASSIGN_OR_RETURN(const std::string name, root.Member("expressions").Text(kMaxNameBytes));
  if (name == "c") return ExpressionDialect::kC;
  if (name == "python") return ExpressionDialect::kPython;
  return root.Member("expressions").Error(fmt::format("'{}' is not c or python.", name));
}

Status ReadHead(const JsonPlace& root, KernelFile& file) {
  ATTUNE_RETURN_IF_ERROR(CheckKeys(root));
  const JsonPlace format = root.Member("attune_kernel_file");
  ATTUNE_ASSIGN_OR_RETURN(const int64_t format_version, format.Integer(1, kMaxVersion));
  if (format_version > KernelFile::kFormatVersion) {
    return format.Error(fmt::format("this program reads versions 1 to {} of the format, not {}.",
                                    KernelFile::kFormatVersion, format_version));
  }
  file.format_version = static_cast<int>(format_version);
  ATTUNE_RETURN_IF_ERROR(CheckKeyOfVersion2(root, "language", file));
  ATTUNE_RETURN_IF_ERROR(CheckKeyOfVersion2(root, "cost", file));
  ATTUNE_ASSIGN_OR_RETURN(file.operator_name, root.Member("operator").Text(kMaxNameBytes));
  if (IsOwn(file) && file.format_version < 3) {
    return root.Member("operator")
        .Error(fmt::format(
            "'kernel' is an operator of version 3 of the format; this file is of version "
            "{}.",
            file.format_version));
  }
  if (root.Has("language")) {
    ATTUNE_RETURN_IF_ERROR(ReadLanguages(root.Member("language"), file));
  } else if (IsOwn(file) && IsWrittenInCuda(root)) {
    file.languages = {KernelLanguage::kCuda};
  }
  if (!Offers(file, file.language)) {
    return Unsupported(
        fmt::format("/language: this kernel is not written in {}.", Name(file.language)));
  }
  ATTUNE_ASSIGN_OR_RETURN(file.name, ReadSolverName(root.Member("name")));
  if (root.Has("version")) {
    ATTUNE_ASSIGN_OR_RETURN(const int64_t version, root.Member("version").Integer(1, kMaxVersion));
    file.version = static_cast<int>(version);
  }
  file.description = "A kernel of its user's";
  if (root.Has("description")) {
    ATTUNE_ASSIGN_OR_RETURN(file.description,
                            root.Member("description").Text(kMaxDescriptionBytes));
  }
  if (root.Has("binary")) return ReadBinaryName(root, file);
  ATTUNE_ASSIGN_OR_RETURN(file.source_names, ReadSourceNames(root.Member("sources"), file));
  return Status::Ok();
}

Status ReadExpressionLists(const JsonPlace& root, KernelFile& file) {
  const auto read = [&](std::string_view key, std::vector<Expression>& into) -> Status {
    if (!root.Has(key)) return Status::Ok();
    ATTUNE_ASSIGN_OR_RETURN(into, ReadExpressions(root.Member(key), 0, kMaxExpressions));
    return Status::Ok();
  };
  const auto read_named = [&](std::string_view key, std::vector<NamedExpression>& into) -> Status {
    if (!root.Has(key)) return Status::Ok();
    ATTUNE_ASSIGN_OR_RETURN(into, ReadNamedExpressions(root.Member(key)));
    return Status::Ok();
  };
  ATTUNE_RETURN_IF_ERROR(read("applies", file.applies));
  ATTUNE_RETURN_IF_ERROR(read("constraints", file.constraints));
  ATTUNE_RETURN_IF_ERROR(read_named("definitions", file.definitions));
  ATTUNE_RETURN_IF_ERROR(read_named("variables", file.variables));
  const auto read_one = [&](std::string_view key, std::optional<Expression>& into) -> Status {
    if (!root.Has(key)) return Status::Ok();
    ATTUNE_ASSIGN_OR_RETURN(into, root.Member(key).ParsedExpression());
    return Status::Ok();
  };
  ATTUNE_RETURN_IF_ERROR(read_one("workspace_bytes", file.workspace_bytes));
  ATTUNE_RETURN_IF_ERROR(read_one("cost", file.cost));
  return Status::Ok();
}

}  // namespace

std::string_view Name(KernelLanguage language) {
  return language == KernelLanguage::kOpenCl ? "opencl" : "cuda";
}

std::string KernelFile::solver_name() const { return fmt::format("{}.{}", Name(language), name); }

std::vector<std::string> KernelFile::all_compile_options() const {
  if (is_binary) return {};
  const bool is_cuda = language == KernelLanguage::kCuda;
  const std::string standard = is_cuda ? "--std=" : "-cl-std=";
  std::vector<std::string> options = compile_options;
  if (std::none_of(options.begin(), options.end(),
                   [&](const std::string& option) { return option.starts_with(standard); })) {
    options.insert(options.begin(), standard + (is_cuda ? "c++17" : "CL1.2"));
  }
  return options;
}

Result<KernelFile> ParseKernelFile(std::string_view json, KernelLanguage language) {
  if (json.size() > kMaxKernelFileBytes) {
    return InvalidArgument(fmt::format("(the whole file): has {} bytes; {} are allowed.",
                                       json.size(), kMaxKernelFileBytes));
  }
  ATTUNE_ASSIGN_OR_RETURN(const nlohmann::json document, ReadJson(json, {kMaxDepth, false}));
  ATTUNE_ASSIGN_OR_RETURN(const ExpressionDialect dialect, DialectOf(JsonPlace(document)));
  const JsonPlace root(document, dialect);
  KernelFile file;
  file.language = language;
  ATTUNE_RETURN_IF_ERROR(ReadHead(root, file));
  if (!IsOwn(file) && FieldNamesOf(file.operator_name) == nullptr) {
    return root.Member("operator")
        .Error(fmt::format("'{}' is not an operator that kernel files compute: {}, kernel.",
                           file.operator_name, fmt::join(OperatorNames(), ", ")));
  }
  if (IsOwn(file)) ATTUNE_RETURN_IF_ERROR(ReadOwnKernel(root, file));
  const FieldNames fields = FieldNamesFor(file);
  if (!IsOwn(file)) ATTUNE_RETURN_IF_ERROR(ReadSizes(root.Member("sizes"), fields, file));
  ATTUNE_RETURN_IF_ERROR(ReadParameters(root.Member("parameters"), file));
  ATTUNE_RETURN_IF_ERROR(ReadExpressionLists(root, file));
  ATTUNE_ASSIGN_OR_RETURN(file.launches, ReadLaunches(root.Member("launches"), fields, file));
  if (IsOwn(file)) {
    const JsonPlace reference = root.Member("reference");
    ATTUNE_RETURN_IF_ERROR(ReadOwnReference(reference, file));
    if (reference.Has("launches")) {
      ATTUNE_ASSIGN_OR_RETURN(file.own->reference.launches,
                              ReadLaunches(reference.Member("launches"), fields, file));
    }
    ATTUNE_RETURN_IF_ERROR(CheckKeyOfVersion(root, "figures", 5, file));
    if (root.Has("figures")) {
      ATTUNE_RETURN_IF_ERROR(ReadOwnFigures(root.Member("figures"), file));
    }
  }
  ATTUNE_RETURN_IF_ERROR(CheckScopes(file, fields));
  return file;
}

}  // namespace attune::kernel
