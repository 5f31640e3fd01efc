#include "attune/tuner/own_kernel/wisdom_text.h"

#include <algorithm>
#include <cctype>
#include <regex>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "attune/kernel/kernel_plan.h"
#include "attune/kernel/own_kernel.h"

namespace attune {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kWisdomVersion = 2;

// Keywords of C and C++.
constexpr std::string_view kKeywords[] = {"alignas",
                                          "alignof",
                                          "and",
                                          "and_eq",
                                          "asm",
                                          "auto",
                                          "bitand",
                                          "bitor",
                                          "bool",
                                          "break",
                                          "case",
                                          "catch",
                                          "char",
                                          "char8_t",
                                          "char16_t",
                                          "char32_t",
                                          "class",
                                          "compl",
                                          "concept",
                                          "const",
                                          "consteval",
                                          "constexpr",
                                          "constinit",
                                          "const_cast",
                                          "continue",
                                          "co_await",
                                          "co_return",
                                          "co_yield",
                                          "decltype",
                                          "default",
                                          "delete",
                                          "do",
                                          "double",
                                          "dynamic_cast",
                                          "else",
                                          "enum",
                                          "explicit",
                                          "export",
                                          "extern",
                                          "false",
                                          "float",
                                          "for",
                                          "friend",
                                          "goto",
                                          "if",
                                          "inline",
                                          "int",
                                          "long",
                                          "mutable",
                                          "namespace",
                                          "new",
                                          "noexcept",
                                          "not",
                                          "not_eq",
                                          "nullptr",
                                          "operator",
                                          "or",
                                          "or_eq",
                                          "private",
                                          "protected",
                                          "public",
                                          "register",
                                          "reinterpret_cast",
                                          "requires",
                                          "restrict",
                                          "return",
                                          "short",
                                          "signed",
                                          "sizeof",
                                          "static",
                                          "static_assert",
                                          "static_cast",
                                          "struct",
                                          "switch",
                                          "template",
                                          "this",
                                          "thread_local",
                                          "throw",
                                          "true",
                                          "try",
                                          "typedef",
                                          "typeid",
                                          "typename",
                                          "typeof",
                                          "union",
                                          "unsigned",
                                          "using",
                                          "virtual",
                                          "void",
                                          "volatile",
                                          "wchar_t",
                                          "while",
                                          "xor",
                                          "xor_eq"};

// True if the headers that the header includes, or compilers themselves, define `name` as a macro
// without arguments: macros with arguments do not affect a member. Names that are reserved for them
// always count.
bool IsMacro(const std::string& name) {
  static const std::regex kMacros(
      "__.*|_[A-Z].*|NULL|NAN|INFINITY|MAXFLOAT|SNAN[FLX0-9]*|HUGE_VAL[FLX0-9_]*|"
      "MATH_ERRNO|MATH_ERREXCEPT|math_errhandling|"
      "FP_(NAN|INFINITE|ZERO|SUBNORMAL|NORMAL|FAST_FMA[FLX0-9]*|L?LOGB0|L?LOGBNAN|ILOGB0|ILOGBNAN|"
      "INT_[A-Z]+)|"
      "M_(E|LOG2E|LOG10E|LN2|LN10|PI|PI_2|PI_4|1_PI|2_PI|2_SQRTPI|SQRT2|SQRT1_2)(l|f[0-9x]*)?|"
      // Macros of C++ libraries' <math.h>, which includes <stdlib.h>.
      "EXIT_SUCCESS|EXIT_FAILURE|RAND_MAX|MB_CUR_MAX|FD_SETSIZE|NFDBITS|"
      "(BIG|LITTLE|PDP)_ENDIAN|BYTE_ORDER|W(NOHANG|UNTRACED|STOPPED|EXITED|CONTINUED|NOWAIT)|"
      // Macros of compilers that speak GNU's dialect.
      "linux|unix|i386");
  return std::regex_match(name, kMacros);
}

// Members of every choice beside sizes and parameters.
constexpr std::string_view kMembers[] = {"device",       "defines",        "compile_options",
                                         "launch_count", "launches",       "workspace_bytes",
                                         "time_ns",      "default_time_ns"};

struct PlannedSize {
  const TunedSize* tuned = nullptr;
  kernel::KernelPlan plan;
  std::string defines;  // Lines before the source.
};

Result<std::vector<PlannedSize>> PlansOf(const Wisdom& wisdom) {
  // The lines alone.
  kernel::KernelFile bare = *wisdom.file;
  bare.prelude = "";
  bare.source.clear();
  std::vector<PlannedSize> planned;
  for (const TunedSize& tuned : wisdom.tuned) {
    ATTUNE_ASSIGN_OR_RETURN(const Problem problem,
                            kernel::MakeOwnProblem(*wisdom.file, tuned.sizes));
    PlannedSize size;
    size.tuned = &tuned;
    ATTUNE_ASSIGN_OR_RETURN(size.plan, kernel::MakePlan(*wisdom.file, problem, tuned.config));
    ATTUNE_ASSIGN_OR_RETURN(size.defines, kernel::MakeSource(bare, problem, tuned.config));
    planned.push_back(std::move(size));
  }
  return planned;
}

Json ValueJson(const ParameterValue& value) {
  return std::visit([](const auto& held) { return Json(held); }, value);
}

Json LaunchJson(const kernel::PlannedLaunch& launch) {
  return {{"function", launch.function},
          {"local", launch.local},
          {"groups", launch.groups},
          {"shared_bytes", launch.shared_bytes}};
}

std::string Identifier(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

std::string CString(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      quoted += "\\n";
    } else if (c == '"' || c == '\\') {
      quoted += {'\\', c};
    } else if (byte < 0x20 || byte >= 0x7f) {
      quoted += fmt::format("\\{:03o}", byte);
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

std::string CValue(const ParameterValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return CString(*text);
  return Text(value);
}

// The C type of all values of a parameter.
Result<std::string_view> CType(const Parameter& parameter) {
  bool has_text = false;
  bool has_real = false;
  bool has_number = false;
  for (const ParameterValue& value : parameter.values) {
    has_text = has_text || std::holds_alternative<std::string>(value);
    has_real = has_real || std::holds_alternative<double>(value);
    has_number = has_number || !std::holds_alternative<std::string>(value);
  }
  if (has_text && has_number) {
    return Unsupported(fmt::format(
        "The parameter '{}' has words and numbers, for which a header has no type. Write JSON.",
        parameter.name));
  }
  return has_text ? "const char*" : has_real ? "double" : "long long";
}

// Three dimensions; missing ones are 1.
std::string Dimensions(std::vector<int64_t> extents) {
  extents.resize(3, 1);
  return fmt::format("{{{}}}", fmt::join(extents, ", "));
}

Status CheckNames(const Wisdom& wisdom) {
  const auto check = [](std::string_view what, const std::string& name) -> Status {
    const bool is_keyword = std::ranges::find(kKeywords, name) != std::end(kKeywords);
    const bool is_member = std::ranges::find(kMembers, name) != std::end(kMembers);
    if (!is_keyword && !is_member && !IsMacro(name)) return Status::Ok();
    return Unsupported(fmt::format("The {} '{}' is {}, and a header cannot name it. Write JSON.",
                                   what, name,
                                   is_keyword  ? "a keyword of C or C++"
                                   : is_member ? "a member of every choice"
                                               : "a macro of <math.h> or a compiler's"));
  };
  for (const std::string& size : wisdom.file->own->sizes) {
    ATTUNE_RETURN_IF_ERROR(check("size", size));
  }
  for (const Parameter& parameter : wisdom.file->parameters) {
    ATTUNE_RETURN_IF_ERROR(check("parameter", parameter.name));
    ATTUNE_RETURN_IF_ERROR(CType(parameter).status());
  }
  return Status::Ok();
}

std::string StructText(const Wisdom& wisdom, const std::string& name, size_t launches) {
  std::string text = fmt::format("struct attune_{}_choice {{\n  const char* device;\n", name);
  for (const std::string& size : wisdom.file->own->sizes) {
    text += fmt::format("  long long {}; /* a size */\n", size);
  }
  for (const Parameter& parameter : wisdom.file->parameters) {
    text += fmt::format("  {} {}; /* a parameter */\n", CType(parameter).value(), parameter.name);
  }
  text += "  const char* defines; /* lines in front of the source */\n";
  text += "  const char* compile_options; /* parted by blanks */\n";
  text += "  int launch_count;\n";
  text += fmt::format(
      "  struct {{\n    const char* function;\n    long long local[3];\n    long long groups[3]; "
      "/* for these sizes */\n    long long shared_bytes;\n  }} launches[{}];\n",
      launches);
  text += "  long long workspace_bytes; /* for these sizes */\n";
  return text + "  double time_ns;\n  double default_time_ns;\n};\n\n";
}

std::string ChoiceText(const Wisdom& wisdom, const PlannedSize& size) {
  std::string text = fmt::format("  {{{}", CString(wisdom.device.device));
  for (const std::string& name : wisdom.file->own->sizes) {
    text += fmt::format(", {}", size.tuned->sizes.at(name));
  }
  for (const Parameter& parameter : wisdom.file->parameters) {
    text += ", " + CValue(size.tuned->config.at(parameter.name));
  }
  text +=
      fmt::format(",\n   {},\n   {},\n   {}, {{", CString(size.defines),
                  CString(fmt::format("{}", fmt::join(wisdom.file->all_compile_options(), " "))),
                  size.plan.launches.size());
  std::string separator;
  for (const kernel::PlannedLaunch& launch : size.plan.launches) {
    text += fmt::format("{}{{{}, {}, {}, {}}}", separator, CString(launch.function),
                        Dimensions(launch.local), Dimensions(launch.groups), launch.shared_bytes);
    separator = ", ";
  }
  return text + fmt::format("}},\n   {}, {}, {}}},\n", size.plan.workspace_bytes,
                            size.tuned->time_ns, size.tuned->default_time_ns);
}

// A function that finds the nearest choice as SizeDistance does.
std::string ChooserText(const Wisdom& wisdom, const std::string& name) {
  std::string parameters;
  std::string distance;
  for (const std::string& size : wisdom.file->own->sizes) {
    parameters += fmt::format(", long long {}_", size);
    distance += fmt::format(
        "    d = log2(1.0 + (double){0}_) - log2(1.0 + (double)choice->{0});\n    sum += d * d;\n",
        size);
  }
  return fmt::format(
      "/* The choice of that very size, else of the nearest, whose groups are its own; a device "
      "that "
      "is\n   not there has none. */\n"
      "static inline const struct attune_{0}_choice* attune_{0}_choose(const char* device{1}) {{\n"
      "  const struct attune_{0}_choice* best = 0;\n"
      "  double least = 0;\n"
      "  size_t i;\n"
      "  for (i = 0; i < sizeof(attune_{0}_choices) / sizeof(attune_{0}_choices[0]); ++i) {{\n"
      "    const struct attune_{0}_choice* choice = &attune_{0}_choices[i];\n"
      "    double sum = 0, d = 0;\n"
      "    if (strcmp(choice->device, device) != 0) continue;\n"
      "{2}"
      "    (void)d;\n"
      "    if (best == 0 || sum < least) {{\n      best = choice;\n      least = sum;\n    }}\n"
      "  }}\n"
      "  return best;\n"
      "}}\n\n",
      name, parameters, distance);
}

}  // namespace

Result<std::string> WisdomJson(const Wisdom& wisdom) {
  ATTUNE_ASSIGN_OR_RETURN(const auto planned, PlansOf(wisdom));
  Json choices = Json::array();
  for (const PlannedSize& size : planned) {
    Json sizes = Json::object();
    for (const auto& [name, value] : size.tuned->sizes) sizes[name] = value;
    Json config = Json::object();
    for (const auto& [name, value] : size.tuned->config) config[name] = ValueJson(value);
    Json launches = Json::array();
    for (const auto& launch : size.plan.launches) launches.push_back(LaunchJson(launch));
    choices.push_back({{"sizes", std::move(sizes)},
                       {"config", std::move(config)},
                       {"defines", size.defines},
                       {"launches", std::move(launches)},
                       {"workspace_bytes", size.plan.workspace_bytes},
                       {"time_ns", size.tuned->time_ns},
                       {"default_time_ns", size.tuned->default_time_ns}});
  }
  const Json document = {{"attune_wisdom", kWisdomVersion},
                         {"kernel", wisdom.file->own->name},
                         {"content", wisdom.file->own->content.ToHex()},
                         {"language", std::string(Name(wisdom.file->language))},
                         {"sources", wisdom.file->source_names},
                         {"compile_options", wisdom.file->all_compile_options()},
                         {"device", wisdom.device.device},
                         {"arch", wisdom.device.arch},
                         {"choices", std::move(choices)}};
  return document.dump(2) + "\n";
}

Result<std::string> WisdomHeader(const Wisdom& wisdom) {
  ATTUNE_RETURN_IF_ERROR(CheckNames(wisdom));
  if (wisdom.tuned.empty()) return Unsupported("A header of no choices is no C.");
  ATTUNE_ASSIGN_OR_RETURN(const auto planned, PlansOf(wisdom));
  const std::string name = Identifier(wisdom.file->own->name);
  std::string guard = "ATTUNE_WISDOM_" + name + "_H_";
  std::transform(guard.begin(), guard.end(), guard.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  size_t launches = 1;
  for (const auto& size : planned) launches = std::max(launches, size.plan.launches.size());
  std::string text = fmt::format(
      "/* The kernel {} of content {}, as attune tuned it: version {} of such headers. */\n"
      "#ifndef {}\n#define {}\n#include <math.h>\n#include <stddef.h>\n#include <string.h>\n\n",
      wisdom.file->own->name, wisdom.file->own->content.ToHex(), kWisdomVersion, guard, guard);
  text += StructText(wisdom, name, launches);
  text += fmt::format("static const struct attune_{0}_choice attune_{0}_choices[] = {{\n", name);
  for (const PlannedSize& size : planned) text += ChoiceText(wisdom, size);
  text += "};\n\n";
  return text + ChooserText(wisdom, name) + fmt::format("#endif /* {} */\n", guard);
}

}  // namespace attune
