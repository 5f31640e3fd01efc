#include "attune/kernel/capture/build_options.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <optional>
#include <system_error>

#include "attune/kernel/json_place.h"

namespace attune::capture {
namespace {

using kernel::IsIdentifier;

// Largest value of a parameter of a kernel file.
constexpr int64_t kMostParameter = 1 << 30;

// Blanks divide words; quotes and backslashes keep them together, as in a shell.
std::vector<std::string> WordsOf(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool is_in_word = false;
  char quote = '\0';
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != '\0') {
      if (c == quote) {
        quote = '\0';
      } else {
        word += c;
      }
    } else if (c == '"' || c == '\'') {
      quote = c;
      is_in_word = true;
    } else if (c == '\\' && i + 1 < text.size()) {
      word += text[++i];
      is_in_word = true;
    } else if (std::isspace(static_cast<unsigned char>(c)) == 0) {
      word += c;
      is_in_word = true;
    } else if (is_in_word) {
      words.push_back(std::move(word));
      word.clear();
      is_in_word = false;
    }
  }
  if (is_in_word) words.push_back(std::move(word));
  return words;
}

void Define(std::string_view text, BuildOptions& options) {
  const size_t equals = std::min(text.find('='), text.size());
  Macro macro{std::string(text.substr(0, equals)), "1"};
  if (equals < text.size()) macro.value = text.substr(equals + 1);
  std::erase_if(options.macros, [&](const Macro& known) { return known.name == macro.name; });
  options.macros.push_back(std::move(macro));
}

// True for options that attune passes to the compiler itself.
bool IsOurs(std::string_view word, std::string_view language) {
  if (language == "opencl") return word == "-cl-std=CL1.2" || word == "-cl-kernel-arg-info";
  for (const std::string_view ours : {"--gpu-architecture", "-arch", "--gpu-code", "-code"}) {
    if (word.starts_with(ours)) return true;
  }
  return word == "--std=c++17" || word == "-std=c++17";
}

class Reader {
 public:
  Reader(std::string_view language, std::string_view folder)
      : language_(language), folder_(folder) {}

  BuildOptions Read(std::string_view text) {
    const std::vector<std::string> words = WordsOf(text);
    for (size_t i = 0; i < words.size(); ++i) {
      if (IsWithArgument(words[i]) && i + 1 < words.size()) {
        Take(words[i], words[i + 1]);
        ++i;
      } else {
        Take(words[i]);
      }
    }
    return std::move(options_);
  }

 private:
  // "-D NAME=1" as well as "-DNAME=1".
  static bool IsWithArgument(std::string_view word) {
    return word == "-D" || word == "-I" || word == "-U" || word == "--define-macro" ||
           word == "--include-path" || word == "-x" || word == "-arch" ||
           word == "--gpu-architecture";
  }

  void Take(const std::string& name, const std::string& value) {
    if (name == "-D" || name == "--define-macro") {
      Define(value, options_);
    } else if (name == "-I" || name == "--include-path") {
      Include(value);
    } else if (!IsOurs(name, language_)) {
      Keep(name + (name == "-U" ? "" : "=") + value);
    }
  }

  void Take(const std::string& word) {
    // The last word lacks its argument.
    if (IsWithArgument(word)) return options_.left_out.push_back(word);
    for (const std::string_view define : {"--define-macro=", "-D"}) {
      if (word.starts_with(define)) return Define(word.substr(define.size()), options_);
    }
    for (const std::string_view include : {"--include-path=", "-I"}) {
      if (word.starts_with(include)) return Include(word.substr(include.size()));
    }
    if (!IsOurs(word, language_)) Keep(word);
  }

  void Include(const std::string& path) {
    Keep("-I" + (std::filesystem::path(folder_) / path).lexically_normal().string());
  }

  void Keep(const std::string& word) {
    const bool is_word =
        word.starts_with('-') &&
        std::all_of(word.begin(), word.end(), [](unsigned char c) { return std::isgraph(c) != 0; });
    (is_word ? options_.further : options_.left_out).push_back(word);
  }

  const std::string_view language_;
  const std::string folder_;
  BuildOptions options_;
};

}  // namespace

BuildOptions TakeApart(std::string_view text, std::string_view language, std::string_view folder) {
  return Reader(language, folder).Read(text);
}

std::optional<ParameterValue> ParameterOf(const Macro& macro) {
  if (!IsIdentifier(macro.name)) return std::nullopt;
  if (IsIdentifier(macro.value)) return ParameterValue(macro.value);
  const char* const end = macro.value.data() + macro.value.size();
  int64_t integer = 0;
  const auto [stop, error] = std::from_chars(macro.value.data(), end, integer);
  if (error == std::errc() && stop == end && std::abs(integer) <= kMostParameter &&
      std::to_string(integer) == macro.value) {
    return ParameterValue(integer);
  }
  double real = 0;
  const auto [stopped, failed] = std::from_chars(macro.value.data(), end, real);
  const bool is_real = failed == std::errc() && stopped == end && std::isfinite(real) &&
                       macro.value.find_first_of(".eE") != std::string::npos;
  return is_real ? std::optional<ParameterValue>(real) : std::nullopt;
}

}  // namespace attune::capture
