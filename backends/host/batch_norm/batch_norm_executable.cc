#include "backends/host/batch_norm/batch_norm_executable.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace attune::host::batch_norm {
namespace {

constexpr size_t kAlignment = 64;
// Merging fewer statistics than this is not worth waking a thread.
constexpr int64_t kMergesOfThread = 8192;

// Gives out parts of a workspace. With a null base, it only counts bytes.
class Carver {
 public:
  explicit Carver(std::byte* base) : base_(base) {}

  template <class T>
  T* Take(int64_t count) {
    T* const first = base_ == nullptr ? nullptr : reinterpret_cast<T*>(base_ + used_bytes_);
    const size_t size_bytes = static_cast<size_t>(count) * sizeof(T);
    used_bytes_ += (size_bytes + kAlignment - 1) / kAlignment * kAlignment;
    return first;
  }
  size_t used_bytes() const { return used_bytes_; }

 private:
  std::byte* const base_;
  size_t used_bytes_ = 0;
};

Statistics TakeStatistics(const Plan& plan, int64_t count, Carver& carver) {
  Statistics of;
  if (plan.has_moments()) {
    of.mean = carver.Take<double>(count);
    of.squares = carver.Take<double>(count);
  }
  if (plan.is_backward()) {
    of.sum = carver.Take<double>(count);
    of.product = carver.Take<double>(count);
  }
  return of;
}

Coefficients TakeCoefficients(int64_t count, Carver& carver) {
  Coefficients of;
  for (float** const array : {&of.mean, &of.scale, &of.offset, &of.slope}) {
    *array = carver.Take<float>(count);
  }
  return of;
}

template <class T>
T* Advance(T* first, int64_t count) {
  return first == nullptr ? nullptr : first + count;
}
Statistics Advance(const Statistics& of, int64_t count) {
  return {Advance(of.mean, count), Advance(of.squares, count), Advance(of.sum, count),
          Advance(of.product, count)};
}
Coefficients Advance(const Coefficients& of, int64_t count) {
  return {of.mean + count, of.scale + count, of.offset + count, of.slope + count};
}

// The statistics of values, as they are merged.
struct Moments {
  double count = 0;
  double mean = 0;
  double squares = 0;
  double sum = 0;
  double product = 0;

  void Add(const Statistics& of, int64_t slot, int64_t values) {
    if (values == 0) return;
    const auto added = static_cast<double>(values);
    const double all = count + added;
    const double difference = of.mean == nullptr ? 0 : of.mean[slot] - mean;
    const double step = difference * (added / all);
    if (of.mean != nullptr) squares += of.squares[slot] + difference * step * count;
    if (of.sum != nullptr) {
      product += of.product[slot] - step * sum + (difference - step) * of.sum[slot];
      sum += of.sum[slot];
    }
    mean += step;
    count = all;
  }
  void Write(const Statistics& to, int64_t group) const {
    if (to.mean != nullptr) {
      to.mean[group] = mean;
      to.squares[group] = squares;
    }
    if (to.sum != nullptr) {
      to.sum[group] = sum;
      to.product[group] = product;
    }
  }
};

// Memory for slots and groups. It is the same memory if a group has one slot.
struct Memory {
  Statistics slots;
  Statistics groups;
  Coefficients of_slots;
  Coefficients of_groups;
  float* scratch = nullptr;
};

class BatchNormExecutable final : public Executable {
 public:
  BatchNormExecutable(const Plan& plan, ThreadPool& pool)
      : plan_(plan), at_(OperandsOf(plan.norm)), pool_(pool) {
    Carver carver(nullptr);
    MemoryOfThreads(carver);
    workspace_bytes_ = carver.used_bytes() + kAlignment;
  }

  size_t workspace_bytes() const override { return workspace_bytes_; }
  bool is_concurrent() const override { return true; }

