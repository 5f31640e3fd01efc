#include "backends/host/conv/direct_conv.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attune/ops/conv/conv.h"
#include "attune/solver/config_checker.h"
#include "attune/space/first_config.h"
#include "backends/host/conv/conv_form.h"
#include "backends/host/conv/tap_conv.h"
#include "backends/host/conv/tap_plan.h"
#include "backends/host/conv/weight_gradient.h"

namespace attune::host {
namespace {

// With fewer output channels than this most lanes of every vector would compute zeros.
constexpr int64_t kMinOutChannels = 3;

// The most values that a parameter about cache blocks gets.
constexpr size_t kMaxBlockValues = 4;

// Sizes that decide which configs are worth a trial, for any direction.
struct Extents {
  int64_t tiled;     // Extent that register tiles cut: columns, or input channels.
  int64_t lanes;     // Channels that vectors run over.
  int64_t channels;  // Summed channels; 1 for backward weights.
  int64_t rows;      // Output rows of one pass.
  int64_t batch;
};

Extents ExtentsOf(const Conv& conv) {
  const ConvForm form = FormOf(conv);
  const Spatial out = OutputExtent(conv);
  switch (conv.direction) {
    case ConvDirection::kForward:
      return {out[2], form.out_channels, form.in_channels, out[0] * out[1], conv.batch};
    case ConvDirection::kBackwardData: {
      const auto per_pass = [&](size_t dim) {
        return (conv.in[dim] + conv.stride[dim] - 1) / conv.stride[dim];
      };
      return {per_pass(2), form.in_channels, form.out_channels, per_pass(0) * per_pass(1),
              conv.batch};
    }
    case ConvDirection::kBackwardWeights:
      return {form.in_channels, form.out_channels, 1, out[0] * out[1], conv.batch};
  }
  return {};
}

// The tiles that cut `extent` into equal pieces waste nothing, so only these sizes are tried: one
// for each number of pieces, largest first.
std::vector<int64_t> TileValues(int64_t extent, int64_t largest) {
  std::vector<int64_t> values;
  for (int64_t pieces = PieceCount(extent, largest); values.size() < 6 && pieces <= extent;
       ++pieces) {
    const int64_t size = (extent + pieces - 1) / pieces;
    if (values.empty() || values.back() != size) values.push_back(size);
    if (size <= 4) break;
  }
  return values;
}

// `extent` itself and powers of two below it, down to `smallest`, the one closest to `preferred`
// first.
std::vector<int64_t> BlockValues(int64_t extent, int64_t smallest, int64_t preferred) {
  std::vector<int64_t> values;
  if (extent <= preferred) values.push_back(extent);
  for (int64_t size = preferred; size >= smallest && values.size() < kMaxBlockValues; size /= 2) {
    if (size < extent) values.push_back(size);
  }
  for (int64_t size = preferred * 2; size < extent && values.size() < kMaxBlockValues; size *= 4) {
    values.push_back(size);
  }
  if (extent > preferred) values.push_back(extent);
  return values;
}

std::vector<ParameterValue> Values(const std::vector<int64_t>& sizes) {
  return {sizes.begin(), sizes.end()};
}

std::vector<ParameterValue> ThreadValues(int compute_units) {
  std::vector<ParameterValue> values;
  for (int64_t threads = compute_units; threads > 1; threads /= 2) values.emplace_back(threads);
  values.emplace_back(int64_t{1});
  return values;
}

// Vectors that the lanes fill, and the tiles that fit each count into registers.
void AddRegisterTiles(const Extents& extents, const MicroKernelSet& kernels,
                      std::vector<int64_t>& vectors, std::vector<int64_t>& tiles) {
  const int64_t filled = (extents.lanes + kernels.vector_floats - 1) / kernels.vector_floats;
  for (const int64_t count : {2, 1, 3, 4}) {
    if (count > 1 && count > filled) continue;
    if (kernels.max_rows[count] == 0) continue;
    vectors.push_back(count);
    for (const int64_t tile : TileValues(extents.tiled, kernels.max_rows[count])) {
      if (std::find(tiles.begin(), tiles.end(), tile) == tiles.end()) tiles.push_back(tile);
    }
  }
}

Constraint FitsRegisters(const MicroKernelSet& kernels) {
  Constraint constraint;
  constraint.names = {"tile", "vectors"};
  constraint.text = "tile x vectors sums fit the vector registers";
  constraint.holds = [&kernels](const Expression::Lookup& at) -> Result<bool> {
    const int64_t vectors = std::get<int64_t>(*at("vectors"));
    return std::get<int64_t>(*at("tile")) <= kernels.max_rows[vectors];
  };
  return constraint;
}

Constraint SplitNeedsThreads() {
  Constraint constraint;
  constraint.names = {"split", "threads"};
  constraint.text = "one thread has nothing to split";
  constraint.holds = [](const Expression::Lookup& at) -> Result<bool> {
    return std::get<int64_t>(*at("threads")) > 1 || std::get<std::string>(*at("split")) == "work";
  };
  return constraint;
}

// The default comes first in every list: two vectors with the largest tile.
SpaceDescription Describe(const Conv& conv, const MicroKernelSet& kernels, int compute_units) {
  const Extents extents = ExtentsOf(conv);
  std::vector<int64_t> vectors, tiles;
  AddRegisterTiles(extents, kernels, vectors, tiles);
  std::vector<ParameterValue> split = {std::string("work")};
  if (extents.batch > 1 && compute_units > 1) split.emplace_back(std::string("images"));
  return {{{"vectors", Values(vectors)},
           {"tile", Values(tiles)},
           {"channels", Values(BlockValues(extents.channels, 16, 64))},
           {"rows", Values(BlockValues(extents.rows, 1, 4))},
           {"order", {std::string("filters"), std::string("rows")}},
           {"split", split},
           {"threads", ThreadValues(compute_units)}},
          {FitsRegisters(kernels), SplitNeedsThreads()}};
}

DirectBlocking BlockingOf(const Config& config) {
  DirectBlocking blocking;
  blocking.tile = static_cast<int>(IntegerAt(config, "tile"));
  blocking.vectors = static_cast<int>(IntegerAt(config, "vectors"));
  blocking.channels = IntegerAt(config, "channels");
  blocking.rows = IntegerAt(config, "rows");
  blocking.rows_outermost = StringAt(config, "order") == "rows";
  blocking.split_images = StringAt(config, "split") == "images";
  blocking.threads = static_cast<int>(IntegerAt(config, "threads"));
  return blocking;
}

template <class T>
T* AddressOf(const BufferView& view) {
  return reinterpret_cast<T*>(static_cast<char*>(view.handle) + view.offset_bytes);
}

// Forward and backward data.
class TapExecutable final : public Executable {
 public:
  TapExecutable(const Conv& conv, TapPlan plan, const DirectBlocking& blocking,
                const MicroKernelSet& kernels, ThreadPool& pool)
      : forward_(conv.direction == ConvDirection::kForward),
        bias_(conv.bias),
        roles_(RolesOf(conv)),
        conv_(std::move(plan), blocking, kernels, pool) {}

