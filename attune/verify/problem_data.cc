#include "attune/verify/problem_data.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <vector>

#include <fmt/format.h>

#include "attune/base/element.h"
#include "attune/base/parallel_for.h"
#include "attune/base/random.h"
#include "attune/ops/registry.h"
#include "attune/problem/own_kernel.h"
#include "attune/problem/reference.h"
#include "attune/verify/fill.h"
#include "attune/verify/memory_limit.h"
#include "attune/verify/poison.h"
#include "attune/verify/reference_cost.h"
#include "attune/verify/reference_sample.h"

namespace attune {

struct ProblemData::Header {
  static constexpr uint64_t kMagic = 0x3261746164747461;  // "attdata2"
  static constexpr size_t kMaxOperands = kMaxOwnBuffers;

  uint64_t magic = kMagic;
  Fingerprint problem;
  uint64_t seed = 0;
  double alpha = 1;
  double beta = 0;
  uint64_t operand_count = 0;
  // In bytes from the start of the file; an output has size 0.
  uint64_t offsets[kMaxOperands] = {};
  uint64_t sizes[kMaxOperands] = {};
  uint64_t reference_offset = 0;
  uint64_t reference_count = 0;
  // For each written operand, in elements of the reference; an input has 0 of them.
  uint64_t reference_begins[kMaxOperands] = {};
  uint64_t reference_counts[kMaxOperands] = {};
  uint64_t file_size = 0;
};

namespace {

constexpr size_t kPage = 4096;
// Elements for each task of a parallel loop: a few hundred microseconds.
constexpr int64_t kSlice = 1 << 16;

size_t RoundUp(size_t size) { return (size + kPage - 1) / kPage * kPage; }

Status CheckTypes(const Problem& problem, const std::vector<Operand>& operands) {
  if (IsOwnKernel(problem) && !operands.empty()) {
    for (const Operand& operand : operands) {
      if (operand.role == OperandRole::kIn) continue;
      ATTUNE_RETURN_IF_ERROR(CheckTypeOfOutput(operand.name, operand.tensor.type));
    }
    return Status::Ok();
  }
  const Reference* const reference = problem.op().reference();
  if (reference == nullptr) {
    return Unsupported(fmt::format("Operator {} has no reference here; there are those of {}.",
                                   OperatorName(problem), fmt::join(OperatorNames(), ", ")));
  }
  return reference->CheckVerifiable(problem);
}

// Refuses before anything is computed: a reference that takes a day is useless.
Status CheckWork(const Problem& problem, const Operand& output) {
  // The author of a kernel knows how long its reference takes.
  if (IsOwnKernel(problem)) return Status::Ok();
  const double multiply_adds = ReferenceMultiplyAdds(problem);
  const double limit = ProblemData::kMaxReferenceMultiplyAdds / MultiplyAddCost(problem);
  if (multiply_adds <= limit) return Status::Ok();
  return Unsupported(fmt::format(
      "The reference of {} takes {:.3g} multiply-adds; at most {:.3g} are computed for {}. Tune a "
      "smaller problem of the same shape.",
      Text(problem), multiply_adds, limit, Name(output.tensor.type)));
}

// Memory for making `problem`'s data and then running one candidate at a time on it.
struct Footprint {
  double file_bytes = 0;       // Inputs and reference.
  double decoded_bytes = 0;    // Inputs as f64, while the reference is computed.
  double candidate_bytes = 0;  // Operands of a candidate, and its output read back.
  // Decoded inputs are freed before the first candidate runs.
  double Peak() const { return file_bytes + std::max(decoded_bytes, candidate_bytes); }
};

Footprint FootprintOf(const std::vector<Operand>& operands, size_t file_bytes) {
  Footprint footprint;
  footprint.file_bytes = static_cast<double>(file_bytes);
  for (const Operand& operand : operands) {
    const auto size_bytes = static_cast<double>(SpanBytes(operand.tensor));
    footprint.candidate_bytes += size_bytes;
    if (operand.role != OperandRole::kIn) footprint.candidate_bytes += size_bytes;
    if (operand.role == OperandRole::kOut) continue;
    footprint.decoded_bytes += static_cast<double>(SpanElements(operand.tensor)) * sizeof(double);
  }
  return footprint;
}

// Three quarters of the limit: the rest is for programs, compilers and workspaces.
Status CheckSize(const Footprint& footprint) {
  // Read once: lists of 100,000 problems are checked, and limits hardly change in a process.
  static const double limit_bytes = 0.75 * static_cast<double>(MemoryLimitBytes());
  if (footprint.Peak() <= limit_bytes) return Status::Ok();
  return Unsupported(fmt::format(
      "The problem takes {:.0f} bytes (inputs and reference {:.0f}, decoded inputs {:.0f}, "
      "operands "
      "of a candidate {:.0f}), which exceeds three quarters of the memory of this process ({:.0f} "
      "bytes). Tune a smaller problem, or allow more memory.",
      footprint.Peak(), footprint.file_bytes, footprint.decoded_bytes, footprint.candidate_bytes,
      limit_bytes));
}

// Calls visit(offset, length) for contiguous runs of elements that cover `tensor` in any order.
template <class Visit>
void ForEachRun(const TensorDesc& tensor, const Visit& visit) {
  // Dimensions from the innermost in memory outwards, those that continue the run merged into it.
  std::vector<std::pair<int64_t, int64_t>> dimensions;  // stride, extent
  for (size_t i = 0; i < tensor.extents.size(); ++i) {
    if (tensor.extents[i] > 1) dimensions.emplace_back(tensor.strides[i], tensor.extents[i]);
  }
  std::sort(dimensions.begin(), dimensions.end());
  int64_t length = 1;
  size_t merged = 0;
  while (merged < dimensions.size() && dimensions[merged].first == length) {
    length *= dimensions[merged++].second;
  }
  dimensions.erase(dimensions.begin(), dimensions.begin() + static_cast<ptrdiff_t>(merged));
  std::vector<int64_t> at(dimensions.size(), 0);
  int64_t offset = 0;
  while (true) {
    visit(offset, length);
    size_t i = 0;
    for (; i < at.size(); ++i) {
      offset += dimensions[i].first;
      if (++at[i] < dimensions[i].second) break;
      offset -= dimensions[i].first * at[i];
      at[i] = 0;
    }
    if (i == at.size()) return;
  }
}

void GenerateOperand(const TensorDesc& tensor, uint64_t seed, std::byte* memory, WorkWatch& watch) {
  const bool has_gaps = SpanElements(tensor) != ElementCount(tensor);
  if (!has_gaps) {
    const int64_t count = SpanElements(tensor);
    ParallelFor((count + kSlice - 1) / kSlice, [&](int64_t slice) {
      if (!watch.Note(0)) return;
      const int64_t first = slice * kSlice;
      GenerateElements(tensor.type, seed, first, std::min(kSlice, count - first), memory);
    });
    return;
  }
  FillWithPoison({memory, SpanBytes(tensor)});
  ForEachRun(tensor, [&](int64_t offset, int64_t length) {
    GenerateElements(tensor.type, seed, offset, length, memory);
  });
}

// Changes an operand without gaps as its operator requires.
void AdjustOperand(const Problem& problem, size_t operand, const TensorDesc& tensor,
                   std::byte* memory, WorkWatch& watch) {
  const Reference& reference = *problem.op().reference();
  const auto element_bytes = static_cast<int64_t>(SizeBytes(tensor.type));
  const int64_t count = SpanElements(tensor);
  ParallelFor((count + kSlice - 1) / kSlice, [&](int64_t slice) {
    if (!watch.Note(0)) return;
    const int64_t first = slice * kSlice;
    std::vector<double> values(static_cast<size_t>(std::min(kSlice, count - first)));
    std::byte* at = memory + first * element_bytes;
    Decode(tensor.type, {at, values.size() * static_cast<size_t>(element_bytes)}, values);
    reference.AdjustInput(problem, operand, first, values);
    for (const double value : values) {
      Encode(tensor.type, value, at);
      at += element_bytes;
    }
  });
}

void FillBuffer(const OwnBuffer& buffer, uint64_t seed, std::span<std::byte> memory,
                WorkWatch& watch) {
  const auto count = static_cast<int64_t>(memory.size() / SizeBytes(buffer.type));
  ParallelFor((count + kSlice - 1) / kSlice, [&](int64_t slice) {
    if (!watch.Note(0)) return;
    const int64_t first = slice * kSlice;
    FillElements(buffer.fill, buffer.type, seed, {first, std::min(kSlice, count - first)},
                 memory.data());
  });
}

OperandValues DecodeOperand(const TensorDesc& tensor, const std::byte* memory, WorkWatch& watch) {
  OperandValues values(static_cast<size_t>(SpanElements(tensor)));
  const auto count = static_cast<int64_t>(values.size());
  const auto element_bytes = static_cast<int64_t>(SizeBytes(tensor.type));
  ParallelFor((count + kSlice - 1) / kSlice, [&](int64_t slice) {
    if (!watch.Note(0)) return;
    const int64_t first = slice * kSlice;
    const auto length = static_cast<size_t>(std::min(kSlice, count - first));
    Decode(tensor.type,
           {memory + first * element_bytes, length * static_cast<size_t>(element_bytes)},
           std::span(values).subspan(static_cast<size_t>(first), length));
  });
  return values;
}

}  // namespace

// The layout of the file.
ProblemData::Header ProblemData::Layout(const Problem& problem, uint64_t seed) {
  Header header;
  header.problem = KeyOf(problem);
  header.seed = seed;
  const Scalars scalars = problem.op().ScalarsOf(problem);
  header.alpha = scalars.alpha;
  header.beta = scalars.beta;
  const std::vector<Operand> operands = Operands(problem);
  assert(operands.size() <= Header::kMaxOperands);
  size_t end = RoundUp(sizeof(Header));
  for (size_t i = 0; i < operands.size(); ++i) {
    header.offsets[i] = end;
    header.sizes[i] = operands[i].role == OperandRole::kOut ? 0 : SpanBytes(operands[i].tensor);
    end += RoundUp(header.sizes[i]);
  }
  header.operand_count = operands.size();
  header.reference_offset = end;
  for (size_t i = 0; i < operands.size(); ++i) {
    // The last is the output; a user's kernel may write others, too.
    const bool is_output = operands[i].role != OperandRole::kIn;
    header.reference_begins[i] = header.reference_count;
    if (is_output) {
      header.reference_counts[i] = static_cast<uint64_t>(SpanElements(operands[i].tensor));
    }
    header.reference_count += header.reference_counts[i];
  }
  header.file_size = end + RoundUp(header.reference_count * sizeof(double));
  return header;
}

Status CheckVerifiable(const Problem& problem) {
  const std::vector<Operand> operands = Operands(problem);
  ATTUNE_RETURN_IF_ERROR(CheckTypes(problem, operands));
  return CheckWork(problem, operands.back());
}

Status ProblemData::CheckMemory(const Problem& problem) {
  const std::vector<Operand> operands = Operands(problem);
  // An operator without a reference, which has no data.
  if (operands.empty()) return Status::Ok();
  return CheckSize(FootprintOf(operands, Layout(problem, 0).file_size));
}

Result<ProblemData> ProblemData::Create(const Problem& problem, uint64_t seed,
                                        const ReferenceTerms& terms) {
  ATTUNE_RETURN_IF_ERROR(Validate(problem));
  const std::vector<Operand> operands = Operands(problem);
  ATTUNE_RETURN_IF_ERROR(CheckVerifiable(problem));
  ATTUNE_RETURN_IF_ERROR(CheckMemory(problem));
  const Header header = Layout(problem, seed);
  ATTUNE_ASSIGN_OR_RETURN(MemoryFile file, MemoryFile::Create(header.file_size));
  ProblemData data(std::move(file));
  WorkWatch watch(terms.go_on, ReferenceMultiplyAdds(problem));
  try {
    ATTUNE_RETURN_IF_ERROR(data.MakeInputs(problem, header, terms.read_data, watch));
    if (IsOwnKernel(problem)) {
      if (!watch.stopped()) ATTUNE_RETURN_IF_ERROR(data.TakeReference(terms.maker, problem, watch));
    } else {
      const bool is_made =
          !watch.stopped() && terms.maker != nullptr && data.IsMadeBy(*terms.maker, problem, watch);
      if (!is_made) data.ComputeReference(problem, watch);
    }
  } catch (const std::bad_alloc&) {
    // Data that fits into the machine may still exceed a limit of this process.
    const Footprint footprint = FootprintOf(operands, header.file_size);
    return ResourceExhausted(fmt::format(
        "Computing the reference ran out of memory: {:.0f} bytes of decoded inputs beside {:.0f} "
        "bytes of inputs and reference. Raise the limits of this process (ulimit -v).",
        footprint.decoded_bytes, footprint.file_bytes));
  }
  if (watch.stopped()) {
    return DeadlineExceeded(
        fmt::format("Stopped, as asked, while the reference of {} was computed.", Text(problem)));
  }
  ATTUNE_RETURN_IF_ERROR(data.file_.Seal());
  return data;
}

Status ProblemData::MakeInputs(const Problem& problem, const Header& header,
                               const DataReader& read_data, WorkWatch& watch) {
  std::byte* const memory = file_.writable_bytes().data();
  std::memcpy(memory, &header, sizeof(header));
  const std::vector<Operand> operands = Operands(problem);
  OwnKernelProblem own;
  if (IsOwnKernel(problem)) {
    ATTUNE_ASSIGN_OR_RETURN(own, OwnKernelOf(problem));
  }
  const std::vector<OwnBuffer>& buffers = own.buffers;
  Random seeds(header.seed);
  for (size_t i = 0; i < operands.size(); ++i) {
    const uint64_t operand_seed = seeds.Next();
    if (header.sizes[i] == 0) continue;
    if (buffers.empty()) {
      std::byte* const operand = memory + header.offsets[i];
      GenerateOperand(operands[i].tensor, operand_seed, operand, watch);
      if (problem.op().reference()->AdjustsInput(problem, i)) {
        AdjustOperand(problem, i, operands[i].tensor, operand, watch);
      }
    } else if (buffers[i].fill.kind != BufferFill::Kind::kFile) {
      FillBuffer(buffers[i], operand_seed, {memory + header.offsets[i], header.sizes[i]}, watch);
    } else if (read_data) {
      ATTUNE_RETURN_IF_ERROR(read_data(own, i, {memory + header.offsets[i], header.sizes[i]}));
    } else {
      return Unsupported(fmt::format("Nobody here reads the data of kernel {}.", own.name));
    }
    if (watch.stopped()) return Status::Ok();
  }
  const std::span<double> reference = writable_reference();
  std::fill(reference.begin(), reference.end(), std::numeric_limits<double>::quiet_NaN());
  return Status::Ok();
}

void ProblemData::ComputeReference(const Problem& problem, WorkWatch& watch) {
  const std::vector<Operand> operands = Operands(problem);
  std::vector<OperandValues> inputs;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (watch.stopped()) return;
    if (input(i).empty()) continue;
    inputs.push_back(DecodeOperand(operands[i].tensor, input(i).data(), watch));
  }
  if (watch.stopped()) return;
  problem.op().reference()->Compute(problem, inputs, writable_reference(), watch);
}

