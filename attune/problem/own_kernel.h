// The problem of a user's kernel: an operation that is opaque to attune, as an OtherOp called
// `kernel` with attributes for all that checking and measuring needs. docs/formats/problem.md has
// the text; docs/design/0029-own-kernels.md says why it is one.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/fingerprint.h"
#include "attune/base/status.h"
#include "attune/problem/other_op.h"
#include "attune/problem/problem.h"
#include "attune/problem/tensor.h"

namespace attune {

inline constexpr std::string_view kOwnKernelOperator = "kernel";

// Limit of one problem: arguments that a launch of a GPU has room for, and names that can be
// distinguished.
inline constexpr size_t kMaxOwnBuffers = 16;
inline constexpr size_t kMaxOwnSizes = 32;
inline constexpr size_t kMaxOwnDimensions = 8;
// Limit of a size, and of all elements of a buffer together.
inline constexpr int64_t kMaxOwnElements = int64_t{1} << 40;

// Content of a read buffer before the first launch.
struct BufferFill {
  enum class Kind {
    kUniform,   // Independent numbers in [first, second]; of integers, whole ones.
    kNormal,    // Independent, of mean `first` and standard deviation `second`.
    kConstant,  // `first`.
    kIota,      // first + second i for element i.
    kFile,      // Content of a file that the kernel's file names; `first` and `second` are 0.
  };
  Kind kind = Kind::kUniform;
  double first = -1;
  double second = 1;

  friend bool operator==(const BufferFill&, const BufferFill&) = default;
};
std::string_view Name(BufferFill::Kind kind);  // "uniform", "normal", ...
std::optional<BufferFill::Kind> ParseFillKind(std::string_view name);

// Row-major and packed. kInOut and kIn have a fill, kOut begins with bytes that no result has.
struct OwnBuffer {
  std::string name;
  OperandRole role = OperandRole::kIn;
  DataType type = DataType::kF32;
  std::vector<int64_t> extents;
  BufferFill fill;

  friend bool operator==(const OwnBuffer&, const OwnBuffer&) = default;
};

struct OwnKernelProblem {
  std::string name;     // Name of the kernel: 1 to 48 of a-z 0-9 - _.
  Fingerprint content;  // Hash of its file and its sources.
  std::map<std::string, int64_t, std::less<>> sizes;
  std::vector<OwnBuffer> buffers;  // Those that are only read first; at least one output.
  // |x - reference| <= absolute + relative * |reference|.
  double absolute_tolerance = 0;
  double relative_tolerance = 0;

  friend bool operator==(const OwnKernelProblem&, const OwnKernelProblem&) = default;
};

// REQUIRES: `own` is valid.
Problem ToProblem(const OwnKernelProblem& own);

bool IsOwnKernel(const Problem& problem);

// kInvalidArgument with the reason. Only texts that ToProblem writes are valid, so that a problem
// has one key.
Result<OwnKernelProblem> OwnKernelOf(const Problem& problem);

// As Operands(problem).
std::vector<Operand> OperandsOf(const OwnKernelProblem& own);

Status Validate(const OwnKernelProblem& own);

}  // namespace attune
