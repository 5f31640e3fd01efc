// The origin of the kernels of a CUDA program: NVRTC compiles a source, the driver loads the
// result, and the program looks up a function by its name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "extensions/interposers/capture/cuda_api.h"

namespace attune::capture {

// The inputs of NVRTC.
struct CudaSource {
  std::string text;
  std::string options;
  std::vector<std::pair<std::string, std::string>> headers;  // Name and text.
  // Requested name expressions ("scale<float, 16>"), by the compiler's symbol.
  std::map<std::string, std::string> name_expressions;
};

struct CudaFunction {
  std::string name;                          // The source's name, as far as known.
  std::shared_ptr<const CudaSource> source;  // Null: unseen. Shared by its functions.
  std::shared_ptr<const std::string> image;  // Without a source: the loaded image. May be null.
  uint64_t code = 0;  // A hash of the source, else of the loaded image, or its address.
};

// Thread-safe.
class CudaObjects {
 public:
  void AddProgram(nvrtcProgram program, CudaSource source);
  void SetOptions(nvrtcProgram program, std::string options);
  // `program` was asked for this kernel.
  void AddNameExpression(nvrtcProgram program, std::string name_expression);
  void RemoveProgram(nvrtcProgram program);
  // The symbol of each kernel requested of `program`; empty if unknown.
  using TellSymbol = std::function<std::string(const std::string& name_expression)>;
  // NVRTC made these bytes of `program`.
  void AddCode(nvrtcProgram program, std::string_view bytes, const TellSymbol& tell_symbol);

  // The driver loaded `image`, of a size known to it, as `module`: a module or a library. Keeps a
  // shared copy of images not made here, within bounds.
  void AddModule(const void* module, const void* image);
  void AddFunction(const void* function, const void* module, const char* name);
  // `same` is another handle of `function`.
  void AddAlias(const void* same, const void* function);
  // Has an empty name if the program obtained it in an unobserved way.
  CudaFunction Of(const void* function);

 private:
  struct Program {
    CudaSource source;
    std::vector<std::string> name_expressions;
  };
  struct Module {
    std::shared_ptr<const CudaSource> source;
    std::shared_ptr<const std::string> image;
    uint64_t code = 0;
  };

  std::mutex mutex_;
  std::map<nvrtcProgram, Program> programs_;
  std::map<std::pair<size_t, uint64_t>, std::shared_ptr<const CudaSource>>
      codes_;  // Size and hash.
  std::map<const void*, Module> modules_;
  size_t kept_bytes_ = 0;  // All kept images.
  std::map<const void*, CudaFunction> functions_;
};

// One per process; never destroyed.
CudaObjects& TheCudaObjects();

}  // namespace attune::capture
