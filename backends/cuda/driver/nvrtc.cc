#include "backends/cuda/driver/nvrtc.h"

#include <algorithm>
#include <memory>
#include <sstream>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "backends/cuda/kernel/instances.h"
#include "backends/host/shared_library.h"

namespace attune::cuda {
namespace {

// Newest first: a cubin of any of them runs on a driver of the same major version.
const std::vector<std::string> kFileNames = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
constexpr size_t kMaxLogBytes = 32768;

std::vector<std::string> Words(const std::string& text) {
  std::istringstream words(text);
  std::vector<std::string> found;
  for (std::string word; words >> word;) found.push_back(std::move(word));
  return found;
}

// A program that is destroyed when it goes out of scope.
class Program {
 public:
  explicit Program(const Nvrtc& nvrtc) : nvrtc_(nvrtc) {}
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() {
    if (program_ != nullptr) nvrtc_.nvrtcDestroyProgram(&program_);
  }

  Status Create(const std::string& source) {
    return Check(
        nvrtc_.nvrtcCreateProgram(&program_, source.c_str(), "kernel.cu", 0, nullptr, nullptr),
        "cannot take the source");
  }

  // Before compilation: requests a kernel by name expression.
  Status Want(const std::string& name_expression) {
    return Check(nvrtc_.nvrtcAddNameExpression(program_, name_expression.c_str()),
                 "does not take the name of a kernel");
  }

  Status Compile(const std::vector<std::string>& options) {
    std::vector<const char*> pointers;
    for (const std::string& option : options) pointers.push_back(option.c_str());
    const nvrtcResult code =
        nvrtc_.nvrtcCompileProgram(program_, static_cast<int>(pointers.size()), pointers.data());
    if (code == NVRTC_SUCCESS) return Status::Ok();
    const std::string message =
        fmt::format("NVRTC {} cannot compile with '{}': {}.\n{}", nvrtc_.report.version,
                    fmt::join(options, " "), nvrtc_.nvrtcGetErrorString(code), Log());
    return code == NVRTC_ERROR_INVALID_OPTION ? Unsupported(message) : InvalidArgument(message);
  }

  Result<std::string> Cubin() {
    size_t size = 0;
    ATTUNE_RETURN_IF_ERROR(Check(nvrtc_.nvrtcGetCUBINSize(program_, &size), "has no machine code"));
    std::string bytes(size, '\0');
    ATTUNE_RETURN_IF_ERROR(
        Check(nvrtc_.nvrtcGetCUBIN(program_, bytes.data()), "does not give its machine code"));
    return bytes;
  }

  // The symbol in the code of a requested kernel.
  Result<std::string> SymbolOf(const std::string& name_expression) const {
    const char* symbol = nullptr;
    ATTUNE_RETURN_IF_ERROR(
        Check(nvrtc_.nvrtcGetLoweredName(program_, name_expression.c_str(), &symbol),
              fmt::format("does not tell what '{}' is called", name_expression)));
    return std::string(symbol);
  }

  std::string Log() const {
    size_t size = 0;
    if (nvrtc_.nvrtcGetProgramLogSize(program_, &size) != NVRTC_SUCCESS || size == 0) return "";
    std::string log(size, '\0');
    if (nvrtc_.nvrtcGetProgramLog(program_, log.data()) != NVRTC_SUCCESS) return "";
    log.resize(std::min(log.find('\0'), kMaxLogBytes));
    return log;
  }

 private:
  Status Check(nvrtcResult code, std::string_view what) const {
    if (code == NVRTC_SUCCESS) return Status::Ok();
    return Internal(fmt::format("NVRTC {} {}: {}.", nvrtc_.report.version, what,
                                nvrtc_.nvrtcGetErrorString(code)));
  }

  const Nvrtc& nvrtc_;
  nvrtcProgram program_ = nullptr;
};

}  // namespace

Nvrtc::Nvrtc() {
  report.name = "nvrtc";
  const Result<host::SharedLibrary> library = host::SharedLibrary::Open(kFileNames);
  if (!library.ok()) {
    report.missing = fmt::format(
        "{} The CUDA toolkit brings it (package cuda-nvrtc-13-0, or PyPI's nvidia-cuda-nvrtc).",
        library.error().message());
    return;
  }
  report.path = library->path();
  report.build_id = library->build_id();
  bool complete = true;
#define ATTUNE_NVRTC_FIND(NAME)                                  \
  NAME = reinterpret_cast<decltype(NAME)>(library->Find(#NAME)); \
  complete = complete && NAME != nullptr;
  ATTUNE_NVRTC_FUNCTIONS(ATTUNE_NVRTC_FIND)
#undef ATTUNE_NVRTC_FIND
  int major = 0;
  int minor = 0;
  if (complete && nvrtcVersion(&major, &minor) == NVRTC_SUCCESS) {
    report.version = fmt::format("{}.{}", major, minor);
    report.available = true;
  } else {
    report.missing = fmt::format("{} lacks a function of NVRTC 12 or later.", library->path());
  }
}

// Code for Hopper runs on no other architecture in either case.
std::string CompilerArch(const std::string& arch) { return arch == "sm_90" ? "sm_90a" : arch; }

Result<BuildRecipe> MakeRecipe(const Nvrtc& nvrtc, std::string source, std::string options,
                               const std::string& arch) {
  if (!nvrtc.available()) return Unavailable(nvrtc.report.missing);
  BuildRecipe recipe;
  recipe.source = std::move(source);
  recipe.options = std::move(options);
  recipe.compiler = fmt::format("nvrtc {} {}", nvrtc.report.version, nvrtc.report.build_id);
  recipe.target = arch;
  return recipe;
}

Result<Artifact> BuildCubin(const Nvrtc& nvrtc, const BuildRecipe& recipe) {
  if (!nvrtc.available()) return Unavailable(nvrtc.report.missing);
  Program program(nvrtc);
  ATTUNE_RETURN_IF_ERROR(program.Create(recipe.source));
  std::vector<std::string> options = {"--gpu-architecture=" + CompilerArch(recipe.target)};
  const InstanceOptions given = Divided(recipe.options);
  for (std::string& option : Words(given.options)) options.push_back(std::move(option));
  // NVRTC takes one standard.
  const bool has_standard =
      std::any_of(options.begin(), options.end(), [](const std::string& option) {
        return option.starts_with("--std=") || option.starts_with("-std=");
      });
  if (!has_standard) options.emplace_back("--std=c++17");
  for (const std::string& name : given.name_expressions) {
    ATTUNE_RETURN_IF_ERROR(program.Want(name));
  }
  ATTUNE_RETURN_IF_ERROR(program.Compile(options));
  ATTUNE_ASSIGN_OR_RETURN(std::string bytes, program.Cubin());
  Symbols symbols;
  for (const std::string& name : given.name_expressions) {
    ATTUNE_ASSIGN_OR_RETURN(std::string symbol, program.SymbolOf(name));
    symbols.emplace_back(name, std::move(symbol));
  }
  return Artifact{WithSymbols(std::move(bytes), symbols), program.Log()};
}

}  // namespace attune::cuda
