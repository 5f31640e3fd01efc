#include "extensions/interposers/capture/cuda_objects.h"

#include <elf.h>

#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace attune::capture {
namespace {

// Larger images are no code of a kernel, or no code at all.
constexpr size_t kMostImageBytes = size_t{1} << 30;
// Bounds of the kept images: one as large as a kernel file allows, and all together.
constexpr size_t kMostKeptBytes = size_t{64} << 20;
constexpr size_t kMostKeptTogether = size_t{512} << 20;

uint64_t HashOf(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

// nvcc's wrapper, which a program passes in place of a fat binary.
struct FatBinaryWrapper {
  uint32_t magic;
  uint32_t version;
  const void* content;
};
constexpr uint32_t kFatBinaryWrapper = 0x466243b1;

const void* Unwrapped(const void* image) {
  uint32_t magic = 0;
  if (image != nullptr) std::memcpy(&magic, image, sizeof magic);
  if (magic != kFatBinaryWrapper) return image;
  FatBinaryWrapper wrapper;
  std::memcpy(&wrapper, image, sizeof wrapper);
  return wrapper.content;
}

// The header of a fat binary; its last field counts the bytes that follow it.
struct FatBinary {
  uint32_t magic;
  uint16_t version;
  uint16_t header_bytes;
  uint64_t content_bytes;
};
constexpr uint32_t kFatBinary = 0xba55ed50;

// The size of a cubin or a fat binary, from its headers, or of PTX with its final zero; 0 for
// anything else.
size_t SizeOf(const void* image) {
  if (image == nullptr) return 0;
  if (std::memcmp(image, ELFMAG, SELFMAG) == 0) {
    Elf64_Ehdr header;
    std::memcpy(&header, image, sizeof header);
    const size_t sections = header.e_shoff + size_t{header.e_shnum} * header.e_shentsize;
    const size_t segments = header.e_phoff + size_t{header.e_phnum} * header.e_phentsize;
    const size_t size = sections > segments ? sections : segments;
    return size < kMostImageBytes ? size : 0;
  }
  FatBinary fat;
  std::memcpy(&fat, image, sizeof fat.magic);
  if (fat.magic == kFatBinary) {
    std::memcpy(&fat, image, sizeof fat);
    return fat.content_bytes < kMostImageBytes ? fat.header_bytes + fat.content_bytes : 0;
  }
  const char first = *static_cast<const char*>(image);
  const bool is_text = first == '/' || first == '.' || first == '\n' || first == ' ';
  return is_text ? std::strlen(static_cast<const char*>(image)) + 1 : 0;
}

}  // namespace

void CudaObjects::AddProgram(nvrtcProgram program, CudaSource source) {
  const std::lock_guard lock(mutex_);
  programs_[program] = {std::move(source), {}};
}

void CudaObjects::SetOptions(nvrtcProgram program, std::string options) {
  const std::lock_guard lock(mutex_);
  const auto found = programs_.find(program);
  if (found != programs_.end()) found->second.source.options = std::move(options);
}

void CudaObjects::AddNameExpression(nvrtcProgram program, std::string name_expression) {
  const std::lock_guard lock(mutex_);
  const auto found = programs_.find(program);
  if (found == programs_.end()) return;
  found->second.name_expressions.push_back(std::move(name_expression));
}

void CudaObjects::RemoveProgram(nvrtcProgram program) {
  const std::lock_guard lock(mutex_);
  programs_.erase(program);
}

void CudaObjects::AddCode(nvrtcProgram program, std::string_view bytes,
                          const TellSymbol& tell_symbol) {
  const std::lock_guard lock(mutex_);
  const auto found = programs_.find(program);
  if (found == programs_.end()) return;
  // A cubin may be followed by bytes that its header does not count.
  const size_t counted = bytes.empty() ? 0 : SizeOf(bytes.data());
  if (counted == 0 || counted > bytes.size()) return;
  CudaSource source = found->second.source;
  for (const std::string& name : found->second.name_expressions) {
    const std::string symbol = tell_symbol(name);
    if (!symbol.empty()) source.name_expressions[symbol] = name;
  }
  codes_[{counted, HashOf(bytes.substr(0, counted))}] =
      std::make_shared<const CudaSource>(std::move(source));
}

void CudaObjects::AddModule(const void* module, const void* image) {
  image = Unwrapped(image);
  const size_t size = SizeOf(image);
  const uint64_t hash = HashOf({static_cast<const char*>(image), size});
  const std::lock_guard lock(mutex_);
  Module& known = modules_[module];
  known = {};
  // Unknown code is identified by its address.
  known.code = size == 0 ? reinterpret_cast<uintptr_t>(module) : hash;
  const auto code = codes_.find({size, hash});
  const bool is_kept =
      size > 0 && size <= kMostKeptBytes && kept_bytes_ + size <= kMostKeptTogether;
  if (is_kept && code == codes_.end()) {
    kept_bytes_ += size;
    known.image = std::make_shared<const std::string>(static_cast<const char*>(image), size);
  }
  if (size == 0 || code == codes_.end()) return;
  known.source = code->second;
  std::string all = code->second->text + '\n' + code->second->options;
  for (const auto& [name, text] : code->second->headers) all += '\n' + name + '\n' + text;
  known.code = HashOf(all);
}

void CudaObjects::AddFunction(const void* function, const void* module, const char* name) {
  const std::lock_guard lock(mutex_);
  const auto found = modules_.find(module);
  CudaFunction& known = functions_[function];
  known = {};
  known.name = name;
  if (found == modules_.end()) return;
  known.source = found->second.source;
  known.image = found->second.image;
  known.code = found->second.code;
  if (known.source == nullptr) return;
  const auto written = known.source->name_expressions.find(known.name);
  if (written != known.source->name_expressions.end()) known.name = written->second;
}

void CudaObjects::AddAlias(const void* same, const void* function) {
  const std::lock_guard lock(mutex_);
  const auto found = functions_.find(function);
  if (found == functions_.end()) return;
  const CudaFunction copy = found->second;
  functions_[same] = copy;
}

CudaFunction CudaObjects::Of(const void* function) {
  const std::lock_guard lock(mutex_);
  const auto found = functions_.find(function);
  return found == functions_.end() ? CudaFunction() : found->second;
}

CudaObjects& TheCudaObjects() {
  static CudaObjects* const objects = new CudaObjects();
  return *objects;
}

}  // namespace attune::capture
