// A timer that lies to the tuner, and the serving that follows: the served candidate may be slow,
// and is right.

#include <cmath>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "attune/base/random.h"
#include "attune/compile/kernel_cache.h"
#include "attune/dispatch/dispatcher.h"
#include "attune/index/index_writer.h"
#include "attune/measure/clock.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/record/memory_store.h"
#include "attune/tuner/local_evaluator.h"
#include "attune/tuner/tuner.h"
#include "backends/fake/fake_backend.h"
#include "backends/fake/gemm/fake_gemm.h"
#include "backends/host/host_backend.h"
#include "backends/host/thread_wait_policy.h"

namespace attune {
namespace {

// The time that a broken timer reports for a launch that takes `true_ns`.
using Lie = double (*)(double true_ns, Random& random);

// The slowest looks quickest.
double Inverted(double true_ns, Random&) { return 1e9 / true_ns; }

// From 100 ns to 1 ms, for anything timed: each block anew.
double AnyTime(double, Random& random) { return 100 * std::pow(1e4, random.Uniform()); }

// A device that computes as the real one and reports its times changed by `lie`.
class LyingDevice final : public Device {
 public:
  LyingDevice(std::unique_ptr<Device> real, Lie lie) : real_(std::move(real)), lie_(lie) {}

  const Target& target() const override { return real_->target(); }
  Result<std::unique_ptr<Buffer>> Allocate(size_t size_bytes) override {
    return real_->Allocate(size_bytes);
  }
  Status Upload(std::span<const std::byte> from, BufferView to) override {
    return real_->Upload(from, to);
  }
  Status Download(BufferView from, std::span<std::byte> to) override {
    return real_->Download(from, to);
  }
  Status Synchronize() override { return real_->Synchronize(); }
  MemoryOperations* memory_operations() override { return real_->memory_operations(); }
  Result<double> TimeNs(Executable& executable, const Arguments& arguments,
                        const TimingRequest& request) override {
    ATTUNE_ASSIGN_OR_RETURN(const double true_ns, real_->TimeNs(executable, arguments, request));
    return lie_(true_ns, random_);
  }
  Status AwaitQuiescence(int64_t limit_ns) override { return real_->AwaitQuiescence(limit_ns); }

 private:
  const std::unique_ptr<Device> real_;
  const Lie lie_;
  Random random_{11};
};

// Products of small integers: their sums are exact in any order.
struct Product {
  Gemm gemm;
  std::vector<float> a;
  std::vector<float> b;
  std::vector<float> c;  // Right.
};

Product RandomProduct(Random& random) {
  const auto size = [&] { return 8 + static_cast<int64_t>(random.Below(24)); };
  const auto matrix = [&](int64_t elements) {
    std::vector<float> values(static_cast<size_t>(elements));
    for (float& value : values) value = static_cast<float>(random.Below(7)) - 3;
    return values;
  };
  Product product;
  product.gemm = Normalized(PackedGemm(size(), size(), size()));
  const auto [m, n, k] = std::tuple(product.gemm.m, product.gemm.n, product.gemm.k);
  product.a = matrix(m * k);
  product.b = matrix(k * n);
  for (int64_t column = 0; column < n; ++column) {
    for (int64_t row = 0; row < m; ++row) {
      float sum = 0;
      for (int64_t i = 0; i < k; ++i) {
        sum += product.a[static_cast<size_t>(row + i * m)] *
               product.b[static_cast<size_t>(i + column * k)];
      }
      product.c.push_back(sum);
    }
  }
  return product;
}

// A machine with a lying timer, its records and its kernels.
class LyingMachine {
 public:
  LyingMachine(std::unique_ptr<const Backend> backend, const std::string& spec, Lie lie)
      : backend_(std::move(backend)) {
    auto device = backend_->Open(spec);
    EXPECT_TRUE(device.ok()) << device.status().message();
    if (device.ok()) device_ = std::make_unique<LyingDevice>(*std::move(device), lie);
  }

  bool is_open() const { return device_ != nullptr; }

  Result<TuneReport> Tune(const Problem& problem, int64_t per_problem_ns) {
    const auto evaluator = MakeLocalEvaluator(backend_->solvers(), *device_);
    SteadyClock clock;
    TunerParts parts;
    parts.solvers = &backend_->solvers();
    parts.target = device_->target();
    parts.environment = backend_->DescribeEnvironment();
    parts.store = &store_;
    parts.evaluator = evaluator.get();
    parts.clock = &clock;
    TuneOptions options;
    options.per_problem_ns = per_problem_ns;
    return Tuner(parts, options).Tune(problem);
  }

  // The choice that the records serve.
  Result<Serving> Serve(const Problem& problem) {
    int64_t revision = 0;
    ATTUNE_ASSIGN_OR_RETURN(const auto choices, ReadNewerChoices(store_, 0, {}, &revision));
    DispatchParts parts;
    parts.solvers = &backend_->solvers();
    parts.device = device_.get();
    parts.target = device_->target();
    parts.environment = backend_->DescribeEnvironment();
    parts.kernels = &kernels_;
    dispatcher_ = std::make_unique<Dispatcher>(parts, DispatchOptions());
    return dispatcher_->Serve(problem, *choices, kNoWorkspaceLimit, Haste::kPatient);
  }

