// capture.h for C++: one call that stores a launch of the program's own kernel as a kernel file.
#ifndef ATTUNE_CAPTURE_HPP_
#define ATTUNE_CAPTURE_HPP_

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "attune/capture.h"
#include "attune/error.hpp"

namespace attune {
inline namespace v1 {

// A launch, as capture.h describes it. Not thread-safe.
class Capture {
 public:
  // Copies all bytes of a buffer to `memory`. Store throws its exceptions.
  using Reader = std::function<void(void* memory)>;

  Capture(std::string function, std::string source)
      : function_(std::move(function)), source_(std::move(source)) {}

  // "opencl", as without this, or "cuda".
  Capture& Language(std::string language) {
    language_ = std::move(language);
    return *this;
  }
  Capture& Options(std::string options) {
    options_ = std::move(options);
    return *this;
  }
  // Another dimension: work-items of a work-group, and work-groups.
  Capture& Dimension(std::uint64_t local, std::uint64_t groups) {
    geometry_.emplace_back(local, groups);
    return *this;
  }
  Capture& SharedBytes(std::uint64_t bytes) {
    shared_bytes_ = bytes;
    return *this;
  }
  // The next argument of the kernel.
  template <class T>
  Capture& Scalar(const T& value) {
    const auto* bytes = reinterpret_cast<const char*>(&value);
    arguments_.push_back({ATTUNE_CAPTURE_SCALAR, sizeof value, {bytes, bytes + sizeof value}, {}});
    return *this;
  }
  Capture& Buffer(std::size_t size_bytes, Reader read) {
    arguments_.push_back({ATTUNE_CAPTURE_BUFFER, size_bytes, {}, std::move(read)});
    return *this;
  }
  Capture& Local(std::size_t size_bytes) {
    arguments_.push_back({ATTUNE_CAPTURE_LOCAL, size_bytes, {}, {}});
    return *this;
  }

  // attune_capture_launch: `launch` is called once. Returns the path of the kernel file. Throws
  // Error, and any exception of `launch` or a reader.
  std::string Store(const std::string& folder, std::function<void()> launch) const {
    if (geometry_.size() > kMostDimensions) return Refuse();
    Call call{std::move(launch), nullptr};
    std::vector<attune_capture_argument> arguments;
    for (const Argument& argument : arguments_) {
      const void* value = argument.bytes.data();
      if (argument.kind == ATTUNE_CAPTURE_BUFFER) value = &argument;
      arguments.push_back({argument.kind, 0, argument.size_bytes, value});
    }
    const attune_capture capture = ToC(arguments, call);
    char* path = nullptr;
    const attune_code code = attune_capture_launch(&capture, folder.c_str(), &path);
    if (call.thrown != nullptr) std::rethrow_exception(call.thrown);
    Check(code);
    std::string text = path;
    attune_free(path);
    return text;
  }

 private:
  static constexpr std::size_t kMostDimensions = 3;

  struct Argument {
    std::int32_t kind;
    std::size_t size_bytes;
    std::vector<char> bytes;
    Reader read;
  };
  struct Call {
    std::function<void()> launch;
    std::exception_ptr thrown;
  };

  // 0, or 1 if `body` threw, which `call` keeps: nothing may unwind through C.
  template <class Body>
  static int Caught(void* call, const Body& body) noexcept {
    try {
      body();
      return 0;
    } catch (...) {
      static_cast<Call*>(call)->thrown = std::current_exception();
      return 1;
    }
  }
  static int Read(void* user, const attune_capture_argument* buffer, void* memory) {
    const auto* argument = static_cast<const Argument*>(buffer->value);
    return Caught(user, [&] { argument->read(memory); });
  }
  static int Launch(void* user) {
    return Caught(user, [&] { static_cast<Call*>(user)->launch(); });
  }

  // Throws the library's error for too many dimensions.
  static std::string Refuse() {
    attune_capture none = ATTUNE_CAPTURE_INIT;
    none.function = none.source = "";
    none.dimensions = static_cast<std::int32_t>(kMostDimensions) + 1;
    none.read = &Read;
    none.launch = &Launch;
    Check(attune_capture_launch(&none, "", nullptr));
    return {};
  }

  attune_capture ToC(const std::vector<attune_capture_argument>& arguments, Call& call) const {
    attune_capture capture = ATTUNE_CAPTURE_INIT;
    capture.function = function_.c_str();
    capture.source = source_.c_str();
    capture.options = options_.c_str();
    capture.language = language_.c_str();
    capture.dimensions = static_cast<std::int32_t>(geometry_.size());
    for (std::size_t i = 0; i < geometry_.size(); ++i) {
      capture.local[i] = geometry_[i].first;
      capture.groups[i] = geometry_[i].second;
    }
    capture.shared_bytes = shared_bytes_;
    capture.arguments = arguments.data();
    capture.argument_count = arguments.size();
    capture.read = &Read;
    capture.launch = &Launch;
    capture.user = &call;
    return capture;
  }

  std::string function_;
  std::string source_;
  std::string options_;
  std::string language_ = "opencl";
  std::vector<std::pair<std::uint64_t, std::uint64_t>> geometry_;
  std::uint64_t shared_bytes_ = 0;
  std::vector<Argument> arguments_;
};

}  // namespace v1
}  // namespace attune

#endif  // ATTUNE_CAPTURE_HPP_