  Status Run(const Arguments& arguments) override {
    auto address = reinterpret_cast<uintptr_t>(Address(arguments.workspace));
    address = (address + kAlignment - 1) / kAlignment * kAlignment;
    Carver carver(reinterpret_cast<std::byte*>(address));
    const std::vector<Memory> memory = MemoryOfThreads(carver);
    if (plan_.splits_values) {
      RunValues(arguments, memory);
    } else {
      RunGroups(arguments, memory);
    }
    return Status::Ok();
  }

 private:
  static std::byte* Address(const BufferView& view) {
    return static_cast<std::byte*>(view.handle) + view.offset_bytes;
  }
  // Null for an operand that the problem does not have.
  static std::byte* At(const Arguments& arguments, int position, int64_t offset_bytes) {
    if (position < 0) return nullptr;
    return Address(arguments.operands[static_cast<size_t>(position)]) + offset_bytes;
  }
  static float* ValuesAt(const Arguments& arguments, int position, int64_t group) {
    return reinterpret_cast<float*>(
        At(arguments, position, group * static_cast<int64_t>(sizeof(float))));
  }

  template <class Task>
  void Parallel(int parts, const Task& task) {
    if (parts == 1) {
      task(0);
    } else {
      pool_.Run(parts, task);
    }
  }

  // The last one is shared if values are split.
  std::vector<Memory> MemoryOfThreads(Carver& carver) const {
    const View& view = plan_.view;
    const int64_t slots = plan_.splits_values ? view.slots : plan_.tiling.slots;
    const int64_t groups = slots / view.slots_of_group;
    const bool is_same = view.has_slot_for_each_group();
    std::vector<Memory> of_threads(static_cast<size_t>(plan_.threads));
    for (Memory& memory : of_threads) {
      memory.slots = TakeStatistics(plan_, slots, carver);
      memory.scratch = carver.Take<float>(ScratchFloats(plan_.tiling.slots, view.is_columns()));
      if (plan_.splits_values) continue;
      memory.groups = is_same ? memory.slots : TakeStatistics(plan_, groups, carver);
      memory.of_groups = TakeCoefficients(groups, carver);
      memory.of_slots = is_same ? memory.of_groups : TakeCoefficients(slots, carver);
    }
    if (!plan_.splits_values) return of_threads;
    Memory shared;
    shared.groups = TakeStatistics(plan_, groups, carver);
    shared.of_groups = TakeCoefficients(groups, carver);
    shared.of_slots = is_same ? shared.of_groups : TakeCoefficients(slots, carver);
    of_threads.push_back(shared);
    return of_threads;
  }

  void RunGroups(const Arguments& arguments, const std::vector<Memory>& memory) {
    const View& view = plan_.view;
    const int64_t groups = plan_.tiling.slots / view.slots_of_group;  // In a block.
    const int64_t blocks = (view.groups + groups - 1) / groups;
    Parallel(plan_.threads, [&](int part) {
      const int64_t end = blocks * (part + 1) / plan_.threads;
      for (int64_t block = blocks * part / plan_.threads; block < end; ++block) {
        const int64_t first = block * groups;
        RunBlock(arguments, memory[static_cast<size_t>(part)], first,
                 std::min(view.groups, first + groups));
      }
    });
  }

  void RunBlock(const Arguments& arguments, const Memory& memory, int64_t first,
                int64_t end) const {
    const View& view = plan_.view;
    const Region region{
        0, view.rows, first * view.slots_of_group, end * view.slots_of_group, 0, view.length, true};
    Prepare(arguments, memory, first, end - first);
    Accumulate(arguments, memory, region);
    if (!view.has_slot_for_each_group()) {
      for (int64_t group = 0; group < end - first; ++group) {
        Moments moments;
        for (int64_t i = 0; i < view.slots_of_group; ++i) {
          const int64_t slot = view.SlotOf(group, i);
          moments.Add(memory.slots, slot, region.CountOf(view, slot));
        }
        moments.Write(memory.groups, group);
      }
    }
    Finish(arguments, memory, first, end - first);
    Expand(memory, 0, end - first);
    Apply(arguments, memory, region);
  }