Status ProblemData::TakeReference(ReferenceMaker* maker, const Problem& problem, WorkWatch& watch) {
  ATTUNE_ASSIGN_OR_RETURN(const OwnKernelProblem own, OwnKernelOf(problem));
  if (maker == nullptr) {
    return Unsupported(fmt::format("Nobody here computes the reference of kernel {}.", own.name));
  }
  const Status made = maker->Make(problem, fd(), [&watch] { return watch.Note(0); });
  if (!made.ok()) return made.WithContext(fmt::format("The reference of kernel {}", own.name));
  if (watch.stopped()) return Status::Ok();
  for (size_t i = 0; i < own.buffers.size(); ++i) {
    const std::span<const double> values = reference(i);
    const auto bad = std::find_if_not(values.begin(), values.end(),
                                      [](double value) { return std::isfinite(value); });
    if (bad == values.end()) continue;
    return Unsupported(
        fmt::format("The reference of kernel {} leaves {} in element {} of {}, which nothing can "
                    "be compared with. Mend the reference, or how the inputs are filled.",
                    own.name, *bad, bad - values.begin(), own.buffers[i].name));
  }
  return Status::Ok();
}

bool ProblemData::IsMadeBy(ReferenceMaker& maker, const Problem& problem, WorkWatch& watch) {
  Status made = maker.Make(problem, fd(), [&watch] { return watch.Note(0); });
  if (made.ok()) {
    std::vector<std::span<const std::byte>> inputs;
    for (size_t i = 0; i < header().operand_count; ++i) inputs.push_back(input(i));
    made = CheckReference(problem, inputs, reference(), seed());
    if (made.ok()) return true;
    maker.Distrust(made);
  }
  const std::span<double> reference = writable_reference();
  std::fill(reference.begin(), reference.end(), std::numeric_limits<double>::quiet_NaN());
  return false;
}

