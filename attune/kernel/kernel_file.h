// A tunable kernel as data: its source, its parameters, the problems that it computes and how it is
// launched. docs/formats/kernel_file.md is the format; docs/design/0004-kernels-as-data.md says
// why.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/fingerprint.h"
#include "attune/base/status.h"
#include "attune/problem/own_kernel.h"
#include "attune/space/config.h"
#include "attune/space/config_space.h"
#include "attune/space/expression.h"
#include "attune/trial/figure.h"

namespace attune::kernel {

// The language of a kernel, which also names the backend that runs it. CUDA kernels are compiled
// for AMD GPUs, too (backends/hip).
enum class KernelLanguage { kOpenCl, kCuda };
std::string_view Name(KernelLanguage language);  // "opencl", "cuda".
inline constexpr KernelLanguage kKernelLanguages[] = {KernelLanguage::kOpenCl,
                                                      KernelLanguage::kCuda};

struct NamedExpression {
  std::string name;
  Expression value;
};

struct KernelArgument {
  enum class Kind {
    kOperand,  // The buffer of the operand `name`, or null if the problem has none.
    kOffset,   // long: elements from the start of that buffer to the operand.
    kInt,      // A scalar of that C type: `value`.
    kLong,
    kFloat,
    kDouble,
    kReal,        // float or double, as the output is.
    kLocalBytes,  // `value` bytes of local memory.
    kBytes,       // A scalar of any other type: `name` is its bytes in hexadecimal.
  };
  Kind kind = Kind::kOperand;
  std::string name;
  std::optional<Expression> value;
};

struct KernelLaunch {
  std::string function;  // A C name, or of CUDA C++ a name expression (name_expression.h).
  std::optional<Expression> when;          // Launched only if true; always if absent.
  std::vector<Expression> local;           // Work-items of a work-group, one to three dimensions.
  std::vector<Expression> groups;          // Work-groups, in as many.
  std::optional<Expression> shared_bytes;  // CUDA: dynamic shared memory; none if absent.
  std::optional<Expression> cooperative;   // CUDA: all work-groups run at once if true.
  std::vector<Expression> cluster;  // CUDA: work-groups of a cluster, in as many; none if empty.
  std::vector<KernelArgument> arguments;
};

// A file beside the kernel file that holds the elements of an operand, as they lie in memory.
struct DataFile {
  std::string path;  // From the folder of the kernel file; packed by gzip if it ends in ".gz".
  Fingerprint hash;  // Hash of the unpacked content.
};

// An operand of a user's kernel; its extents and fill are expressions of the kernel's sizes.
struct OwnOperand {
  size_t index_in_file = 0;
  std::string name;
  OperandRole role = OperandRole::kIn;
  DataType type = DataType::kF32;
  std::vector<Expression> shape;
  BufferFill::Kind fill = BufferFill::Kind::kUniform;
  std::optional<Expression> first;  // BufferFill's; both absent: the default.
  std::optional<Expression> second;
  std::optional<DataFile> data;  // Only with the fill `file`.
};

// Computes the right result of a user's kernel: exactly one of the four.
struct OwnReference {
  // The same source with other launches, if there are any, and this config.
  std::optional<Config> config;
  std::vector<KernelLaunch> launches;
  std::string file;  // Another kernel file in the same folder, by its default config.
  std::vector<std::string> program;                   // An executable and its arguments.
  std::map<std::string, DataFile, std::less<>> data;  // The results themselves, by operand.
};

// A figure that the kernel writes beside its results, elements of an operand or of the workspace,
// or prints.
struct OwnFigure {
  Objective objective;
  std::string printed;  // The word that it is printed behind; else empty.
  std::string operand;  // Empty: the workspace.
  DataType type = DataType::kF32;
  FigureSource::Reduction reduction = FigureSource::Reduction::kFirst;
  std::optional<Expression> first;  // Element of sizes; absent: 0.
  std::optional<Expression> count;  // Absent: one, or where it is reduced all of the operand.
};

// Additional fields of the operator `kernel`: an operation unknown to attune.
struct OwnKernel {
  std::string name;     // Name of the problem; a reference has the name of its kernel.
  Fingerprint content;  // Hash of the JSON, the sources and the reference, in any language.
  std::vector<std::string> sizes;                           // Run-time and compile-time.
  std::map<std::string, int64_t, std::less<>> usual_sizes;  // Sizes where the caller names none.
  std::vector<OwnOperand> operands;                         // Those that are only read first.
  double absolute_tolerance = 0;
  double relative_tolerance = 0;
  OwnReference reference;
  std::vector<OwnFigure> figures;
  bool is_reference = false;  // This file is the reference of a kernel, and no candidate.
};

struct KernelFile {
  static constexpr int kFormatVersion = 9;

