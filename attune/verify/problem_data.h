// The inputs of one problem and the right results, made once and shared by every process that
// checks a candidate for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>

#include "attune/base/status.h"
#include "attune/base/work_watch.h"
#include "attune/problem/own_kernel.h"
#include "attune/problem/problem.h"
#include "attune/verify/memory_file.h"
#include "attune/verify/reference_maker.h"

namespace attune {

// Ok, or kUnsupported with the reason if no answer to `problem` can be compared with a right one:
// an operator without a reference, types that its reference does not check (outputs of f8, most
// integers), or a reference of more than kMaxReferenceMultiplyAdds. Quick: nothing is computed.
Status CheckVerifiable(const Problem& problem);

// Reads the content of operand `i` of a user's kernel from its file, into memory of its size.
using DataReader = std::function<Status(const OwnKernelProblem&, size_t i, std::span<std::byte>)>;

// Limits for making a reference, and the maker that is tried before this processor.
struct ReferenceTerms {
  // The share is that of the reference; 0 while inputs are made, and while `maker` computes.
  GoOn go_on;
  ReferenceMaker* maker = nullptr;  // Borrowed; null: none.
  // For operands with the fill kFile; without a reader, problems that have any are kUnsupported.
  DataReader read_data = {};
};

// Inputs and a reference output in one sealed, read-only memory file. A worker process receives its
// descriptor and maps it instead of computing the data again. Immutable, so thread-safe; move-only.
//
// Inputs are uniform in [-1, 1], integers in the range that GenerateElements has for them, and
// never zero: zeros are free on hardware that gates its multipliers, and one number everywhere
// hides a wrong index. They are exactly representable in their type, so that the reference and a
// candidate start from the same numbers. Gaps of strided operands hold NaN in the inputs, and of
// integers the bytes of poison.h, so that a candidate that computes with padding is found out. The
// buffers of a user's kernel hold the content that its problem defines, and its reference comes
// unchecked from the maker of the terms.
class ProblemData {
 public:
  // Half an hour on two cores. An f64 problem, which has more expensive arithmetic, may have a
  // tenth of it.
  static constexpr double kMaxReferenceMultiplyAdds = 2e13;

  // Generates inputs from `seed` and computes the reference in f64 (in double-double for an f64
  // problem) on every core that this process may use: a few ns for each element and about 0.1 s for
  // each 1e9 multiply-adds. A maker in `terms` is tried first; its reference is used if it passes
  // CheckReference. kUnsupported as from CheckVerifiable and CheckMemory; kResourceExhausted if a
  // limit of this process is lower than the memory that it may have; kDeadlineExceeded if `terms`
  // stopped it.
  static Result<ProblemData> Create(const Problem& problem, uint64_t seed,
                                    const ReferenceTerms& terms = {});

  // Ok, or kUnsupported, with the bytes, if the data of `problem` from Create does not fit into
  // memory together with the operands of one candidate. Quick: nothing is allocated. Call before
  // enumerating solvers: libraries take minutes over extents that are too large to compute.
  static Status CheckMemory(const Problem& problem);

  // Maps the data that Create made for the same problem out of `fd`, which is duplicated. kDataLoss
  // if it holds something else.
  static Result<ProblemData> Map(const Problem& problem, int fd);

  // The memory file, close-on-exec, owned by this object.
  int fd() const { return file_.fd(); }
  uint64_t seed() const;

  // Operand `i` in the order of Operands(problem), laid out as its TensorDesc with gaps. An in-out
  // operand has its initial content; an output has none and is empty.
  std::span<const std::byte> input(size_t i) const;

  // The right results of all outputs, one output after the other. An output has a number for each
  // element of its span, before rounding to its type: element o is at o. Only gaps hold NaN.
  std::span<const double> reference() const;
  // For operand `i` alone; empty for one that is only read.
  std::span<const double> reference(size_t i) const;

  // Values for the scalar classes of a GEMM; 1 and 0 for everything else.
  double alpha() const;
  double beta() const;

 private:
  friend class ReferenceDraft;
  struct Header;
  explicit ProblemData(MemoryFile file) : file_(std::move(file)) {}
  static Header Layout(const Problem& problem, uint64_t seed);
  // Ok if `file` holds the data of `problem`.
  static Result<ProblemData> Checked(const Problem& problem, MemoryFile file);
  const Header& header() const;
  // REQUIRES, as the next three: the file is not sealed.
  std::span<double> writable_reference();
  // Inputs, and NaN for a reference.
  Status MakeInputs(const Problem& problem, const Header& header, const DataReader& read_data,
                    WorkWatch& watch);
  // Throws std::bad_alloc.
  void ComputeReference(const Problem& problem, WorkWatch& watch);
  // For a user's kernel; this process cannot compute or check its reference.
  Status TakeReference(ReferenceMaker* maker, const Problem& problem, WorkWatch& watch);
  // Returns true if `maker` computed the reference. If not, it is NaN.
  bool IsMadeBy(ReferenceMaker& maker, const Problem& problem, WorkWatch& watch);

  MemoryFile file_;
};

// The data of a problem without its reference, for the process that computes the reference. Another
// process made the data and will seal them. Move-only.
class ReferenceDraft {
 public:
  // Maps the memory file `fd`, which is duplicated, to be written to. kDataLoss if it holds
  // something else than the data of `problem`; kFailedPrecondition if it is sealed.
  static Result<ReferenceDraft> Map(const Problem& problem, int fd);

  // Inputs and scalars; the reference holds the values written so far.
  const ProblemData& data() const { return data_; }
  // Gaps hold NaN, which must stay.
  std::span<double> reference() { return data_.writable_reference(); }

 private:
  explicit ReferenceDraft(ProblemData data) : data_(std::move(data)) {}

  ProblemData data_;
};

}  // namespace attune