Result<ProblemData> ProblemData::Map(const Problem& problem, int fd) {
  ATTUNE_RETURN_IF_ERROR(Validate(problem));
  ATTUNE_RETURN_IF_ERROR(CheckTypes(problem, Operands(problem)));
  ATTUNE_ASSIGN_OR_RETURN(MemoryFile file, MemoryFile::Map(fd));
  return Checked(problem, std::move(file));
}

Result<ProblemData> ProblemData::Checked(const Problem& problem, MemoryFile file) {
  ProblemData data(std::move(file));
  const size_t size_bytes = data.file_.bytes().size();
  if (size_bytes < sizeof(Header)) {
    return DataLoss(fmt::format("Problem data of {} bytes is too short for a header of {} bytes.",
                                size_bytes, sizeof(Header)));
  }
  const Header expected = Layout(problem, data.seed());
  if (std::memcmp(&expected, data.file_.bytes().data(), sizeof(Header)) != 0 ||
      expected.file_size != size_bytes) {
    return DataLoss(fmt::format("Descriptor {} holds the data of another problem than {}.",
                                data.fd(), Text(problem)));
  }
  return data;
}

Result<ReferenceDraft> ReferenceDraft::Map(const Problem& problem, int fd) {
  ATTUNE_RETURN_IF_ERROR(Validate(problem));
  ATTUNE_RETURN_IF_ERROR(CheckTypes(problem, Operands(problem)));
  ATTUNE_ASSIGN_OR_RETURN(MemoryFile file, MemoryFile::MapWritable(fd));
  ATTUNE_ASSIGN_OR_RETURN(ProblemData data, ProblemData::Checked(problem, std::move(file)));
  return ReferenceDraft(std::move(data));
}

const ProblemData::Header& ProblemData::header() const {
  return *reinterpret_cast<const Header*>(file_.bytes().data());
}

uint64_t ProblemData::seed() const { return header().seed; }
double ProblemData::alpha() const { return header().alpha; }
double ProblemData::beta() const { return header().beta; }

std::span<const std::byte> ProblemData::input(size_t i) const {
  assert(i < header().operand_count);
  return file_.bytes().subspan(header().offsets[i], header().sizes[i]);
}

std::span<const double> ProblemData::reference() const {
  const std::byte* begin = file_.bytes().data() + header().reference_offset;
  return {reinterpret_cast<const double*>(begin), header().reference_count};
}

std::span<const double> ProblemData::reference(size_t i) const {
  assert(i < header().operand_count);
  return reference().subspan(header().reference_begins[i], header().reference_counts[i]);
}

std::span<double> ProblemData::writable_reference() {
  std::byte* const begin = file_.writable_bytes().data() + header().reference_offset;
  return {reinterpret_cast<double*>(begin), header().reference_count};
}

}  // namespace attune
