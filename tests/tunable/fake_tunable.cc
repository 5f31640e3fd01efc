#include "tests/tunable/fake_tunable.h"

#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <limits>

#include <fmt/format.h>

#include "apps/attune/tuning_terms.h"
#include "attune/base/file.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/tuner/local_evaluator.h"
#include "backends/fake/fake_device.h"

namespace attune {
namespace {

// Enough for a busy machine; on an idle one a decision takes a tenth of it.
constexpr int64_t kPerProblemNs = int64_t{200'000'000} * ATTUNE_TEST_TIME_FACTOR;
constexpr int64_t kCacheBytes = 64 << 10;
constexpr float kGap = -1;
constexpr double kAlpha = 1.5;
constexpr double kBeta = 0.5;

double ValueOf(ScalarClass scalar, double other) {
  return scalar == ScalarClass::kZero ? 0 : scalar == ScalarClass::kOne ? 1 : other;
}

// Small whole numbers, so that sums are exact in every order.
float Element(size_t operand, size_t i) {
  return static_cast<float>(static_cast<int>((i * 7 + operand * 3) % 5) - 2);
}

// Content of every operand before the run.
std::vector<std::vector<float>> Contents(const Problem& problem) {
  std::vector<std::vector<float>> contents;
  for (const Operand& operand : Operands(problem)) {
    std::vector<float> values(static_cast<size_t>(SpanElements(operand.tensor)));
    for (size_t i = 0; i < values.size(); ++i) values[i] = Element(contents.size(), i);
    contents.push_back(std::move(values));
  }
  const Gemm& gemm = problem.Get<Gemm>();
  std::vector<float>& c = contents.back();
  const bool is_read = gemm.beta != ScalarClass::kZero;
  if (!is_read) c.assign(c.size(), std::numeric_limits<float>::quiet_NaN());
  for (size_t i = 0; i < c.size(); ++i) {
    const auto in_batch =
        gemm.stride_c > 0 ? static_cast<int64_t>(i) % gemm.stride_c : static_cast<int64_t>(i);
    if (in_batch % gemm.ldc >= gemm.m || in_batch / gemm.ldc >= gemm.n) c[i] = kGap;
  }
  return contents;
}

class CountedBuffer final : public Buffer {
 public:
  CountedBuffer(std::unique_ptr<Buffer> buffer, std::atomic<int>& live)
      : buffer_(std::move(buffer)), live_(live) {
    ++live_;
  }
  ~CountedBuffer() override { --live_; }
  void* handle() const override { return buffer_->handle(); }
  size_t size_bytes() const override { return buffer_->size_bytes(); }
  BufferView View(size_t offset_bytes) const override { return buffer_->View(offset_bytes); }

 private:
  const std::unique_ptr<Buffer> buffer_;
  std::atomic<int>& live_;
};

// Wraps a device and counts its buffers.
class CountingDevice final : public Device {
 public:
  CountingDevice(std::unique_ptr<Device> device, std::atomic<int>& live)
      : device_(std::move(device)), live_(live) {}

  const Target& target() const override { return device_->target(); }
  Result<std::unique_ptr<Buffer>> Allocate(size_t size_bytes) override {
    ATTUNE_ASSIGN_OR_RETURN(auto buffer, device_->Allocate(size_bytes));
    return std::unique_ptr<Buffer>(std::make_unique<CountedBuffer>(std::move(buffer), live_));
  }
  Status Upload(std::span<const std::byte> from, BufferView to) override {
    return device_->Upload(from, to);
  }
  Status Download(BufferView from, std::span<std::byte> to) override {
    return device_->Download(from, to);
  }
  Status Synchronize() override { return device_->Synchronize(); }
  Result<double> TimeNs(Executable& executable, const Arguments& arguments,
                        const TimingRequest& request) override {
    return device_->TimeNs(executable, arguments, request);
  }
  Status AwaitQuiescence(int64_t limit_ns) override { return device_->AwaitQuiescence(limit_ns); }