  void RunValues(const Arguments& arguments, const std::vector<Memory>& memory) {
    const View& view = plan_.view;
    const Memory& shared = memory.back();
    const int parts = plan_.threads;
    const auto of_part = [&](int part) {
      Memory of = memory[static_cast<size_t>(part)];
      of.of_slots = shared.of_slots;
      return of;
    };
    if (!plan_.is_inference()) {
      Prepare(arguments, shared, 0, view.groups);
      Parallel(parts,
               [&](int part) { Accumulate(arguments, of_part(part), PartOf(view, part, parts)); });
    }
    const bool is_small = view.slots * parts < kMergesOfThread;
    const int mergers = is_small ? 1 : parts;
    Parallel(mergers, [&](int merger) {
      const int64_t first = view.groups * merger / mergers;
      const int64_t end = view.groups * (merger + 1) / mergers;
      if (!plan_.is_inference()) MergeParts(memory, first, end);
      Memory of;
      of.groups = Advance(shared.groups, first);
      of.of_groups = Advance(shared.of_groups, first);
      of.of_slots = shared.of_slots;
      Finish(arguments, of, first, end - first);
      Expand(of, first, end - first);
    });
    Parallel(parts, [&](int part) { Apply(arguments, of_part(part), PartOf(view, part, parts)); });
  }

  // In the order of parts, so that the result does not depend on their timing.
  void MergeParts(const std::vector<Memory>& memory, int64_t first, int64_t end) const {
    const View& view = plan_.view;
    for (int64_t group = first; group < end; ++group) {
      Moments moments;
      for (int part = 0; part < plan_.threads; ++part) {
        const Region region = PartOf(view, part, plan_.threads);
        for (int64_t i = 0; i < view.slots_of_group; ++i) {
          const int64_t slot = view.SlotOf(group, i);
          moments.Add(memory[static_cast<size_t>(part)].slots, slot, region.CountOf(view, slot));
        }
      }
      moments.Write(memory.back().groups, group);
    }
  }

  // Gives the backward pass the mean that was saved.
  void Prepare(const Arguments& arguments, const Memory& memory, int64_t first,
               int64_t count) const {
    if (!plan_.is_backward() || plan_.has_moments()) return;
    const View& view = plan_.view;
    const float* const mean = ValuesAt(arguments, at_.mean, first);
    for (int64_t i = 0; i < view.slots_of_group; ++i) {
      for (int64_t group = 0; group < count; ++group) {
        memory.of_slots.mean[view.SlotOf(group, i)] = mean[group];
      }
    }
  }

  void Accumulate(const Arguments& arguments, const Memory& memory, const Region& region) const {
    const int64_t slots = region.slot_end - region.slot;
    const Statistics& of = memory.slots;
    for (double* const array : {of.mean, of.squares, of.sum, of.product}) {
      if (array != nullptr) std::fill_n(array, slots, 0.0);
    }
    if (plan_.is_inference()) return;
    const Pieces pieces(plan_.view, plan_.tiling, region);
    for (int64_t i = 0; i < pieces.size(); ++i) {
      TileCall call = CallOf(arguments, memory, region, pieces.At(i));
      if (plan_.has_moments()) {
        call.step = Step::kMoments;
        plan_.run(call);
      }
      if (plan_.is_backward()) {
        call.step = Step::kSums;
        plan_.run(call);
      }
    }
  }

  // Begins at the end, because its tiles were read last.
  void Apply(const Arguments& arguments, const Memory& memory, const Region& region) const {
    const Pieces pieces(plan_.view, plan_.tiling, region);
    for (int64_t i = pieces.size() - 1; i >= 0; --i) {
      TileCall call = CallOf(arguments, memory, region, pieces.At(i));
      call.step = plan_.is_backward() ? Step::kBackward : Step::kForward;
      call.streams = plan_.streams;
      plan_.run(call);
    }
  }

