// Options of worker processes, and checks on them before a candidate is evaluated.
#include <utility>

#include <fmt/format.h>

#include "attune/base/code_folder.h"
#include "attune/base/usable_cores.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/tuner/child_evaluator.h"
#include "attune/tuner/child_process.h"
#include "attune/verify/memory_limit.h"
#include "attune/verify/problem_data.h"
#include "attune/verify/reference_cost.h"

namespace attune {
namespace {

constexpr const char* kProgramName = "attune-evaluator";

}  // namespace

void ShareIfCostly(const Backend& backend, ChildOptions& options) {
  options.share_children = backend.IsCostlyToOpen();
  options.on_processor = backend.IsProcessor(options.device);
  options.compiling.clear();
  for (const auto& solver : backend.solvers()) {
    if (solver->traits().compiles) options.compiling.push_back(solver->id());
  }
  if (backend.reference_solver() == nullptr) return;
  options.pays_on_device = [](const Problem& problem) {
    return PaysOnDevice(problem, UsableCores());
  };
}

Result<std::filesystem::path> FindEvaluatorProgram() {
  auto found = FindOwnProgram(kProgramName, "ATTUNE_EVALUATOR");
  if (found.ok()) return found;
  return Status(found.error().code(),
                fmt::format("Cannot find the evaluator: {} Or set ATTUNE_EVALUATOR to its absolute "
                            "path.",
                            found.error().message()));
}

Status CheckMemoryLimit(const ChildOptions& options) {
  if (options.memory_limit_bytes <= 0) return Status::Ok();
  const Problem smallest = Normalized(PackedGemm(1, 1, 1));
  ATTUNE_ASSIGN_OR_RETURN(const ProblemData data, ProblemData::Create(smallest, 1));
  auto child = ChildProcess::Spawn(options);
  const auto all_bytes = static_cast<int64_t>(MemoryLimitBytes());
  if (!child.ok() || !child->Greet({Text(smallest), data.fd(), {}, all_bytes}).ok()) {
    return Status::Ok();
  }
  const int64_t needed_bytes = child->PeakResidentBytes();
  if (needed_bytes <= options.memory_limit_bytes) return Status::Ok();
  // From one start to the next it varies by some pages.
  const int64_t least_mib = (needed_bytes >> 20) + 2;
  return InvalidArgument(fmt::format(
      "The memory limit (--memory-limit, {} bytes) is below what a process takes on device '{}' "
      "before it runs any candidate: {} bytes. Give at least {}MiB, and beyond that what operands "
      "and workspaces take.",
      options.memory_limit_bytes, options.device, needed_bytes, least_mib));
}

Result<Peaks> MeasurePeaksInChild(const ChildOptions& options, int64_t end_ns) {
  ChildOptions alone = options;
  alone.memory_limit_bytes = static_cast<int64_t>(MemoryLimitBytes());
  ATTUNE_ASSIGN_OR_RETURN(ChildProcess child, ChildProcess::Spawn(alone));
  PeaksRequest request;
  request.device = options.device;
  child.SetReadyBy(end_ns);
  const auto reply = child.Ask(request);
  if (!reply) return Unavailable(reply.error().message);
  if (const auto* refused = std::get_if<RefusedReply>(&reply->content)) {
    return Unavailable(refused->message);
  }
  const auto* measured = std::get_if<PeaksReply>(&reply->content);
  if (measured == nullptr) {
    return Internal("The evaluator answered a question for peaks with a message of another kind.");
  }
  return measured->peaks;
}

}  // namespace attune
