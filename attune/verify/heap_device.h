// A device in host memory that times nothing, and checks its memory itself on request. For the
// tests of this module.
#pragma once

#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "attune/device/device.h"
#include "attune/verify/output_comparison.h"

namespace attune {

// The operations of a device with separate memory; counts, so that a test can see which side
// worked.
class HeapMemory final : public MemoryOperations {
 public:
  Status Fill(BufferView to, size_t size_bytes, uint16_t pattern) override {
    ++calls_;
    auto* bytes = static_cast<unsigned char*>(to.handle);
    for (size_t i = 0; i < size_bytes; ++i) {
      bytes[i] = static_cast<unsigned char>(i % 2 == 0 ? pattern : pattern >> 8);
    }
    return Status::Ok();
  }
  Status Copy(BufferView from, BufferView to, size_t size_bytes) override {
    ++calls_;
    std::memcpy(to.handle, from.handle, size_bytes);
    return Status::Ok();
  }
  Result<uint64_t> Fingerprint(BufferView of, size_t size_bytes) override {
    ++calls_;
    const std::string_view bytes(static_cast<const char*>(of.handle), size_bytes);
    return std::hash<std::string_view>()(bytes);
  }
  Result<OutputComparison> Compare(BufferView output, BufferView reference,
                                   const ComparisonTerms& terms) override {
    ++calls_;
    const auto count = static_cast<size_t>(terms.elements);
    return CompareOnHost(
        {static_cast<const std::byte*>(output.handle), count * SizeBytes(terms.type)},
        {static_cast<const double*>(reference.handle), count}, terms);
  }

  int calls() const { return calls_; }

 private:
  int calls_ = 0;
};

class HeapDevice final : public Device {
 public:
  const Target& target() const override { return target_; }
  Result<std::unique_ptr<Buffer>> Allocate(size_t size_bytes) override {
    if (size_bytes > limit_bytes_) return ResourceExhausted("Over the limit of the heap device.");
    return std::make_unique<HeapBuffer>(size_bytes);
  }
  Status Upload(std::span<const std::byte> from, BufferView to) override {
    if (!from.empty()) std::memcpy(to.handle, from.data(), from.size());
    return Status::Ok();
  }
  Status Download(BufferView from, std::span<std::byte> to) override {
    if (!to.empty()) std::memcpy(to.data(), from.handle, to.size());
    return Status::Ok();
  }
  Status Synchronize() override { return Status::Ok(); }
  Result<double> TimeNs(Executable&, const Arguments&, const TimingRequest&) override {
    return 1.0;
  }
  Status AwaitQuiescence(int64_t) override { return Status::Ok(); }

  MemoryOperations* memory_operations() override { return has_memory_ ? &memory_ : nullptr; }

  void set_limit_bytes(size_t limit_bytes) { limit_bytes_ = limit_bytes; }
  void set_has_memory(bool has_memory) { has_memory_ = has_memory; }
  int memory_calls() const { return memory_.calls(); }

 private:
  class HeapBuffer final : public Buffer {
   public:
    explicit HeapBuffer(size_t size_bytes)
        : memory_(std::aligned_alloc(64, (size_bytes + 64) / 64 * 64)), size_bytes_(size_bytes) {}
    void* handle() const override { return memory_.get(); }
    size_t size_bytes() const override { return size_bytes_; }

   private:
    struct Free {
      void operator()(void* memory) const { std::free(memory); }
    };
    std::unique_ptr<void, Free> memory_;
    size_t size_bytes_;
  };

  Target target_{"heap", "heap", "any", 1, {}};
  size_t limit_bytes_ = size_t{1} << 40;
  bool has_memory_ = false;
  HeapMemory memory_;
};

// An executable that is one function.
class FunctionExecutable final : public Executable {
 public:
  explicit FunctionExecutable(std::function<Status(const Arguments&)> run,
                              size_t workspace_bytes = 0)
      : run_(std::move(run)), workspace_bytes_(workspace_bytes) {}
  size_t workspace_bytes() const override { return workspace_bytes_; }
  Status Run(const Arguments& arguments) override { return run_(arguments); }

 private:
  std::function<Status(const Arguments&)> run_;
  size_t workspace_bytes_;
};

}  // namespace attune
