// What attune has to know of an operator: its contract. Each one is a folder of attune/ops; the
// list of all is attune/ops/registry.h.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attune/base/status.h"
#include "attune/problem/fields.h"
#include "attune/problem/tensor.h"
#include "attune/problem/text_error.h"

namespace attune {

class Problem;
class Reference;
struct DriverLine;

// What a call says beside its C struct.
struct CallClasses {
  int alpha = 1;  // Of each scalar: 0 for the value 0, 1 for 1, 2 for any other.
  int beta = 0;
  // 1: every operand starts at a multiple of kWideAlignmentBytes. Counts where the struct leaves
  // its alignment open.
  int wide = 0;
};
// The alignment of operands where a problem states none. No access is wider, so a candidate that
// was tried on operands with a larger alignment is safe on these.
inline constexpr int kWideAlignmentBytes = 64;
// The alignment of a call, whose struct says `in_struct`.
int AlignmentOfCall(int in_struct, DataType widest, CallClasses classes);

// Bytes of a tensor that move once, without gaps: matrices of a batch may overlap.
double OnceBytes(const TensorDesc& tensor);

// Values of alpha and beta that a problem is measured and verified with.
struct Scalars {
  double alpha = 1;
  double beta = 0;
};

// Stateless and thread-safe; one object for each operator, which is never destroyed. Derive from
// TypedOperator. REQUIRES of all that take a problem: it is of this operator and, but for
// Validate(), valid.
class Operator {
 public:
  virtual ~Operator() = default;

  // -- Its problems as values --

  virtual std::string_view name() const = 0;  // "gemm".
  virtual std::string_view NameOf(const Problem& problem) const;
  // Of its texts. Those of version 1 of an operator that began with 2 are an OtherOp's: lists and
  // databases had them before anything here computed it.
  virtual int version() const { return 1; }
  virtual std::span<const ProblemField> fields() const = 0;
  virtual bool Equal(const Problem& a, const Problem& b) const = 0;
  virtual Status Validate(const Problem& problem) const = 0;
  virtual std::string TextOf(const Problem& problem) const = 0;
  virtual Parsed<Problem> Read(const TextFields& text) const = 0;
  // From a C struct whose members the table of fields names, of call_bytes(): a multiple of 8
  // without padding, so that its words are the key of a call; 0 if C has none.
  virtual size_t call_bytes() const { return 0; }
  virtual Result<Problem> ReadCall(const void* call, CallClasses classes) const = 0;
  // A copy with one field set to `number`, not validated.
  virtual Problem With(const Problem& problem, const ProblemField& field, int64_t number) const = 0;

  // -- Its work --

  // In the order in which solvers take them: inputs first, outputs last. Empty if nothing here
  // computes it.
  virtual std::vector<Operand> Operands(const Problem& problem) const = 0;
  // Names of all operands that some problem has.
  virtual std::vector<std::string> OperandNames() const { return {}; }
  virtual double Flops(const Problem& problem) const = 0;
  // Bytes that any implementation must move: every input once, every output once, twice if it is
  // read, too.
  virtual double CompulsoryBytes(const Problem& problem) const;
  // Products or terms summed into one element.
  virtual int64_t ReductionLength(const Problem& problem) const = 0;
  virtual Scalars ScalarsOf(const Problem&) const { return {}; }
  // Whether results promise what IEEE 754 says of NaN, infinities and denormal numbers, so that a
  // solver without the trait ieee_special_values is not served where a caller relies on it.
  virtual bool PromisesSpecialValues() const { return false; }
  // Null: nothing is verified, so nothing is tuned.
  virtual const Reference* reference() const { return nullptr; }

  // -- Kernel files --

  // Names of the sizes, in the order in which the compiler sees them.
  virtual std::vector<std::string> SizeNames() const;
  // Sizes that follow from the fields, by name: those of the output, strides.
  using Derived = std::vector<std::pair<std::string, int64_t>>;
  virtual Derived DerivedSizes(const Problem&) const { return {}; }
  virtual std::vector<std::string> DerivedNames() const { return {}; }
  // The smallest problem of the same classes in which the sizes that `keeps` accepts are as in
  // `problem`. Not validated.
  using Keeps = std::function<bool(std::string_view name)>;
  virtual Problem SmallestLike(const Problem& problem, const Keeps& keeps) const = 0;
  // Problems whose dynamic kernels are compiled at installation: each combination of common
  // classes. Sizes do not matter.
  virtual std::vector<Problem> EverydayProblems() const;

  // -- Likeness --

  // Problems are compared only within a family: everything but the sizes is equal. Empty for an
  // operator that has no neighbours.
  virtual std::string FamilyOf(const Problem& problem) const = 0;
  virtual Position PositionOf(const Problem& problem) const = 0;
  // Names and values of model features: one, flops and compulsory bytes first. An empty name: none.
  virtual std::string FeaturesName() const = 0;
  virtual std::vector<std::string> FeatureNames() const = 0;
  virtual std::vector<double> FeatureValues(const Problem& problem) const = 0;

  // -- For people and other programs --

  // One short line: "gemm 64x64x64 nn f32".
  virtual std::string LabelOf(const Problem& problem) const = 0;
  // The verb of MIOpenDriver without the type: "conv". Empty: there is none.
  virtual std::string_view driver_verb() const { return ""; }
  // `type` is the driver's word for it: "f32", "bf16", "f8". Every problem is validated.
  virtual Parsed<std::vector<Problem>> ReadDriver(const DriverLine& line,
                                                  std::string_view type) const;
  // The inverse. kUnsupported if MIOpenDriver cannot say this problem.
  virtual Result<std::string> DriverCommandOf(const Problem& problem) const;
};

}  // namespace attune
