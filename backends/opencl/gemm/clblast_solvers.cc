#include "backends/opencl/gemm/clblast_solvers.h"

#include <utility>
#include <vector>

#include <fmt/format.h>

#include "attune/ops/conv/conv.h"
#include "attune/ops/gemm/gemm.h"
#include "backends/opencl/opencl_device.h"

namespace attune::opencl {
namespace {

// An operand as CLBlast takes it: a buffer, and elements from its start.
struct Place {
  cl_mem memory = nullptr;
  size_t offset = 0;
};

Place PlaceOf(BufferView view, size_t element_bytes) {
  return {static_cast<cl_mem>(view.handle), view.offset_bytes / element_bytes};
}

CLBlastTranspose ClblastTranspose(Transpose transpose) {
  return transpose == Transpose::kYes ? CLBlastTransposeYes : CLBlastTransposeNo;
}

class GemmExecutable final : public Executable {
 public:
  GemmExecutable(const ClblastLibrary& library, const Gemm& gemm, cl_command_queue queue)
      : library_(library), gemm_(gemm), queue_(queue) {}

  size_t workspace_bytes() const override { return 0; }

  Status Run(const Arguments& arguments) override {
    const size_t element_bytes = SizeBytes(gemm_.type);
    const Places places = {PlaceOf(arguments.operands[0], element_bytes),
                           PlaceOf(arguments.operands[1], element_bytes),
                           PlaceOf(arguments.operands.back(), element_bytes)};
    const bool f64 = gemm_.type == DataType::kF64;
    if (gemm_.batch_count > 1) {
      return f64 ? Batched(library_.dgemm_batched, arguments.alpha, arguments.beta, places)
                 : Batched(library_.sgemm_batched, static_cast<float>(arguments.alpha),
                           static_cast<float>(arguments.beta), places);
    }
    return f64 ? Single(library_.dgemm, arguments.alpha, arguments.beta, places)
               : Single(library_.sgemm, static_cast<float>(arguments.alpha),
                        static_cast<float>(arguments.beta), places);
  }

 private:
  struct Places {
    Place a;
    Place b;
    Place c;
  };

  template <class F, class T>
  Status Single(F function, T alpha, T beta, const Places& places) {
    const auto& [a, b, c] = places;
    return ClblastStatus(
        function(CLBlastLayoutColMajor, ClblastTranspose(gemm_.trans_a),
                 ClblastTranspose(gemm_.trans_b), Size(gemm_.m), Size(gemm_.n), Size(gemm_.k),
                 alpha, a.memory, a.offset, Size(gemm_.lda), b.memory, b.offset, Size(gemm_.ldb),
                 beta, c.memory, c.offset, Size(gemm_.ldc), &queue_, nullptr),
        "product");
  }

  template <class F, class T>
  Status Batched(F function, T alpha, T beta, const Places& places) {
    const auto& [a, b, c] = places;
    return ClblastStatus(
        function(CLBlastLayoutColMajor, ClblastTranspose(gemm_.trans_a),
                 ClblastTranspose(gemm_.trans_b), Size(gemm_.m), Size(gemm_.n), Size(gemm_.k),
                 alpha, a.memory, a.offset, Size(gemm_.lda), Size(gemm_.stride_a), b.memory,
                 b.offset, Size(gemm_.ldb), Size(gemm_.stride_b), beta, c.memory, c.offset,
                 Size(gemm_.ldc), Size(gemm_.stride_c), Size(gemm_.batch_count), &queue_, nullptr),
        "batched product");
  }

  static size_t Size(int64_t size) { return static_cast<size_t>(size); }

  const ClblastLibrary& library_;
  const Gemm gemm_;
  cl_command_queue queue_;
};

class ConvgemmExecutable final : public Executable {
 public:
  ConvgemmExecutable(const ClblastLibrary& library, const Conv& conv, cl_command_queue queue)
      : library_(library), conv_(conv), queue_(queue) {}

  size_t workspace_bytes() const override { return 0; }

  Status Run(const Arguments& arguments) override {
    const Place x = PlaceOf(arguments.operands[0], sizeof(float));
    const Place w = PlaceOf(arguments.operands[1], sizeof(float));
    const Place y = PlaceOf(arguments.operands[2], sizeof(float));
    const auto size = [](int64_t value) { return static_cast<size_t>(value); };
    return ClblastStatus(
        library_.sconvgemm(CLBlastKernelModeCrossCorrelation, size(conv_.in_channels),
                           size(conv_.in[1]), size(conv_.in[2]), size(conv_.filter[1]),
                           size(conv_.filter[2]), size(conv_.pad[1]), size(conv_.pad[2]),
                           size(conv_.stride[1]), size(conv_.stride[2]), size(conv_.dilation[1]),
                           size(conv_.dilation[2]), size(conv_.out_channels), size(conv_.batch),
                           x.memory, x.offset, w.memory, w.offset, y.memory, y.offset, &queue_,
                           nullptr),
        "convolution");
  }

