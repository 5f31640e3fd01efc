#include "backends/fake/gemm/fake_reference.h"

#include <limits>
#include <span>
#include <vector>

#include "attune/base/element.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/problem/reference.h"
#include "backends/fake/fake_faults.h"

namespace attune {
namespace {

std::byte* Address(BufferView view) {
  return static_cast<std::byte*>(view.handle) + view.offset_bytes;
}

class FakeReferenceExecutable final : public Executable {
 public:
  FakeReferenceExecutable(const Gemm& gemm, const FakeBehaviour& behaviour)
      : gemm_(gemm), behaviour_(behaviour) {}

  size_t workspace_bytes() const override { return 64; }

  Status Run(const Arguments& arguments) override {
    ATTUNE_RETURN_IF_ERROR(CommitProcessFault(behaviour_));
    if (behaviour_.fault == FakeFault::kStale) return Status::Ok();
    const std::vector<Operand> operands = Operands(Problem(gemm_));
    std::vector<OperandValues> inputs;
    for (size_t i = 0; i < operands.size(); ++i) {
      const TensorDesc& tensor = operands[i].tensor;
      if (operands[i].role == OperandRole::kOut) continue;
      OperandValues& values = inputs.emplace_back(static_cast<size_t>(SpanElements(tensor)));
      Decode(tensor.type, {Address(arguments.operands[i]), SpanBytes(tensor)}, values);
    }
    const std::span reference(reinterpret_cast<double*>(Address(arguments.operands.back())),
                              static_cast<size_t>(SpanElements(operands.back().tensor)));
    const GoOn always;
    WorkWatch watch(always, 1);
    GemmOperator().reference()->Compute(gemm_, inputs, reference, watch);
    if (behaviour_.fault == FakeFault::kWrongResult) {
      for (double& value : reference) value += 1e-6;
    }
    if (behaviour_.fault == FakeFault::kNan) {
      reference.front() = std::numeric_limits<double>::quiet_NaN();
    }
    return Status::Ok();
  }

 private:
  const Gemm gemm_;
  const FakeBehaviour behaviour_;
};

class FakeReference final : public Solver {
 public:
  explicit FakeReference(const FakeScript& script) : script_(script) {
    traits_.description = "References of f32 products";
    traits_.operator_name = "gemm";
  }

  const SolverId& id() const override { return id_; }
  const SolverTraits& traits() const override { return traits_; }

  Status IsApplicable(const Problem& problem, const Target&) const override {
    const auto* gemm = problem.As<Gemm>();
    if (gemm != nullptr && gemm->type == DataType::kF32) return Status::Ok();
    return Unsupported("The fake device computes references of f32 products only.");
  }
  Result<ConfigSpace> Space(const Problem&, const Target&) const override { return ConfigSpace(); }
  Result<BuildRecipe> Recipe(const Problem&, const Config&, const Target&) const override {
    return BuildRecipe();
  }
  Result<Artifact> Build(const BuildRecipe&) const override { return Artifact(); }
  Result<std::unique_ptr<Executable>> Load(const Artifact&, const Problem& problem,
                                           const Config& config, Device&) const override {
    const FakeBehaviour behaviour = script_.BehaviourOf({id_, config});
    if (behaviour.fault == FakeFault::kLoadFails) {
      return Internal("The fake reference cannot be loaded, as its script says.");
    }
    return std::unique_ptr<Executable>(
        std::make_unique<FakeReferenceExecutable>(problem.Get<Gemm>(), behaviour));
  }

 private:
  const FakeScript script_;
  const SolverId id_ = {"fake.f64", 1};
  SolverTraits traits_;
};

}  // namespace

std::unique_ptr<const Solver> MakeFakeReference(const FakeScript& script) {
  return std::make_unique<FakeReference>(script);
}

}  // namespace attune