  size_t workspace_bytes() const override { return conv_.workspace_bytes(); }

  Status Run(const Arguments& arguments) override {
    const auto& operands = arguments.operands;
    conv_.Run(AddressOf<const float>(operands[forward_ ? roles_.x : roles_.y]),
              AddressOf<const float>(operands[roles_.w]),
              bias_ ? AddressOf<const float>(operands[roles_.bias]) : nullptr,
              AddressOf<float>(operands[forward_ ? roles_.y : roles_.x]),
              AddressOf<float>(arguments.workspace));
    return Status::Ok();
  }

 private:
  const bool forward_;
  const bool bias_;
  const ConvRoles roles_;
  TapConv conv_;
};

class GradientExecutable final : public Executable {
 public:
  GradientExecutable(const Conv& conv, const DirectBlocking& blocking,
                     const MicroKernelSet& kernels, ThreadPool& pool)
      : roles_(RolesOf(conv)), gradient_(FormOf(conv), blocking, kernels, pool) {}

  size_t workspace_bytes() const override { return gradient_.workspace_bytes(); }

  Status Run(const Arguments& arguments) override {
    const auto& operands = arguments.operands;
    gradient_.Run(AddressOf<const float>(operands[roles_.x]),
                  AddressOf<const float>(operands[roles_.y]), AddressOf<float>(operands[roles_.w]),
                  AddressOf<float>(arguments.workspace));
    return Status::Ok();
  }

