// The C functions that answer questions about a run time.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "attune/base/struct_size.h"
#include "runtime/c_runtime.h"
#include "runtime/explain.h"
#include "runtime/request.h"

namespace attune {
namespace {

static_assert(static_cast<int>(Origin::kForced) == ATTUNE_FROM_FORCE);
static_assert(static_cast<int>(Origin::kDefault) == ATTUNE_FROM_DEFAULT);
static_assert(static_cast<int>(ServerEvent::kSkipped) == ATTUNE_EVENT_SKIPPED);
static_assert(static_cast<int>(MissReason::kFailed) == ATTUNE_MISS_FAILED);

void SetCandidate(std::string text, attune_solution& solution) {
  if (text.size() >= sizeof solution.candidate) {
    text.resize(sizeof solution.candidate - 4);
    text += "...";
  }
  std::memcpy(solution.candidate, text.c_str(), text.size() + 1);
}

attune_solution SolutionOf(const Dispatcher& dispatcher, const Problem& problem,
                           const Option& option) {
  attune_solution solution{};
  SetCandidate(Text(option.candidate), solution);
  solution.provenance = static_cast<int32_t>(option.origin);
  solution.is_measured = option.median_ns > 0 ? 1 : 0;
  solution.time_ns = option.best_guess_ns();
  solution.workspace_bytes = static_cast<uint64_t>(std::max<int64_t>(option.workspace_bytes, 0));
  const Solver* solver = FindSolver(*dispatcher.parts().solvers, option.candidate.solver);
  solution.is_dynamic = solver != nullptr && solver->traits().dynamic ? 1 : 0;
  solution.is_ready = dispatcher.IsReady(problem, option) ? 1 : 0;
  solution.is_workspace_known = option.workspace_bytes >= 0 ? 1 : 0;
  return solution;
}

attune_solution SolutionOf(const ImportedBest& best) {
  attune_solution solution{};
  SetCandidate(best.candidate, solution);
  solution.provenance = ATTUNE_FROM_IMPORT;
  solution.is_measured = 1;
  solution.time_ns = best.median_ns;
  solution.workspace_bytes = static_cast<uint64_t>(best.workspace_bytes);
  solution.is_workspace_known = 1;
  return solution;
}

// To a caller's struct of `size` bytes, which may be of an older release and smaller, or of a later
// one and larger. It keeps its size, because the caller may bring it again.
void CopySolution(attune_solution solution, void* to, size_t size) {
  solution.struct_size = size;
  std::memset(to, 0, size);
  std::memcpy(to, &solution, std::min(size, sizeof solution));
}

Status CheckSolutionSize(size_t struct_size) {
  return CheckStructSize(struct_size, offsetof(attune_solution, is_dynamic), "the first solution",
                         "sizeof(attune_solution)");
}

// An array of a caller, whose structs may be of another release.
struct SolutionArray {
  attune_solution* first = nullptr;
  size_t capacity = 0;
  size_t* count = nullptr;
};

// Behind the first, which is preferred, by time. A decision has what was measured carefully before
// what was only screened, whatever took longer.
void OrderByTime(std::vector<Option>& options) {
  if (options.empty()) return;
  const auto time_ns = [](const Option& option) {
    const double guess_ns = option.best_guess_ns();
    return guess_ns > 0 ? guess_ns : std::numeric_limits<double>::infinity();
  };
  std::stable_sort(options.begin() + 1, options.end(),
                   [&](const Option& a, const Option& b) { return time_ns(a) < time_ns(b); });
}

Status CopySolutions(attune_runtime& owner, const Problem& problem, uint64_t workspace_limit_bytes,
                     const SolutionArray& out) {
  ATTUNE_ASSIGN_OR_RETURN(Runtime * runtime, owner.here());
  const PlanServer& server = runtime->server();
  ATTUNE_ASSIGN_OR_RETURN(
      Decision decision,
      server.dispatcher().DecideWithin(problem, *server.choices(), workspace_limit_bytes));
  OrderByTime(decision.options);
  *out.count = decision.options.size();
  if (out.capacity == 0) return Status::Ok();
  const size_t stride = out.first->struct_size;
  ATTUNE_RETURN_IF_ERROR(CheckSolutionSize(stride));
  auto* bytes = reinterpret_cast<std::byte*>(out.first);
  for (size_t i = 0; i < std::min(out.capacity, *out.count); ++i) {
    CopySolution(SolutionOf(server.dispatcher(), problem, decision.options[i]), bytes + i * stride,
                 stride);
  }
  return Status::Ok();
}

// A hundred years: longer than any program runs, and a time from now that nanoseconds can say.
constexpr int64_t kLongestWaitMs =
    std::chrono::milliseconds(std::chrono::hours(24 * 36525)).count();

attune_counters CountersOf(const ServerCounters& counters) {
  attune_counters result{};
  result.struct_size = sizeof result;
  result.hits = counters.hits;
  result.misses = counters.misses;
  std::copy(counters.misses_by_origin.begin(), counters.misses_by_origin.end(),
            result.by_provenance);
  result.stand_ins = counters.stand_ins;
  result.skipped_records = counters.skipped_records;
  result.tunings = counters.tunings;
  result.tuning_failures = counters.tuning_failures;
  result.recorded = counters.recorded;
  result.swaps = counters.swaps;
  result.evictions = counters.evictions;
  result.builds_in_caller = counters.builds_in_caller;
  result.builds_in_background = counters.builds_in_background;
  result.miss_ns = static_cast<uint64_t>(counters.miss_ns);
  result.tuning_ns = static_cast<uint64_t>(counters.tuning_ns);
  result.none = counters.failures;
  result.tunings_dropped = counters.tunings_dropped;
  std::copy(counters.misses_by_reason.begin(), counters.misses_by_reason.end(), result.by_reason);
  return result;
}

}  // namespace
}  // namespace attune

