// The files that a captured program leaves, one per launch, for `attune capture` to turn into
// kernel files: docs/formats/launch_spool.md. The preload library writes them and uses no other
// part of attune than this header.
#pragma once

#include <cstdint>
#include <string_view>

namespace attune::capture {

// A file is this, then records, the last of which is kEnd: without it the launch was cut off.
inline constexpr char kSpoolMagic[8] = {'a', 't', 't', 'l', 'n', 'c', 'h', '1'};

enum class SpoolTag : uint32_t {
  kEnd = 0,
  kLanguage = 1,  // "opencl" or "cuda".
  kFunction = 2,
  kSource = 3,    // Text; empty if the program has none.
  kBinary = 4,    // The loaded binary if there is no source; absent otherwise.
  kOptions = 5,   // Compiler options as the program wrote them, separated by blanks.
  kDevice = 6,    // Its name.
  kFolder = 7,    // Where relative paths in the options begin.
  kGeometry = 8,  // SpoolGeometry.
  kNumber = 9,    // uint64_t: which launch of its kernel this is in its process, from 1.
  // One of each per argument `index`:
  kArgument = 10,  // SpoolArgument.
  kValue = 11,     // Its bytes, of a scalar.
  kName = 12,
  kType = 13,    // The compiler's name of the type: "float*".
  kBefore = 14,  // Content of a buffer.
  kAfter = 15,   // The same behind the launch; absent if nothing changed.
  kHeader = 16,  // A header that the compiler was given: its name, a zero byte, its text.
};

// Precedes each record and its `size_bytes` bytes. Integers have the machine's byte order.
struct SpoolRecord {
  SpoolTag tag = SpoolTag::kEnd;
  uint32_t index = 0;
  uint64_t size_bytes = 0;
};

// Arguments of a launch, more than any device takes.
inline constexpr uint32_t kMostArguments = 4096;

struct SpoolGeometry {
  uint32_t dimensions = 1;    // 1 to 3; the others are 1.
  uint32_t has_local = 1;     // 0: the driver chose the work-group.
  uint64_t global[3] = {};    // Work-items.
  uint64_t local[3] = {};     // Work-items of a work-group.
  uint64_t required[3] = {};  // `local` as the source requires it; 0 if it does not.
  uint64_t shared_bytes = 0;  // Dynamic shared memory.
};

enum class SpoolArgumentKind : uint32_t {
  kScalar = 0,
  kBuffer = 1,
  kNull = 2,  // No value: local memory of `size_bytes`, or no buffer at all.
};

enum class SpoolAddress : uint32_t { kUnknown = 0, kGlobal, kConstant, kLocal, kPrivate };

struct SpoolArgument {
  SpoolArgumentKind kind = SpoolArgumentKind::kScalar;
  SpoolAddress address = SpoolAddress::kUnknown;
  uint32_t is_const = 0;  // Pointee is const, as far as the compiler reports it.
  int32_t same_as = -1;   // An earlier argument that is the same buffer.
  uint64_t size_bytes = 0;
};

// Lines of the file PID.events of a process: kernel, word and text with tabs between them. A kernel
// "" is the process. "refused" has the reason, "launches" how many there were.
inline constexpr const char* kEventsEnding = ".events";
inline constexpr const char* kLaunchEnding = ".launch";
inline constexpr const char* kRefused = "refused";
inline constexpr const char* kLaunches = "launches";

// Variables by which `attune capture` controls the library.
inline constexpr const char* kSpoolVariable = "ATTUNE_CAPTURE_SPOOL";  // A folder.
// Names, by '\n': those of instances of templates have commas.
inline constexpr const char* kKernelsVariable = "ATTUNE_CAPTURE_KERNELS";
inline constexpr const char* kLaunchVariable = "ATTUNE_CAPTURE_LAUNCH";  // From 1; 0: any.
inline constexpr const char* kCountVariable = "ATTUNE_CAPTURE_COUNT";
inline constexpr const char* kMaxBytesVariable = "ATTUNE_CAPTURE_MAX_BYTES";

// True if `wanted` names `kernel`, which may be an instance of a template.
inline bool IsMeant(std::string_view wanted, std::string_view kernel) {
  return kernel.starts_with(wanted) &&
         (kernel.size() == wanted.size() || kernel[wanted.size()] == '<');
}

}  // namespace attune::capture
