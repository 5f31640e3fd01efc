// The contract of an operator. Each operator is a folder of attune/ops; attune/ops/registry.h lists
// them.
#pragma once

#include <cstdint>
#include <functional>
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

// Properties of a call that its C struct does not hold.
struct CallClasses {
  int alpha = 1;  // 0 for the value 0, 1 for 1, 2 for any other. So is beta.
  int beta = 0;
  // 1: every operand starts at a multiple of kWideAlignmentBytes. Used if the struct states no
  // alignment.
  int wide = 0;
};
// The default alignment of operands. No access is wider, so a candidate that was verified with a
// larger alignment is safe with this one.
inline constexpr int kWideAlignmentBytes = 64;
// The alignment of a call: `in_struct` unless that is 0.
int AlignmentOfCall(int in_struct, DataType widest, CallClasses classes);

// Bytes of a tensor without gaps. Matrices of a batch may overlap; shared bytes count once.
double OnceBytes(const TensorDesc& tensor);

// The alpha and beta that a problem is measured and verified with.
struct Scalars {
  double alpha = 1;
  double beta = 0;
};

// Stateless and thread-safe. There is one object for each operator, which is never destroyed.
// Derive from TypedOperator. REQUIRES: problems passed to a member are of this operator and, except
// for Validate(), valid.
class Operator {
 public:
  virtual ~Operator() = default;

  // -- Problems as values --

  virtual std::string_view name() const = 0;  // "gemm".
  virtual std::string_view NameOf(const Problem& problem) const;
  // The version of texts. An operator that replaces an OtherOp of old lists and databases starts
  // with 2; texts of version 1 stay an OtherOp.
  virtual int version() const { return 1; }
  virtual std::span<const ProblemField> fields() const = 0;
  virtual bool Equal(const Problem& a, const Problem& b) const = 0;
  virtual Status Validate(const Problem& problem) const = 0;
  // The same problem with a fixed value for each property that does not matter, such as the batch
  // stride of a single matrix. The fields of equal canonical problems are equal.
  virtual Problem Canonical(const Problem& problem) const;
  virtual std::string TextOf(const Problem& problem) const = 0;
  virtual Parsed<Problem> Read(const TextFields& text) const = 0;
  // The size of the C struct with the members in the table of fields. It is a multiple of 8 without
  // padding, because the words of the struct are the key of a call. 0 without a C struct.
  virtual size_t call_bytes() const { return 0; }
  virtual Result<Problem> ReadCall(const void* call, CallClasses classes) const = 0;
  // A copy with one field set to `number`, not validated.
  virtual Problem With(const Problem& problem, const ProblemField& field, int64_t number) const = 0;

  // -- Work --

  // In the order of solver arguments: inputs first, outputs last. Empty if attune cannot compute
  // the problem.
  virtual std::vector<Operand> Operands(const Problem& problem) const = 0;
  // The names of operands of all problems.
  virtual std::vector<std::string> OperandNames() const { return {}; }
  virtual double Flops(const Problem& problem) const = 0;
  // Bytes that any implementation must move: each input and output once, an output that is also
  // read twice.
  virtual double CompulsoryBytes(const Problem& problem) const;
  // Terms summed into one output element.
  virtual int64_t ReductionLength(const Problem& problem) const = 0;
  // True if memory limits the speed of every good implementation. Tuning then measures problems
  // that fit the cache of a device with operands from its memory.
  virtual bool IsMemoryBound() const { return false; }
  virtual Scalars ScalarsOf(const Problem&) const { return {}; }
  // True if results follow IEEE 754 for NaN, infinities and subnormal numbers. A caller that relies
  // on it gets only solvers with the trait ieee_special_values.
  virtual bool PromisesSpecialValues() const { return false; }
  // Null for an operator that cannot be verified and so is not tuned.
  virtual const Reference* reference() const { return nullptr; }

  // -- Kernel files --

  // Names of sizes in the order in which the compiler gets them.
  virtual std::vector<std::string> SizeNames() const;
  // Sizes computed from the fields, by name: output extents, strides.
  using Derived = std::vector<std::pair<std::string, int64_t>>;
  virtual Derived DerivedSizes(const Problem&) const { return {}; }
  virtual std::vector<std::string> DerivedNames() const { return {}; }
  // The smallest problem with the same classes, and the same sizes where `keeps` is true. Not
  // validated.
  using Keeps = std::function<bool(std::string_view name)>;
  virtual Problem SmallestLike(const Problem& problem, const Keeps& keeps) const = 0;
  // One problem for each common combination of classes: `attune build` compiles their dynamic
  // kernels. Sizes do not matter.
  virtual std::vector<Problem> EverydayProblems() const;

  // -- Likeness --

  // Only problems of one family are neighbours: they differ in sizes and in the alignment. Solvers
  // check the alignment, which differs from call to call. Empty for an operator without neighbours.
  virtual std::string FamilyOf(const Problem& problem) const = 0;
  virtual Position PositionOf(const Problem& problem) const = 0;
  // Names and values of model features. The first three are 1, flops and compulsory bytes. An empty
  // FeaturesName() means that the operator has none.
  virtual std::string FeaturesName() const = 0;
  virtual std::vector<std::string> FeatureNames() const = 0;
  virtual std::vector<double> FeatureValues(const Problem& problem) const = 0;

  // -- Users and other programs --

  // One short line: "gemm 64x64x64 nn f32".
  virtual std::string LabelOf(const Problem& problem) const = 0;
  // The verb of MIOpenDriver without the type: "conv". Empty without a verb.
  virtual std::string_view driver_verb() const { return ""; }
  // `type` is an element type as MIOpenDriver spells it: "f32", "bf16", "f8". Every problem is
  // validated.
  virtual Parsed<std::vector<Problem>> ReadDriver(const DriverLine& line,
                                                  std::string_view type) const;
};

}  // namespace attune
