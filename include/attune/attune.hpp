// attune at run time, for C++17 and later: values and handles over attune.h, which has the details.
//
//   attune::Runtime runtime;
//   attune::GemmPlan plan = runtime.Gemm({.m = 512, .n = 512, .k = 512});
//   plan.Run({.a = a, .b = b, .c = c});
//
// Everything is inline over the C functions, so a program does not depend on the compiler or the
// standard library that attune was built with. Failures throw attune::Error.
#ifndef ATTUNE_ATTUNE_HPP_
#define ATTUNE_ATTUNE_HPP_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "attune/attune.h"
#include "attune/error.hpp"
#include "attune/options.hpp"
#include "attune/problem.hpp"

namespace attune {
inline namespace v1 {

using Solution = attune_solution;

struct Arguments {
  const void* a = nullptr;
  const void* b = nullptr;
  const void* bias = nullptr;
  void* c = nullptr;
  double alpha = 1;
  double beta = 0;
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;
  void* queue = nullptr;  // As attune_arguments has it.

  attune_arguments ToC() const {
    return {sizeof(attune_arguments), a,    b, bias, c, alpha, beta, workspace,
            workspace_bytes,          queue};
  }
};

// A problem bound once. It must not outlive its run time. Movable.
class Plan {
 public:
  Plan(Plan&&) = default;
  Plan& operator=(Plan&&) = default;

  // Thread-safe.
  void Run(const Arguments& arguments) const {
    const attune_arguments c = arguments.ToC();
    Check(attune_plan_run(plan_.get(), &c));
  }
  // Bytes that a run with a workspace of its own has to bring now.
  std::uint64_t workspace_bytes() const { return attune_plan_workspace_bytes(plan_.get()); }

 private:
  friend class Runtime;
  explicit Plan(attune_plan* plan) : plan_(plan) {}
  struct Release {
    void operator()(attune_plan* plan) const { attune_plan_release(plan); }
  };
  std::unique_ptr<attune_plan, Release> plan_;
};
using GemmPlan = Plan;
using ConvPlan = Plan;

class Runtime {
 public:
  explicit Runtime(const Options& options = {}) {
    const attune_options c = options.ToC();
    attune_runtime* runtime = nullptr;
    Check(attune_runtime_create(&c, &runtime));
    runtime_.reset(runtime);
  }
  Runtime(Runtime&&) = default;
  // The old run time ends before its listeners go: its background calls them until then.
  Runtime& operator=(Runtime&& other) noexcept {
    if (this == &other) return *this;
    runtime_ = std::move(other.runtime_);
    listeners_ = std::move(other.listeners_);
    return *this;
  }

  // Computes with the best candidate for this shape now; an alternative to a plan if shapes vary.
  void Run(const GemmProblem& gemm, const Arguments& arguments) const {
    const attune_gemm problem = gemm.ToC();
    const attune_arguments c = arguments.ToC();
    Check(attune_run_gemm(get(), &problem, &c));
  }
  void Run(const ConvProblem& conv, const Arguments& arguments) const {
    const attune_conv problem = conv.ToC();
    const attune_arguments c = arguments.ToC();
    Check(attune_run_conv(get(), &problem, &c));
  }

  // Returns when everything that was launched is complete.
  void Synchronize() const { Check(attune_synchronize(get())); }

  // `alpha` and `beta` are values of the class that runs will have: 0, 1, or any other.
  GemmPlan Gemm(const GemmProblem& gemm, double alpha = 1, double beta = 0,
                std::uint64_t workspace_limit_bytes = ATTUNE_NO_LIMIT) const {
    const attune_gemm problem = gemm.ToC();
    attune_plan* plan = nullptr;
    Check(attune_plan_gemm(get(), &problem, ClassOf(alpha), ClassOf(beta), workspace_limit_bytes,
                           &plan));
    return GemmPlan(plan);
  }
  ConvPlan Conv(const ConvProblem& conv,
                std::uint64_t workspace_limit_bytes = ATTUNE_NO_LIMIT) const {
    const attune_conv problem = conv.ToC();
    attune_plan* plan = nullptr;
    Check(attune_plan_conv(get(), &problem, workspace_limit_bytes, &plan));
    return ConvPlan(plan);
  }

  // Ways to compute this: the preferred one, the others by their times, then those of unknown time.
  // With a limit, those that are not known to need more workspace; throws ATTUNE_RESOURCE_EXHAUSTED
  // with the minimum workspace if none is left.
  std::vector<Solution> Solutions(const GemmProblem& gemm, double alpha = 1, double beta = 0,
                                  std::uint64_t workspace_limit_bytes = ATTUNE_NO_LIMIT) const {
    const attune_gemm problem = gemm.ToC();
    return AllSolutions([&](Solution* solutions, std::size_t capacity, std::size_t* count) {
      return attune_gemm_solutions_within(get(), &problem, ClassOf(alpha), ClassOf(beta),
                                          workspace_limit_bytes, solutions, capacity, count);
    });
  }
  std::vector<Solution> Solutions(const ConvProblem& conv,
                                  std::uint64_t workspace_limit_bytes = ATTUNE_NO_LIMIT) const {
    const attune_conv problem = conv.ToC();
    return AllSolutions([&](Solution* solutions, std::size_t capacity, std::size_t* count) {
      return attune_conv_solutions_within(get(), &problem, workspace_limit_bytes, solutions,
                                          capacity, count);
    });
  }

  // JSON: the candidate that serves the problem (its text, or a MIOpenDriver command of one
  // direction), the reason, and better candidates that do not serve.
  std::string Explain(const std::string& problem,
                      std::uint64_t workspace_limit_bytes = ATTUNE_NO_LIMIT) const {
    char* json = nullptr;
    Check(attune_explain_within(get(), problem.c_str(), workspace_limit_bytes, &json));
    return Taken(json);
  }
  std::string Explain(const GemmProblem& gemm, double alpha = 1, double beta = 0,
                      std::uint64_t workspace_limit_bytes = ATTUNE_NO_LIMIT) const {
    return Explain(TextOf(gemm, alpha, beta), workspace_limit_bytes);
  }
  std::string Explain(const ConvProblem& conv,
                      std::uint64_t workspace_limit_bytes = ATTUNE_NO_LIMIT) const {
    return Explain(TextOf(conv), workspace_limit_bytes);
  }

  // JSON: entries of imported databases for a GPU that need not be present ("gfx906_60"), with the
  // file of each. Nothing of it serves. Throws ATTUNE_NOT_FOUND if nothing was imported for it.
  std::string ExplainFor(const std::string& target, const std::string& problem) const {
    char* json = nullptr;
    Check(attune_explain_for(get(), target.c_str(), problem.c_str(), &json));
    return Taken(json);
  }
  // An alignment that is left open is 64 bytes, that of any allocation.
  std::string ExplainFor(const std::string& target, ConvProblem conv) const {
    if (conv.alignment_bytes == 0) conv.alignment_bytes = 64;
    return ExplainFor(target, TextOf(conv));
  }
  // The quickest that they have; throws ATTUNE_NOT_FOUND if they have none.
  Solution BestFor(const std::string& target, const ConvProblem& conv) const {
    const attune_conv problem = conv.ToC();
    Solution best{};
    best.struct_size = sizeof best;
    Check(attune_conv_best_for(get(), target.c_str(), &problem, &best));
    return best;
  }

  // Why a call would wait; empty if it would not. A call with all operands at multiples of 64 bytes
  // is one with alignment_bytes 64.
  std::string WouldStall(const std::string& problem,
                         std::uint64_t workspace_limit_bytes = ATTUNE_NO_LIMIT) const {
    int stalls = 0;
    Check(attune_would_stall_within(get(), problem.c_str(), workspace_limit_bytes, &stalls));
    return stalls != 0 ? attune_last_message() : "";
  }
  std::string WouldStall(const GemmProblem& gemm, double alpha = 1, double beta = 0,
                         std::uint64_t workspace_limit_bytes = ATTUNE_NO_LIMIT) const {
    return WouldStall(TextOf(gemm, alpha, beta), workspace_limit_bytes);
  }
  std::string WouldStall(const ConvProblem& conv,
                         std::uint64_t workspace_limit_bytes = ATTUNE_NO_LIMIT) const {
    return WouldStall(TextOf(conv), workspace_limit_bytes);
  }

  // The canonical text of a problem.
  static std::string TextOf(const GemmProblem& gemm, double alpha = 1, double beta = 0) {
    const attune_gemm problem = gemm.ToC();
    char* text = nullptr;
    Check(attune_gemm_text(&problem, ClassOf(alpha), ClassOf(beta), &text));
    return Taken(text);
  }
  static std::string TextOf(const ConvProblem& conv) {
    const attune_conv problem = conv.ToC();
    char* text = nullptr;
    Check(attune_conv_text(&problem, &text));
    return Taken(text);
  }

  attune_counters Counters() const {
    attune_counters counters = ATTUNE_COUNTERS_INIT;
    Check(attune_get_counters(get(), &counters));
    return counters;
  }
  // Counters in Prometheus' text format.
  std::string Metrics() const {
    char* text = nullptr;
    Check(attune_metrics(get(), &text));
    return Taken(text);
  }

  // Called by any thread that notices an event; must not use this run time. `candidate` is empty if
  // there is none. Replaces the one before; an empty function ends it. Its exceptions are dropped,
  // because no caller could catch them in the background.
  using Listener = std::function<void(attune_event event, const std::string& problem,
                                      const std::string& candidate, const std::string& message)>;
  void SetListener(Listener listener) {
    auto next = listener ? std::make_unique<Listener>(std::move(listener)) : nullptr;
    Check(attune_set_listener(get(), next ? &Forward : nullptr, next.get()));
    // An event that is on its way may still use the one before: it lives as long as the run time.
    if (next) listeners_.push_back(std::move(next));
  }

  // False if something is still at work in the background after `timeout`.
  bool WaitIdle(std::chrono::milliseconds timeout) const {
    const attune_code code = attune_wait_idle(get(), timeout.count());
    if (code != ATTUNE_DEADLINE_EXCEEDED) Check(code);
    return code == ATTUNE_OK;
  }

  attune_runtime* get() const { return runtime_.get(); }

 private:
  struct Destroy {
    void operator()(attune_runtime* runtime) const { attune_runtime_destroy(runtime); }
  };

  static int ClassOf(double value) { return value == 0 ? 0 : value == 1 ? 1 : 2; }

  static std::string Taken(char* text) {
    const std::unique_ptr<char, decltype(&attune_free)> owned(text, &attune_free);
    return std::string(text);
  }

  template <class Ask>
  static std::vector<Solution> AllSolutions(const Ask& ask) {
    std::size_t count = 0;
    Check(ask(nullptr, 0, &count));
    std::vector<Solution> solutions(count);
    if (count == 0) return solutions;
    solutions[0].struct_size = sizeof(Solution);
    const std::size_t capacity = count;
    Check(ask(solutions.data(), capacity, &count));
    if (count < capacity) solutions.resize(count);
    return solutions;
  }

  static void Forward(void* context, attune_event event, const char* problem, const char* candidate,
                      const char* message) {
    try {
      (*static_cast<Listener*>(context))(event, problem, candidate == nullptr ? "" : candidate,
                                         message);
    } catch (...) {
    }
  }

  std::vector<std::unique_ptr<Listener>> listeners_;  // Outlive the run time below.
  std::unique_ptr<attune_runtime, Destroy> runtime_;
};

}  // namespace v1
}  // namespace attune

#endif  // ATTUNE_ATTUNE_HPP_