  // The result of `plan` for `product`.
  Result<std::vector<float>> Compute(Plan& plan, const Product& product) {
    std::vector<float> c(product.c.size(), std::nanf(""));
    std::vector<std::unique_ptr<Buffer>> buffers;
    std::vector<BufferView> operands;
    for (const std::vector<float>* matrix : {&product.a, &product.b, &std::as_const(c)}) {
      const auto bytes = std::as_bytes(std::span(*matrix));
      ATTUNE_ASSIGN_OR_RETURN(buffers.emplace_back(), device_->Allocate(bytes.size()));
      operands.push_back(buffers.back()->View(0));
      ATTUNE_RETURN_IF_ERROR(device_->Upload(bytes, operands.back()));
    }
    ATTUNE_ASSIGN_OR_RETURN(const auto workspace, device_->Allocate(plan.workspace_bytes() + 1));
    Arguments arguments;
    arguments.operands = operands;
    arguments.workspace = workspace->View(0);
    ATTUNE_RETURN_IF_ERROR(plan.Run(arguments));
    ATTUNE_RETURN_IF_ERROR(device_->Synchronize());
    ATTUNE_RETURN_IF_ERROR(
        device_->Download(operands.back(), std::as_writable_bytes(std::span(c))));
    return c;
  }

 private:
  const std::unique_ptr<const Backend> backend_;
  std::unique_ptr<LyingDevice> device_;
  MemoryStore store_;
  MemoryKernelCache kernels_;
  std::unique_ptr<Dispatcher> dispatcher_;  // For the last plan.
};

// Tunes `count` products, each for `per_problem_ns` at most, and then serves each. The candidates
// that serve, by problem.
std::vector<std::pair<Problem, Candidate>> TuneAndServe(LyingMachine& machine, int count,
                                                        int64_t per_problem_ns) {
  std::vector<std::pair<Problem, Candidate>> served;
  Random random(5);
  std::vector<Product> products;
  for (int i = 0; i < count; ++i) {
    products.push_back(RandomProduct(random));
    const auto report = machine.Tune(products.back().gemm, per_problem_ns);
    EXPECT_TRUE(report.ok()) << report.status().message();
  }
  for (const Product& product : products) {
    const Problem problem = product.gemm;
    auto serving = machine.Serve(problem);
    EXPECT_TRUE(serving.ok() && serving->plan != nullptr) << serving.status().message();
    if (!serving.ok() || serving->plan == nullptr) continue;
    const Option& option = serving->plan->option();
    EXPECT_EQ(option.origin, Origin::kMeasured) << Text(problem) << ": " << option.because;
    const auto c = machine.Compute(*serving->plan, product);
    EXPECT_TRUE(c.ok()) << c.status().message();
    EXPECT_TRUE(c.ok() && *c == product.c) << Text(option.candidate) << " of " << Text(problem);
    served.emplace_back(problem, option.candidate);
  }
  return served;
}

// Candidates with wrong results, so slow that the inverted timer likes them best.
constexpr const char* kWrongOnes = "fake.tiled{tile=4} fault=wrong_result time_ns=1000000";

std::unique_ptr<const Backend> FakeWithWrongOnes() {
  const auto script = FakeScript::Parse(kWrongOnes);
  EXPECT_TRUE(script.ok()) << script.status().message();
  return MakeFakeBackend(*script);
}

TEST(TimerFault, UnderInvertedTimesWhatServesIsSlowAndRight) {
  LyingMachine machine(FakeWithWrongOnes(), "fake", Inverted);
  ASSERT_TRUE(machine.is_open());

  const auto served = TuneAndServe(machine, 6, 20'000'000'000);

  ASSERT_EQ(served.size(), 6U);
  const Candidate usual{{"fake.library", 1}, {{"threads", int64_t{1}}}};
  for (const auto& [problem, candidate] : served) {
    // The lie was believed: without it nothing slower than the default is ever chosen.
    EXPECT_GT(FakeModelTimeNs(problem, candidate), FakeModelTimeNs(problem, usual))
        << Text(candidate);
  }
}

TEST(TimerFault, UnderRandomTimesWhatServesIsRight) {
  LyingMachine machine(FakeWithWrongOnes(), "fake", AnyTime);
  ASSERT_TRUE(machine.is_open());

  EXPECT_EQ(TuneAndServe(machine, 6, 20'000'000'000).size(), 6U);
}

// The libraries and kernels of the processor, which really compute.
TEST(TimerFault, OnTheProcessorWhatServesIsRight) {
  (void)host::SetThreadWaitPolicyInProgram();
  for (const Lie lie : {Inverted, AnyTime}) {
    LyingMachine machine(MakeHostBackend(), "cpu", lie);
    ASSERT_TRUE(machine.is_open());

    EXPECT_EQ(TuneAndServe(machine, 2, 3'000'000'000).size(), 2U);
  }
}

}  // namespace
}  // namespace attune