 private:
  const std::unique_ptr<Device> device_;
  std::atomic<int>& live_;
};

double Activated(Activation activation, double value) {
  return activation == Activation::kRelu ? std::max(value, 0.0) : value;
}

}  // namespace

Problem ProblemOf(std::string_view text) {
  auto problem = ParseProblem(text);
  EXPECT_TRUE(problem.ok()) << text << ": " << problem.status().message();
  return problem.ok() ? *problem : Problem();
}

TemporaryFolder::TemporaryFolder() {
  std::string name = std::filesystem::temp_directory_path() / "attune_tunable_XXXXXX";
  path_ = ::mkdtemp(name.data());
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TemporaryFolder::Read(std::string_view name) const {
  const auto content = ReadFile(path_ / name);
  return content.ok() ? *content : std::string();
}

void TemporaryFolder::Write(std::string_view name, std::string_view content) const {
  const Status status = WriteFileAtomically(path_ / name, content);
  EXPECT_TRUE(status.ok()) << status.message();
}

ProcessVariables VariablesIn(const TemporaryFolder& folder, ProcessVariables more) {
  more.emplace("ATTUNE_TUNABLE_ENABLED", "1");
  more.emplace("ATTUNE_TUNABLE_FILENAME", folder / "results.csv");
  more.emplace("ATTUNE_TUNABLE_UNTUNED_FILENAME", folder / "untuned.csv");
  return more;
}

FakeTunable::FakeTunable(const ProcessVariables& variables, int ordinal, std::string_view script) {
  const auto parsed = FakeScript::Parse(script);
  EXPECT_TRUE(parsed.ok()) << parsed.status().message();
  backend_ = MakeFakeBackend(parsed.ok() ? *parsed : FakeScript());
  device_ = std::make_unique<CountingDevice>(std::move(*backend_->Open("fake")), live_buffers_);
  evaluator_ = MakeLocalEvaluator(backend_->solvers(), *device_);
  auto switches = TunableSwitches::FromEnvironment(variables);
  EXPECT_TRUE(switches.ok()) << switches.status().message();
  context_ = std::make_unique<TunableContext>(Parts(ordinal), *std::move(switches));
}

FakeTunable::~FakeTunable() = default;

Candidate FakeTunable::DefaultOf(const Problem& problem) const {
  const Solver& solver = *backend_->solvers().front();
  return {solver.id(), *solver.DefaultConfig(problem, device_->target())};
}

TunableParts FakeTunable::Parts(int ordinal) {
  TunableParts parts;
  parts.here = {"0.1.0", device_->target(), {{"library.fake", "1.0"}}};
  parts.device_ordinal = ordinal;
  parts.cache_bytes = kCacheBytes;
  parts.solutions.default_of = [this](const Problem& problem) -> Result<Candidate> {
    return DefaultOf(problem);
  };
  parts.solutions.check = [this](const Problem& problem, const Candidate& candidate) -> Status {
    const Solver* const solver = FindSolver(backend_->solvers(), candidate.solver);
    if (solver == nullptr) {
      return NotFound(fmt::format("Solver {} does not exist here.", Text(candidate.solver)));
    }
    ATTUNE_RETURN_IF_ERROR(solver->IsApplicable(problem, device_->target()));
    if (solver->traits().listed_on_device) return Status::Ok();
    ATTUNE_ASSIGN_OR_RETURN(const ConfigSpace space, solver->Space(problem, device_->target()));
    if (space.IndexOf(candidate.config)) return Status::Ok();
    return NotFound(fmt::format("{} is not in the space of its solver.", Text(candidate)));
  };
  parts.tune = [this](const Problem& problem) { return Tune(problem); };
  parts.log = [](std::string_view) {};
  return parts;
}

Result<TunedCandidate> FakeTunable::Tune(const Problem& problem) {
  const std::lock_guard lock(tuner_mutex_);
  ++tunings_;
  TunerParts parts;
  parts.solvers = &backend_->solvers();
  parts.target = device_->target();
  parts.store = &store_;
  parts.evaluator = evaluator_.get();
  parts.clock = &clock_;
  TuneOptions options;
  options.per_problem_ns = kPerProblemNs;
  options = UnderTerms(std::move(options), TermsOf(*context_));
  ATTUNE_ASSIGN_OR_RETURN(const TuneReport report, Tuner(parts, options).Tune(problem));
  if (!report.choice) return Unavailable("No candidate could be timed.");
  return TunedCandidate{report.choice->candidate, report.choice->measurement.median_ns};
}

std::vector<RecordedSet> FakeTunable::Sets() {
  std::vector<RecordedSet> sets;
  const Status visited = store_.Visit({}, [&](const RecordedSet& set) {
    sets.push_back(set);
    return Status::Ok();
  });
  EXPECT_TRUE(visited.ok()) << visited.message();
  return sets;
}

std::vector<float> FakeTunable::Run(const Problem& problem, const Candidate& candidate) {
  const Solver* const solver = FindSolver(backend_->solvers(), candidate.solver);
  const auto recipe = solver->Recipe(problem, candidate.config, device_->target());
  Artifact artifact;
  if (!recipe->empty()) artifact = *solver->Build(*recipe);
  const auto executable = solver->Load(artifact, problem, candidate.config, *device_);
  std::vector<std::vector<float>> contents = Contents(problem);
  std::vector<BufferView> views;
  for (std::vector<float>& content : contents) views.push_back({content.data(), 0});
  const Gemm& gemm = problem.Get<Gemm>();
  Arguments arguments;
  arguments.operands = views;
  arguments.alpha = ValueOf(gemm.alpha, kAlpha);
  arguments.beta = ValueOf(gemm.beta, kBeta);
  const Status status = (*executable)->Run(arguments);
  EXPECT_TRUE(status.ok()) << status.message();
  return contents.back();
}

std::vector<float> FakeTunable::Expected(const Gemm& gemm) {
  std::vector<std::vector<float>> contents = Contents(gemm);
  std::vector<float>& c = contents.back();
  const auto at = [](bool transposed, int64_t row, int64_t column, int64_t leading) {
    return transposed ? column + row * leading : row + column * leading;
  };
  for (int64_t batch = 0; batch < gemm.batch_count; ++batch) {
    for (int64_t j = 0; j < gemm.n; ++j) {
      for (int64_t i = 0; i < gemm.m; ++i) {
        double sum = 0;
        for (int64_t p = 0; p < gemm.k; ++p) {
          const auto a =
              batch * gemm.stride_a + at(gemm.trans_a == Transpose::kYes, i, p, gemm.lda);
          const auto b =
              batch * gemm.stride_b + at(gemm.trans_b == Transpose::kYes, p, j, gemm.ldb);
          sum += static_cast<double>(contents[0][static_cast<size_t>(a)]) *
                 static_cast<double>(contents[1][static_cast<size_t>(b)]);
        }
        float& out = c[static_cast<size_t>(batch * gemm.stride_c + i + j * gemm.ldc)];
        sum *= ValueOf(gemm.alpha, kAlpha);
        if (gemm.beta != ScalarClass::kZero) {
          sum += ValueOf(gemm.beta, kBeta) * static_cast<double>(out);
        }
        if (gemm.bias == Bias::kPerRow) {
          sum += static_cast<double>(contents[2][static_cast<size_t>(i)]);
        }
        out = static_cast<float>(Activated(gemm.activation, sum));
      }
    }
  }
  return c;
}

Result<Serving> FakeTunable::Serve(const Problem& problem) {
  DispatchParts parts;
  parts.solvers = &backend_->solvers();
  parts.device = device_.get();
  parts.target = device_->target();
  parts.environment = {{"library.fake", "1.0"}};
  parts.kernels = &kernels_;
  const Dispatcher dispatcher(parts, DispatchOptions());
  return dispatcher.Serve(problem, *context_->choices(), kNoWorkspaceLimit, Haste::kPatient);
}

::testing::AssertionResult IsClose(std::span<const float> expected, std::span<const float> actual) {
  if (expected.size() != actual.size()) return ::testing::AssertionFailure() << "sizes differ";
  for (size_t i = 0; i < expected.size(); ++i) {
    if (std::isnan(expected[i]) && std::isnan(actual[i])) continue;
    if (std::abs(expected[i] - actual[i]) <= 1e-4f * (1 + std::abs(expected[i]))) continue;
    return ::testing::AssertionFailure()
           << "element " << i << " is " << actual[i] << ", not " << expected[i];
  }
  return ::testing::AssertionSuccess();
}

std::vector<std::string> KeysOf(std::string_view results_content) {
  std::vector<std::string> keys;
  for (const FileLine& line : ParseResultsFile(results_content).lines) {
    if (line.kind != FileLineKind::kResult) continue;
    keys.push_back(fmt::format("{},{}", line.result.key.op, line.result.key.params));
  }
  return keys;
}

}  // namespace attune
