// Where the kernels of a CUDA program come from: NVRTC compiles a source, the driver loads what
// that made, and a function is got by its name.
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

// What NVRTC was given.
struct CudaSource {
  std::string text;
  std::string options;
  std::vector<std::pair<std::string, std::string>> headers;  // Name and text.
  // What the compiler calls kernels that it was asked for ("scale<float, 16>"), by that symbol.
  std::map<std::string, std::string> name_expressions;
};

struct CudaFunction {
  std::string name;                          // As the source has it, as far as that is known.
  std::shared_ptr<const CudaSource> source;  // Null: nobody has seen it. Shared by its functions.
  std::shared_ptr<const std::string> image;  // Then what was loaded, or null. Shared as well.
  uint64_t code = 0;  // A hash of the source, else of what was loaded, or where.
};

// Thread-safe.
class CudaObjects {
 public:
  void AddProgram(nvrtcProgram program, CudaSource source);
  void SetOptions(nvrtcProgram program, std::string options);
  // A kernel that `program` was asked for.
  void AddNameExpression(nvrtcProgram program, std::string name_expression);
  void RemoveProgram(nvrtcProgram program);
  // What each kernel that `program` was asked for is called in its code; empty if nobody knows.
  using TellSymbol = std::function<std::string(const std::string& name_expression)>;
  // NVRTC made these bytes of `program`.
  void AddCode(nvrtcProgram program, std::string_view bytes, const TellSymbol& tell_symbol);

  // The driver loaded `image`, whose size it knows, as `module`: a module or a library. Of what was
  // not made here, a copy is kept, within bounds.
  void AddModule(const void* module, const void* image);
  void AddFunction(const void* function, const void* module, const char* name);
  // `same` is another handle of `function`.
  void AddAlias(const void* same, const void* function);
  // With an empty name if it was got in a way that is not seen.
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
  size_t kept_bytes_ = 0;  // Of images.
  std::map<const void*, CudaFunction> functions_;
};

// Of this process; never destroyed.
CudaObjects& TheCudaObjects();

}  // namespace attune::capture