 private:
  const ClblastLibrary& library_;
  const Conv conv_;
  cl_command_queue queue_;
};

// CLBlast compiles the kernels for a shape at its first call. That call is made here, on zeros:
// creating a candidate must not hide in its first launch. CLBlast's cache can be filled for a
// device (every kernel: minutes) and cleared, both in memory, but no function returns a binary.
// Only the driver's own cache outlives the process.
Status CallOnce(OpenClDevice& device, const Problem& problem, Executable& executable,
                cl_command_queue queue) {
  std::vector<std::unique_ptr<Buffer>> buffers;
  std::vector<BufferView> views;
  for (const Operand& operand : Operands(problem)) {
    ATTUNE_ASSIGN_OR_RETURN(std::unique_ptr<Buffer> buffer,
                            device.Allocate(SpanBytes(operand.tensor)));
    views.push_back(buffer->View(0));
    buffers.push_back(std::move(buffer));
  }
  ATTUNE_RETURN_IF_ERROR(executable.Run(Arguments{.operands = views, .workspace = {}}));
  return ClStatus(clFinish(queue), "Cannot finish CLBlast's first call");
}

class ClblastSolver : public Solver {
 public:
  ClblastSolver(const ClblastLibrary& library, std::string name, SolverTraits traits)
      : library_(library), id_{std::move(name), 1}, traits_(std::move(traits)) {}

  const SolverId& id() const override { return id_; }
  const SolverTraits& traits() const override { return traits_; }
  Status IsApplicable(const Problem& problem, const Target& target) const override {
    if (target.backend != "opencl") {
      return Unsupported(
          fmt::format("{} runs on OpenCL devices, not on '{}'.", id_.name, target.backend));
    }
    if (!library_.available()) return Unavailable(library_.report.missing);
    if (!Computes(problem))
      return Unsupported(
          fmt::format("{} does not compute this problem. {}", id_.name, traits_.description));
    return Status::Ok();
  }
  Result<ConfigSpace> Space(const Problem&, const Target&) const override { return ConfigSpace(); }
  Result<BuildRecipe> Recipe(const Problem&, const Config&, const Target&) const override {
    return BuildRecipe{};
  }
  Result<Artifact> Build(const BuildRecipe&) const override { return Artifact{}; }
  Result<std::unique_ptr<Executable>> Load(const Artifact&, const Problem& problem, const Config&,
                                           Device& device) const override {
    auto* opencl = dynamic_cast<OpenClDevice*>(&device);
    if (opencl == nullptr || !Computes(problem)) {
      return InvalidArgument(fmt::format("{} cannot run {} on '{}'.", id_.name,
                                         attune::Text(problem), attune::Text(device.target())));
    }
    // A queue of its own, so that calls of the program do not wait behind a compilation in the
    // queue of the device. Compiled code is kept for its context.
    cl_int code = CL_SUCCESS;
    const QueueHandle aside(
        clCreateCommandQueue(opencl->context(), opencl->entry().device, 0, &code));
    ATTUNE_RETURN_IF_ERROR(ClStatus(code, "Cannot create a queue to compile CLBlast's kernels"));
    ATTUNE_RETURN_IF_ERROR(CallOnce(*opencl, problem, *Make(problem, aside.get()), aside.get()));
    return Make(problem, opencl->queue());
  }

 protected:
  virtual bool Computes(const Problem& problem) const = 0;
  virtual std::unique_ptr<Executable> Make(const Problem& problem,
                                           cl_command_queue queue) const = 0;

  const ClblastLibrary& library_;

 private:
  const SolverId id_;
  const SolverTraits traits_;
};

class ClblastGemm final : public ClblastSolver {
 public:
  using ClblastSolver::ClblastSolver;

 private:
  bool Computes(const Problem& problem) const override {
    const Gemm* gemm = problem.As<Gemm>();
    return gemm != nullptr && (gemm->type == DataType::kF32 || gemm->type == DataType::kF64) &&
           gemm->c_type == gemm->type && gemm->math == MathMode::kStrict &&
           gemm->bias == Bias::kNone && gemm->activation == Activation::kNone;
  }
  std::unique_ptr<Executable> Make(const Problem& problem, cl_command_queue queue) const override {
    return std::make_unique<GemmExecutable>(library_, problem.Get<Gemm>(), queue);
  }
};

class ClblastConvgemm final : public ClblastSolver {
 public:
  using ClblastSolver::ClblastSolver;

 private:
  bool Computes(const Problem& problem) const override {
    const Conv* conv = problem.As<Conv>();
    return conv != nullptr && conv->direction == ConvDirection::kForward &&
           conv->mode == ConvMode::kConvolution && conv->spatial_rank == 2 && conv->groups == 1 &&
           conv->in_layout == Layout::kNchw && conv->weights_layout == Layout::kNchw &&
           conv->out_layout == Layout::kNchw && conv->type == DataType::kF32 &&
           conv->math == MathMode::kStrict && !conv->bias;
  }
  std::unique_ptr<Executable> Make(const Problem& problem, cl_command_queue queue) const override {
    return std::make_unique<ConvgemmExecutable>(library_, problem.Get<Conv>(), queue);
  }
};

}  // namespace

std::unique_ptr<const Solver> MakeClblastGemm(const ClblastLibrary& library) {
  SolverTraits traits;
  traits.description = "CLBlast: f32 and f64 matrix products without bias or activation.";
  traits.operator_name = "gemm";
  traits.ieee_special_values = true;
  traits.compiles_when_loaded = true;
  return std::make_unique<ClblastGemm>(library, "opencl.clblast-gemm", std::move(traits));
}

std::unique_ptr<const Solver> MakeClblastConvgemm(const ClblastLibrary& library) {
  SolverTraits traits;
  traits.description = "CLBlast: forward 2-D NCHW f32 convolutions without groups or bias.";
  traits.operator_name = "conv";
  traits.compiles_when_loaded = true;
  return std::make_unique<ClblastConvgemm>(library, "opencl.clblast-convgemm", std::move(traits));
}

}  // namespace attune::opencl