extern "C" {

attune_code attune_gemm_solutions(attune_runtime* runtime, const attune_gemm* gemm, int alpha_class,
                                  int beta_class, attune_solution* solutions, size_t capacity,
                                  size_t* count) {
  return attune_gemm_solutions_within(runtime, gemm, alpha_class, beta_class, ATTUNE_NO_LIMIT,
                                      solutions, capacity, count);
}

attune_code attune_gemm_solutions_within(attune_runtime* runtime, const attune_gemm* gemm,
                                         int alpha_class, int beta_class,
                                         uint64_t workspace_limit_bytes, attune_solution* solutions,
                                         size_t capacity, size_t* count) {
  return attune::Guarded([&]() -> attune::Status {
    if (!runtime || !gemm || !count || (!solutions && capacity > 0)) {
      return attune::NullArgument("attune_gemm_solutions");
    }
    ATTUNE_ASSIGN_OR_RETURN(const attune::Problem problem,
                            attune::ProblemOf(*gemm, {alpha_class, beta_class, 0}));
    return attune::CopySolutions(*runtime, problem, workspace_limit_bytes,
                                 {solutions, capacity, count});
  });
}

attune_code attune_conv_solutions(attune_runtime* runtime, const attune_conv* conv,
                                  attune_solution* solutions, size_t capacity, size_t* count) {
  return attune_conv_solutions_within(runtime, conv, ATTUNE_NO_LIMIT, solutions, capacity, count);
}

attune_code attune_conv_solutions_within(attune_runtime* runtime, const attune_conv* conv,
                                         uint64_t workspace_limit_bytes, attune_solution* solutions,
                                         size_t capacity, size_t* count) {
  return attune::Guarded([&]() -> attune::Status {
    if (!runtime || !conv || !count || (!solutions && capacity > 0)) {
      return attune::NullArgument("attune_conv_solutions");
    }
    ATTUNE_ASSIGN_OR_RETURN(const attune::Problem problem, attune::ProblemOf(*conv, {}));
    return attune::CopySolutions(*runtime, problem, workspace_limit_bytes,
                                 {solutions, capacity, count});
  });
}

attune_code attune_explain(attune_runtime* runtime, const char* text, char** json) {
  return attune_explain_within(runtime, text, ATTUNE_NO_LIMIT, json);
}

attune_code attune_explain_within(attune_runtime* runtime, const char* text,
                                  uint64_t workspace_limit_bytes, char** json) {
  return attune::Guarded([&]() -> attune::Status {
    attune::Clear(json);
    if (!runtime || !text || !json) return attune::NullArgument("attune_explain");
    ATTUNE_ASSIGN_OR_RETURN(const attune::Problem problem, attune::ProblemOf(text));
    ATTUNE_ASSIGN_OR_RETURN(attune::Runtime * here, runtime->here());
    ATTUNE_ASSIGN_OR_RETURN(const attune::Explanation explanation,
                            attune::Explain(*here, problem, workspace_limit_bytes));
    return attune::CopyOut(attune::ExplanationJson(*here, explanation), json);
  });
}

attune_code attune_explain_for(attune_runtime* runtime, const char* target, const char* text,
                               char** json) {
  return attune::Guarded([&]() -> attune::Status {
    attune::Clear(json);
    if (!runtime || !target || !text || !json) return attune::NullArgument("attune_explain_for");
    ATTUNE_ASSIGN_OR_RETURN(const attune::Problem problem, attune::ProblemOf(text));
    ATTUNE_ASSIGN_OR_RETURN(attune::Runtime * here, runtime->here());
    ATTUNE_ASSIGN_OR_RETURN(const std::string explained,
                            attune::ImportExplanationJson(*here, target, problem));
    return attune::CopyOut(explained, json);
  });
}

attune_code attune_conv_best_for(attune_runtime* runtime, const char* target,
                                 const attune_conv* conv, attune_solution* best) {
  return attune::Caught([&]() -> attune::Status {
    if (!runtime || !target || !conv || !best) return attune::NullArgument("attune_conv_best_for");
    ATTUNE_RETURN_IF_ERROR(attune::CheckSolutionSize(best->struct_size));
    attune::Runtime* here = runtime->current();
    if (here == nullptr) [[unlikely]] {
      // A child of a fork() makes its own, which may write.
      const attune::FileSizeSignalHeld held;
      ATTUNE_ASSIGN_OR_RETURN(here, runtime->here());
    }
    // Keys of MIOpen's tell of no alignment: what is left open is that of any allocation.
    constexpr attune::CallClasses kClasses = {.wide = 1};
    const auto problem = [&] { return attune::ProblemOf(*conv, kClasses); };
    ATTUNE_ASSIGN_OR_RETURN(
        const auto found,
        here->imports().FindBest(target, attune::KeyOfCall(*conv, kClasses, 0), problem));
    if (found.has_value()) {
      attune::CopySolution(attune::SolutionOf(*found), best, best->struct_size);
      return attune::Status::Ok();
    }
    return attune::NotFound(fmt::format("No database that was imported for {} has {}.", target,
                                        attune::Text(*problem())));
  });
}

attune_code attune_would_stall(attune_runtime* runtime, const char* text, int* stalls) {
  return attune_would_stall_within(runtime, text, ATTUNE_NO_LIMIT, stalls);
}

attune_code attune_would_stall_within(attune_runtime* runtime, const char* text,
                                      uint64_t workspace_limit_bytes, int* stalls) {
  return attune::Guarded([&]() -> attune::Status {
    if (!runtime || !text || !stalls) return attune::NullArgument("attune_would_stall");
    ATTUNE_ASSIGN_OR_RETURN(const attune::Problem problem, attune::ProblemOf(text));
    ATTUNE_ASSIGN_OR_RETURN(attune::Runtime * here, runtime->here());
    ATTUNE_ASSIGN_OR_RETURN(const auto reason,
                            here->server().WouldStall(problem, workspace_limit_bytes));
    *stalls = reason.has_value() ? 1 : 0;
    if (reason.has_value()) attune::Fail(attune::FailedPrecondition(*reason));
    return attune::Status::Ok();
  });
}

attune_code attune_gemm_text(const attune_gemm* gemm, int alpha_class, int beta_class,
                             char** text) {
  return attune::Guarded([&]() -> attune::Status {
    attune::Clear(text);
    if (!gemm || !text) return attune::NullArgument("attune_gemm_text");
    ATTUNE_ASSIGN_OR_RETURN(const attune::Problem problem,
                            attune::ProblemOf(*gemm, {alpha_class, beta_class, 0}));
    return attune::CopyOut(attune::Text(problem), text);
  });
}

attune_code attune_conv_text(const attune_conv* conv, char** text) {
  return attune::Guarded([&]() -> attune::Status {
    attune::Clear(text);
    if (!conv || !text) return attune::NullArgument("attune_conv_text");
    ATTUNE_ASSIGN_OR_RETURN(const attune::Problem problem, attune::ProblemOf(*conv, {}));
    return attune::CopyOut(attune::Text(problem), text);
  });
}

attune_code attune_get_counters(attune_runtime* runtime, attune_counters* counters) {
  return attune::Guarded([&]() -> attune::Status {
    if (!runtime || !counters) return attune::NullArgument("attune_get_counters");
    ATTUNE_RETURN_IF_ERROR(attune::CheckStructSize(counters->struct_size,
                                                   offsetof(attune_counters, stand_ins),
                                                   "the counters", "ATTUNE_COUNTERS_INIT"));
    ATTUNE_ASSIGN_OR_RETURN(attune::Runtime * here, runtime->here());
    attune_counters values = attune::CountersOf(here->server().counters());
    values.struct_size = counters->struct_size;
    std::memcpy(counters, &values, std::min(counters->struct_size, sizeof values));
    return attune::Status::Ok();
  });
}

attune_code attune_metrics(attune_runtime* runtime, char** text) {
  return attune::Guarded([&]() -> attune::Status {
    attune::Clear(text);
    if (!runtime || !text) return attune::NullArgument("attune_metrics");
    ATTUNE_ASSIGN_OR_RETURN(attune::Runtime * here, runtime->here());
    return attune::CopyOut(attune::PrometheusText(here->server().counters()), text);
  });
}

attune_code attune_set_listener(attune_runtime* runtime, attune_listener listener, void* context) {
  return attune::Guarded([&]() -> attune::Status {
    if (!runtime) return attune::NullArgument("attune_set_listener");
    ATTUNE_ASSIGN_OR_RETURN(attune::Runtime * here, runtime->here());
    if (listener == nullptr) {
      here->server().SetListener(nullptr);
      return attune::Status::Ok();
    }
    here->server().SetListener(
        [listener, context](attune::ServerEvent event, const attune::Problem& problem,
                            const attune::Candidate* candidate, const std::string& message) {
          const std::string name = candidate == nullptr ? "" : attune::Text(*candidate);
          listener(context, static_cast<attune_event>(event), attune::Text(problem).c_str(),
                   candidate == nullptr ? nullptr : name.c_str(), message.c_str());
        });
    return attune::Status::Ok();
  });
}

attune_code attune_wait_idle(attune_runtime* runtime, int64_t timeout_ms) {
  return attune::Guarded([&]() -> attune::Status {
    if (!runtime) return attune::NullArgument("attune_wait_idle");
    ATTUNE_ASSIGN_OR_RETURN(attune::Runtime * here, runtime->here());
    const int64_t wait_ms = std::clamp<int64_t>(timeout_ms, 0, attune::kLongestWaitMs);
    if (here->WaitIdle(std::chrono::milliseconds(wait_ms))) {
      return here->recorded();
    }
    return attune::DeadlineExceeded(
        fmt::format("The background is still at work after {} ms.", timeout_ms));
  });
}

attune_code attune_record_gemm(attune_runtime* runtime, const attune_gemm* gemm,
                               const attune_arguments* arguments) {
  return attune::Guarded([&]() -> attune::Status {
    if (runtime == nullptr || gemm == nullptr || arguments == nullptr) {
      return attune::NullArgument("attune_record_gemm");
    }
    ATTUNE_ASSIGN_OR_RETURN(attune::Recorder * recorder, runtime->recorder());
    const attune::CallClasses classes = {attune::ScalarClassOf(arguments->alpha),
                                         attune::ScalarClassOf(arguments->beta),
                                         runtime->IsWide(*arguments)};
    ATTUNE_ASSIGN_OR_RETURN(const attune::Problem problem, attune::ProblemOf(*gemm, classes));
    return recorder->Record(problem).status();
  });
}

void attune_flush_records(attune_runtime* runtime) {
  attune::Recorder* recorder = runtime == nullptr ? nullptr : runtime->current_recorder();
  if (recorder != nullptr) recorder->FlushAtOnce();
}

}  // extern "C"