  TileCall CallOf(const Arguments& arguments, const Memory& memory, const Region& region,
                  const Piece& piece) const {
    const View& view = plan_.view;
    const int64_t offset =
        (piece.row * view.row_step() + piece.slot * view.slot_step + piece.begin) *
        static_cast<int64_t>(SizeBytes(plan_.norm.type));
    const bool is_backward = plan_.is_backward();
    TileCall call;
    Tile& tile = call.tile;
    tile.x = At(arguments, at_.x, offset);
    tile.dy = At(arguments, at_.dy, offset);
    tile.other = At(arguments, is_backward ? at_.y : at_.residual, offset);
    tile.out = At(arguments, is_backward ? at_.dx : at_.y, offset);
    tile.dresidual = At(arguments, at_.dresidual, offset);
    tile.rows = piece.rows;
    tile.row_step = view.row_step();
    tile.slots = piece.slots;
    tile.slot_step = view.slot_step;
    tile.length = piece.length;
    call.unroll = plan_.unroll;
    call.relu = HasRelu(plan_.norm.fusion);
    call.statistics = Advance(memory.slots, piece.slot - region.slot);
    call.coefficients = Advance(memory.of_slots, piece.slot - region.slot);
    call.before = piece.before;
    call.scratch = memory.scratch;
    return call;
  }

  // Coefficients and results of groups from `first`, with which the arrays of
  // `memory` begin.
  void Finish(const Arguments& arguments, const Memory& memory, int64_t first,
              int64_t count) const {
    FinishCall call;
    call.pass = plan_.norm.pass;
    call.groups = count;
    call.count = static_cast<double>(ShapeOf(plan_.norm).count());
    call.epsilon = arguments.alpha;
    call.momentum = arguments.beta;
    call.statistics = memory.groups;
    call.coefficients = memory.of_groups;
    const auto at = [&](int position) { return ValuesAt(arguments, position, first); };
    call.gamma = at(at_.gamma);
    call.beta = at(at_.beta);
    call.dgamma = at(at_.dgamma);
    call.dbeta = at(at_.dbeta);
    if (plan_.norm.pass == BatchNormPass::kTraining) {
      call.running_mean = at(at_.running_mean);
      call.running_variance = at(at_.running_variance);
      call.saved_mean = at(at_.mean);
      call.saved_inverse = at(at_.inverse_deviation);
    } else {
      call.given_mean = at(at_.mean);
      call.given_variance = at(at_.variance);
      call.given_inverse = at(at_.inverse_deviation);
    }
    plan_.finish(call);
  }

  // Copies coefficients of groups, of which the first is `first` in the arrays
  // of slots.
  void Expand(const Memory& memory, int64_t first, int64_t count) const {
    const View& view = plan_.view;
    if (view.has_slot_for_each_group()) return;
    const Coefficients& from = memory.of_groups;
    const Coefficients& to = memory.of_slots;
    for (int64_t i = 0; i < view.slots_of_group; ++i) {
      for (int64_t group = 0; group < count; ++group) {
        const int64_t slot = view.SlotOf(first + group, i);
        to.mean[slot] = from.mean[group];
        to.scale[slot] = from.scale[group];
        to.offset[slot] = from.offset[group];
        to.slope[slot] = from.slope[group];
      }
    }
  }

  const Plan plan_;
  const BatchNormOperands at_;
  ThreadPool& pool_;
  size_t workspace_bytes_ = 0;
};

}  // namespace

std::unique_ptr<Executable> MakeExecutable(const Plan& plan, ThreadPool& pool) {
  return std::make_unique<BatchNormExecutable>(plan, pool);
}

}  // namespace attune::host::batch_norm
