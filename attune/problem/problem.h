// A problem: one operator with every property that can change which implementation is fastest or
// right. A value; the key of every record. docs/formats/problem.md has the text.
#pragma once

#include <cassert>
#include <concepts>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attune/base/fingerprint.h"
#include "attune/base/status.h"
#include "attune/problem/operator.h"
#include "attune/problem/tensor.h"

namespace attune {

// A struct of problems: `const Operator& OperatorOf(const T*)` is declared beside it, and ignores
// the pointer.
template <class T>
concept OperatorValue = requires(const T* value) {
  { OperatorOf(value) } -> std::same_as<const Operator&>;
};

// The problem of one operator: a Gemm, a Conv, ... Copies share the value, which never changes. A
// problem that was moved from can only be assigned to or destroyed.
class Problem {
 public:
  // Not valid: an OtherOp without a name.
  Problem();
  template <OperatorValue T>
  Problem(T value)  // NOLINT: a Gemm is a problem.
      : Problem(OperatorOf(static_cast<const T*>(nullptr)),
                std::make_shared<const T>(std::move(value))) {}
  Problem(const Operator& op, std::shared_ptr<const void> value)
      : op_(&op), value_(std::move(value)) {}

  const Operator& op() const { return *op_; }
  const void* value() const { return value_.get(); }

  // The value as a T; null if the problem is of another operator.
  template <OperatorValue T>
  const T* As() const {
    // Plug-ins have operator objects of their own, so names are compared.
    const Operator& wanted = OperatorOf(static_cast<const T*>(nullptr));
    const bool is_it = op_ == &wanted || op_->name() == wanted.name();
    return is_it ? static_cast<const T*>(value_.get()) : nullptr;
  }
  template <OperatorValue T>
  bool Is() const {
    return As<T>() != nullptr;
  }
  // REQUIRES: Is<T>().
  template <OperatorValue T>
  const T& Get() const {
    assert(Is<T>());
    return *static_cast<const T*>(value_.get());
  }

  friend bool operator==(const Problem& a, const Problem& b) {
    return a.op_->name() == b.op_->name() && a.op_->Equal(a, b);
  }

 private:
  const Operator* op_;
  std::shared_ptr<const void> value_;
};

// The canonical text, one for each problem: `op@version{key=value,...}`, fixed key order, defaults
// left out. `gemm@1{m=512,n=512,k=512}`.
std::string Text(const Problem& problem);

// Reads a canonical text, keys in any order. The error names the column (1-based). The result is
// normalised and validated. An unknown operator becomes an OtherOp.
Result<Problem> ParseProblem(std::string_view text);
// The same with the column as a number; 1 for an error that no single key causes.
Parsed<Problem> ReadProblem(std::string_view text);

// The hash of Text(problem): the unique key in stores.
Fingerprint KeyOf(const Problem& problem);

Status Validate(const Problem& problem);

// "gemm", "conv", or the name of an unknown operator.
std::string_view OperatorName(const Problem& problem);

// Operands in the order of solver arguments: inputs first, outputs last. Empty for an OtherOp other
// than a user's kernel. REQUIRES: `problem` is valid.
std::vector<Operand> Operands(const Problem& problem);

// Floating point operations of the direct algorithm. 0 for an OtherOp.
double Flops(const Problem& problem);

// Bytes that any implementation must move: every input and output once, twice for kInOut.
double CompulsoryBytes(const Problem& problem);

// Terms summed into one output element, which bound the rounding error: k for a gemm.
int64_t ReductionLength(const Problem& problem);

// Element type of the last output, which the verification tolerance depends on.
DataType OutputType(const Problem& problem);

// The field that kernel files call `name`, as a number; `otherwise` if the operator has none.
int64_t FieldOr(const Problem& problem, std::string_view name, int64_t otherwise);

}  // namespace attune
