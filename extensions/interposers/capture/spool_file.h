// The file of one launch during writing, in the folder that `attune capture` reads afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "attune/base/unique_fd.h"
#include "attune/kernel/capture/spool_format.h"

namespace attune::capture {

// Adds the line to the events of this process. Prints a reason that cannot be written to standard
// error.
void NoteEvent(std::string_view kernel, std::string_view word, std::string_view text);

// Removes a file that is not committed. Every function returns false after one has failed, and
// error() says why.
class SpoolFile {
 public:
  SpoolFile() = default;
  SpoolFile(const SpoolFile&) = delete;
  SpoolFile& operator=(const SpoolFile&) = delete;
  ~SpoolFile();

  bool Create();
  bool Put(SpoolTag tag, uint32_t index, std::string_view content);
  template <class T>
  bool PutValue(SpoolTag tag, uint32_t index, const T& value) {
    return Put(tag, index, {reinterpret_cast<const char*>(&value), sizeof value});
  }

  // Copies bytes [at, at + size) of a buffer to `memory`; returns the error in words, or empty.
  using Reader = std::function<std::string(size_t at, size_t size, void* memory)>;
  // Stores the buffer of argument `index` before the launch, read in parts. `hash` becomes that of
  // all of it.
  bool PutBefore(uint32_t index, uint64_t size_bytes, const Reader& read, uint64_t& hash);
  // Stores the same buffer after the launch. If its hash is still `before`, removes the record;
  // else sets `is_changed`.
  bool PutAfter(uint32_t index, uint64_t size_bytes, const Reader& read, uint64_t before,
                bool& is_changed);

  // The launch is complete: readers of the spool can find it.
  bool Commit();

  const std::string& error() const { return error_; }

 private:
  bool Write(const void* bytes, size_t size);
  bool PutBuffer(const SpoolRecord& record, const Reader& read, uint64_t& hash);
  bool Fail(const std::string& what);

  // Fails if the program has closed or replaced the descriptor while a launch is stored.
  bool CheckFile();

  UniqueFd fd_;
  std::string path_;  // The temporary file.
  std::string error_;
};

}  // namespace attune::capture