  int format_version = kFormatVersion;  // Format of the file; all from 1 are read.
  // Languages that it is offered in.
  std::vector<KernelLanguage> languages = {KernelLanguage::kOpenCl};
  // One of `languages`; the values of parameters and the source are for it.
  KernelLanguage language = KernelLanguage::kOpenCl;
  std::string name;  // The solver is `<language>.<name>`.
  int version = 1;   // Version of the solver.
  std::string description;
  std::string operator_name;  // "gemm", "conv", or "kernel", which `own` is about.
  std::vector<std::string> source_names;
  // Its only source is precompiled code: nothing is compiled in, and a config affects the launches
  // alone.
  bool is_binary = false;
  std::vector<std::string> compile_time_sizes;  // All others are run-time.
  std::vector<Expression> applies;
  std::vector<Parameter> parameters;
  std::vector<std::string> run_time_parameters;  // Those that are not compiled in.
  std::vector<Expression> constraints;
  // For each constraint of a user's kernel the path, line and JSON pointer, for messages. Filled by
  // LoadKernelFile.
  std::vector<std::string> constraint_places;
  // Constraints that are functions of the program that opened the file: no file has any, no record
  // keeps them, and children know nothing of them.
  std::vector<Constraint> predicates;
  std::optional<Expression> cost;            // Estimated cost of a config, in any unit.
  std::vector<NamedExpression> definitions;  // Preprocessor names, in order.
  std::vector<NamedExpression> variables;    // For the expressions of launches, in order.
  std::optional<Expression> workspace_bytes;
  std::vector<KernelLaunch> launches;
  // Compiler options of a user's kernel, added to those of attune, in order.
  std::vector<std::string> compile_options;
  // Text in front of the source: OpenCL C needs some to be CUDA C++. Filled by LoadKernelFile, as
  // the next three are.
  std::string_view prelude;
  std::string source;   // The text of all sources, in order, or the binary.
  Fingerprint content;  // Hash of the JSON, the prelude and the sources.
  // All files that it consists of: itself, its sources, their includes, its data. LoadReference
  // adds the files of the reference.
  std::vector<std::filesystem::path> read_files;
  std::optional<OwnKernel> own;  // Only for the operator `kernel`.

  // No size is compiled in: a shape never seen compiles nothing.
  bool dynamic() const { return compile_time_sizes.empty(); }
  std::string solver_name() const;
  // Options for a program that compiles the source itself: attune's default standard, unless the
  // file has one, and the file's options. Empty for a binary.
  std::vector<std::string> all_compile_options() const;
};

// Largest file, and largest source, that is read.
inline constexpr size_t kMaxKernelFileBytes = 256 * 1024;
inline constexpr size_t kMaxKernelSourceBytes = 1024 * 1024;

// The reserved operand name of the scratch memory.
inline constexpr std::string_view kWorkspaceName = "workspace";

// Reads `json` as a kernel of `language` and checks everything but the sources; kUnsupported if it
// is not offered in that language. Every other error gives its position (line and column for JSON
// that does not parse, otherwise the JSON pointer, /parameters/0/values/1) and the reason. Unknown
// and duplicate keys are errors, as are expressions with unknown names or with names that have no
// value yet where the expression is evaluated.
Result<KernelFile> ParseKernelFile(std::string_view json, KernelLanguage language);

// ParseKernelFile, and the sources beside it. Errors begin with the path; of the operator `kernel`
// also with the line that the JSON pointer is at.
Result<KernelFile> LoadKernelFile(const std::filesystem::path& path, KernelLanguage language);

}  // namespace attune::kernel
