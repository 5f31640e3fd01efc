// A kernel of the program's own, described in C++ and written as a kernel file.
#ifndef ATTUNE_KERNEL_DESCRIPTION_HPP_
#define ATTUNE_KERNEL_DESCRIPTION_HPP_

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace attune {
inline namespace v1 {

// A kernel file made in code (docs/formats/kernel_file.md explains every part). Texts are
// expressions of sizes and parameters. Not thread-safe.
class KernelDescription {
 public:
  // "opencl" or "cuda".
  KernelDescription(std::string name, std::string source, std::string language = "opencl")
      : name_(std::move(name)), source_(std::move(source)), language_(std::move(language)) {}

  // A size that the kernel gets as an argument, and its usual value.
  KernelDescription& Size(const std::string& name, std::int64_t usual) {
    run_time_.push_back(Quoted(name));
    usual_.push_back(Quoted(name) + ": " + std::to_string(usual));
    return *this;
  }
  // One that is compiled in, as a macro in capitals.
  KernelDescription& CompiledSize(const std::string& name, std::int64_t usual) {
    compile_time_.push_back(Quoted(name));
    usual_.push_back(Quoted(name) + ": " + std::to_string(usual));
    return *this;
  }
  // Values of a macro of that name; the first is the default.
  KernelDescription& Parameter(const std::string& name, const std::vector<std::int64_t>& values) {
    std::vector<std::string> texts;
    for (const std::int64_t value : values) texts.push_back(std::to_string(value));
    return ParameterOf(name, texts);
  }
  // Real numbers, and names of C ("float"): methods of their own, because {1, 2} may be either kind
  // of number.
  KernelDescription& RealParameter(const std::string& name, const std::vector<double>& values) {
    std::vector<std::string> texts;
    for (const double value : values) {
      const std::string text = Number(value);
      const bool is_whole = text.find_first_of(".en") == std::string::npos;
      texts.push_back(is_whole ? text + ".0" : text);
    }
    return ParameterOf(name, texts);
  }
  KernelDescription& NameParameter(const std::string& name,
                                   const std::vector<std::string>& values) {
    return ParameterOf(name, AllQuoted(values));
  }
  KernelDescription& Constraint(const std::string& expression) {
    constraints_.push_back(Quoted(expression));
    return *this;
  }
  // An operand that is read, written or both, of `type` ("f32") and `shape`; each is the next
  // argument of the kernel.
  KernelDescription& In(const std::string& name, const std::string& type,
                        const std::vector<std::string>& shape) {
    return Operand(name, type, shape, "in");
  }
  KernelDescription& Out(const std::string& name, const std::string& type,
                         const std::vector<std::string>& shape) {
    return Operand(name, type, shape, "out");
  }
  KernelDescription& InOut(const std::string& name, const std::string& type,
                           const std::vector<std::string>& shape) {
    return Operand(name, type, shape, "inout");
  }
  // The next argument: a scalar of C type "int", "long", "float" or "double".
  KernelDescription& Scalar(const std::string& type, const std::string& expression) {
    arguments_.push_back("{" + Quoted(type) + ": " + Quoted(expression) + "}");
    return *this;
  }
  // Work-items of a work-group and work-groups, in each dimension. In CUDA, `function` may be an
  // instance of a template: "scale<float, BLOCK>".
  KernelDescription& Launch(const std::string& function, const std::vector<std::string>& local,
                            const std::vector<std::string>& groups) {
    function_ = function;
    local_ = AllQuoted(local);
    groups_ = AllQuoted(groups);
    return *this;
  }
  // A result is right if it differs by at most absolute + relative |reference| from that of the
  // default config.
  KernelDescription& Tolerance(double absolute, double relative) {
    absolute_ = absolute;
    relative_ = relative;
    return *this;
  }

  std::string Json() const {
    // Uses the lowest version that has all keys used: a file that changes is another kernel.
    const bool is_c_name = function_.find_first_of("<:") == std::string::npos;
    return std::string("{\n  \"attune_kernel_file\": ") + (is_c_name ? "3" : "6") +
           ", \"name\": " + Quoted(name_) +
           ", \"operator\": \"kernel\", \"language\": " + Quoted(language_) +
           ",\n  \"sources\": [" + Quoted(SourceName()) +
           "],\n  \"sizes\": {\"run_time\": " + List(run_time_) +
           ", \"compile_time\": " + List(compile_time_) + ", \"usual\": {" + Joined(usual_) +
           "}},\n  \"operands\": " + List(operands_) + ",\n  \"parameters\": " + List(parameters_) +
           ",\n  \"constraints\": " + List(constraints_) +
           ",\n  \"launches\": [{\"function\": " + Quoted(function_) +
           ", \"local\": " + List(local_) + ", \"groups\": " + List(groups_) +
           ", \"arguments\": " + List(arguments_) +
           "}],\n  \"reference\": {\"config\": {}}, \"tolerance\": " + "{\"absolute\": " +
           Number(absolute_) + ", \"relative\": " + Number(relative_) + "}\n}\n";
  }

  // Writes FOLDER/NAME.json and its source, which must stay there as long as the kernel is used;
  // files with the same content are left alone. Returns the path. Throws std::runtime_error with
  // the reason.
  std::string Write(const std::string& folder) const {
    Keep(folder + "/" + SourceName(), source_);
    std::string path = folder + "/" + name_ + ".json";
    Keep(path, Json());
    return path;
  }

 private:
  static std::string Quoted(const std::string& text) {
    std::string quoted = "\"";
    for (const char c : text) {
      if (c == '"' || c == '\\') quoted += '\\';
      if (static_cast<unsigned char>(c) < 0x20) {
        char escaped[8];
        std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c));
        quoted += escaped;
      } else {
        quoted += c;
      }
    }
    return quoted + "\"";
  }
  static std::vector<std::string> AllQuoted(std::vector<std::string> texts) {
    for (std::string& text : texts) text = Quoted(text);
    return texts;
  }
  static std::string Joined(const std::vector<std::string>& texts) {
    std::string joined;
    for (const std::string& text : texts) joined += (joined.empty() ? "" : ", ") + text;
    return joined;
  }
  static std::string List(const std::vector<std::string>& texts) {
    return "[" + Joined(texts) + "]";
  }
  // Independent of the locale.
  static std::string Number(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.17g", value);
    for (char& c : text) {
      if (c == ',') c = '.';
    }
    return text;
  }
  static void Keep(const std::string& path, const std::string& content) {
    std::ifstream is_there(path, std::ios::binary);
    const std::string known((std::istreambuf_iterator<char>(is_there)),
                            std::istreambuf_iterator<char>());
    if (is_there && known == content) return;
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file << content << std::flush;
    if (!file) throw std::runtime_error("Cannot write " + path + ".");
  }

  KernelDescription& ParameterOf(const std::string& name, const std::vector<std::string>& values) {
    parameters_.push_back("{\"name\": " + Quoted(name) + ", \"values\": " + List(values) + "}");
    return *this;
  }
  std::string SourceName() const { return name_ + (language_ == "cuda" ? ".cu" : ".cl"); }
  KernelDescription& Operand(const std::string& name, const std::string& type,
                             const std::vector<std::string>& shape, const std::string& access) {
    operands_.push_back("{\"name\": " + Quoted(name) + ", \"type\": " + Quoted(type) +
                        ", \"shape\": " + List(AllQuoted(shape)) +
                        ", \"access\": " + Quoted(access) + "}");
    arguments_.push_back("{\"operand\": " + Quoted(name) + "}");
    return *this;
  }

  std::string name_;
  std::string source_;
  std::string language_;
  std::vector<std::string> run_time_;
  std::vector<std::string> compile_time_;
  std::vector<std::string> usual_;
  std::vector<std::string> parameters_;
  std::vector<std::string> constraints_;
  std::vector<std::string> operands_;
  std::vector<std::string> arguments_;
  std::string function_;
  std::vector<std::string> local_;
  std::vector<std::string> groups_;
  double absolute_ = 1e-4;
  double relative_ = 1e-4;
};

}  // namespace v1
}  // namespace attune

#endif  // ATTUNE_KERNEL_DESCRIPTION_HPP_
