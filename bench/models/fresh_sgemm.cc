#include "bench/models/fresh_sgemm.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <vector>

#include "attune/base/element.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/problem/problem.h"
#include "bench/figures.h"
#include "runtime/places.h"

namespace attune::bench {
namespace {

constexpr const char* kSolver = "host.openblas-gemm@1{routine=gemm,split=none,threads=1}";
constexpr int kSamples = 7;
constexpr double kSampleNs = 3e5;
constexpr double kMostLaunches = 1000;

// Extents by the names of features.
int64_t ExtentOf(const FeatureSet& features, const FeatureRow& row, std::string_view name) {
  const auto found = std::ranges::find(features.operation, name);
  return std::lround(row.values[static_cast<size_t>(found - features.operation.begin())]);
}

class SgemmTimer {
 public:
  static Result<SgemmTimer> Open() {
    SgemmTimer timer;
    timer.backends_ = LoadBackends();
    ATTUNE_ASSIGN_OR_RETURN(const Place place, FindPlace(timer.backends_.list, "cpu"));
    ATTUNE_ASSIGN_OR_RETURN(timer.candidate_, ParseCandidate(kSolver));
    timer.solver_ = FindSolver(place.backend->solvers(), timer.candidate_.solver);
    if (timer.solver_ == nullptr) return NotFound("There is no solver of OpenBLAS here.");
    ATTUNE_RETURN_IF_ERROR(
        timer.solver_->IsApplicable(Normalized(PackedGemm(8, 8, 8)), place.target));
    ATTUNE_ASSIGN_OR_RETURN(timer.device_, place.backend->Open("cpu"));
    return timer;
  }

  // In ms.
  Result<double> Time(const Problem& problem) {
    ATTUNE_ASSIGN_OR_RETURN(const auto executable,
                            solver_->Load({}, problem, candidate_.config, *device_));
    std::vector<std::unique_ptr<Buffer>> memory;
    std::vector<BufferView> operands;
    for (const Operand& operand : Operands(problem)) {
      ATTUNE_ASSIGN_OR_RETURN(auto buffer, device_->Allocate(SpanBytes(operand.tensor)));
      GenerateElements(operand.tensor.type, 1, 0, SpanElements(operand.tensor),
                       static_cast<std::byte*>(buffer->handle()));
      operands.push_back(buffer->View(0));
      memory.push_back(std::move(buffer));
    }
    ATTUNE_ASSIGN_OR_RETURN(const auto workspace,
                            device_->Allocate(std::max<size_t>(64, executable->workspace_bytes())));
    Arguments arguments;
    arguments.operands = operands;
    arguments.workspace = workspace->View(0);
    return MedianMs(*executable, arguments);
  }

 private:
  Result<double> MedianMs(Executable& executable, const Arguments& arguments) {
    TimingRequest request;
    ATTUNE_RETURN_IF_ERROR(device_->TimeNs(executable, arguments, request).status());
    ATTUNE_ASSIGN_OR_RETURN(const double first_ns, device_->TimeNs(executable, arguments, request));
    request.launches =
        static_cast<int>(std::clamp(kSampleNs / std::max(first_ns, 1.0), 1.0, kMostLaunches));
    std::vector<double> samples_ns;
    for (int i = 0; i < kSamples; ++i) {
      ATTUNE_ASSIGN_OR_RETURN(const double ns, device_->TimeNs(executable, arguments, request));
      samples_ns.push_back(ns);
    }
    return MedianOf(std::move(samples_ns)) / 1e6;
  }

  LoadedBackends backends_;
  Candidate candidate_;
  const Solver* solver_ = nullptr;
  std::unique_ptr<Device> device_;
};

}  // namespace

Status TimeSgemmAnew(Recording& recording) {
  ATTUNE_ASSIGN_OR_RETURN(SgemmTimer timer, SgemmTimer::Open());
  for (RecordedProblem& problem : recording.problems) {
    Sample& sample = problem.samples.front();
    std::array<int64_t, 3> extents = {};
    for (size_t i = 0; i < extents.size(); ++i) {
      constexpr std::array<std::string_view, 3> kNames = {"m", "n", "k"};
      extents[i] = ExtentOf(recording.features, sample.row, kNames[i]);
    }
    const Problem shape = Normalized(PackedGemm(extents[0], extents[1], extents[2]));
    ATTUNE_ASSIGN_OR_RETURN(sample.time_ms, timer.Time(shape));
  }
  return Status::Ok();
}

}  // namespace attune::bench