 private:
  const ConvRoles roles_;
  WeightGradient gradient_;
};

class DirectConvSolver final : public Solver, public ConfigChecker {
 public:
  DirectConvSolver(ThreadPool& pool, IsaLevel level)
      : pool_(pool), kernels_(MicroKernelsFor(level)) {}

  const SolverId& id() const override { return id_; }
  const SolverTraits& traits() const override { return traits_; }

  Status IsApplicable(const Problem& problem, const Target& target) const override {
    if (target.backend != "host") {
      return Unsupported("host.direct-conv runs on the host, not on backend '" + target.backend +
                         "'.");
    }
    const Conv* conv = problem.As<Conv>();
    if (conv == nullptr) return Unsupported("host.direct-conv computes convolutions only.");
    if (conv->mode != ConvMode::kConvolution) {
      return Unsupported("host.direct-conv computes plain convolutions, not transposed ones.");
    }
    if (conv->type != DataType::kF32) {
      return Unsupported("host.direct-conv computes f32, not " + std::string(Name(conv->type)) +
                         ".");
    }
    const int64_t lanes = ExtentsOf(*conv).lanes;
    if (lanes < kMinOutChannels) {
      return Unsupported("host.direct-conv puts channels into vectors, and " +
                         std::to_string(lanes) + " of each group are too few (at least " +
                         std::to_string(kMinOutChannels) + ").");
    }
    return Status::Ok();
  }

  Result<ConfigSpace> Space(const Problem& problem, const Target& target) const override {
    ATTUNE_RETURN_IF_ERROR(IsApplicable(problem, target));
    SpaceDescription description = Describe(problem.Get<Conv>(), kernels_, ThreadsOn(target));
    return ConfigSpace::Create(std::move(description.parameters),
                               std::move(description.constraints));
  }

  // Serves first calls, for which listing the whole space would be two fifths of the work.
  Result<Config> DefaultConfig(const Problem& problem, const Target& target) const override {
    return FirstConfig(Describe(problem.Get<Conv>(), kernels_, ThreadsOn(target)));
  }

  Result<bool> HasConfig(const Problem& problem, const Config& config,
                         const Target& target) const override {
    return attune::HasConfig(Describe(problem.Get<Conv>(), kernels_, ThreadsOn(target)), config);
  }

  Result<BuildRecipe> Recipe(const Problem&, const Config&, const Target&) const override {
    return BuildRecipe();
  }
  Result<Artifact> Build(const BuildRecipe&) const override { return Artifact(); }

  Result<std::unique_ptr<Executable>> Load(const Artifact&, const Problem& problem,
                                           const Config& config, Device&) const override {
    const Conv& conv = problem.Get<Conv>();
    const DirectBlocking blocking = BlockingOf(config);
    std::unique_ptr<Executable> executable;
    if (conv.direction == ConvDirection::kBackwardWeights) {
      executable = std::make_unique<GradientExecutable>(conv, blocking, kernels_, pool_);
    } else {
      const ConvForm form = FormOf(conv);
      TapPlan plan =
          conv.direction == ConvDirection::kForward ? ForwardPlan(form) : BackwardDataPlan(form);
      executable =
          std::make_unique<TapExecutable>(conv, std::move(plan), blocking, kernels_, pool_);
    }
    return executable;
  }

 private:
  int ThreadsOn(const Target& target) const {
    return std::min(std::max(1, target.compute_units), pool_.max_threads());
  }

  const SolverId id_{"host.direct-conv", 1};
  const SolverTraits traits_{
      .description = "attune's own direct convolution with tunable register and cache blocks",
      .operator_name = "conv",
      .instant = true};
  ThreadPool& pool_;
  const MicroKernelSet& kernels_;
};

}  // namespace

std::unique_ptr<const Solver> MakeDirectConvSolver(ThreadPool& pool, IsaLevel level) {
  return std::make_unique<DirectConvSolver>(pool, level);
}

}  // namespace attune::host
