// host.softmax against the reference: every config of every form, at sizes around the ends of
// loops.
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "attune/ops/softmax/softmax.h"
#include "attune/verify/special_values.h"
#include "attune/verify/verifier.h"
#include "backends/host/host_backend.h"

namespace attune::host {
namespace {

HostBackendOptions WithoutPlugins() {
  HostBackendOptions options;
  options.plugins.clear();
  return options;
}

class HostSoftmaxTest : public testing::Test {
 protected:
  HostSoftmaxTest() : backend_(MakeHostBackend(WithoutPlugins())) {
    device_ = *backend_->Open("cpu");
    for (const auto& solver : backend_->solvers()) {
      if (solver->id().name == "host.softmax") solver_ = solver.get();
    }
  }

  // Expects every config of `softmax` to be right.
  void Check(const Softmax& softmax) {
    const Problem problem = softmax;
    ASSERT_TRUE(Validate(problem).ok()) << Text(problem);
    const auto data = ProblemData::Create(problem, 5);
    ASSERT_TRUE(data.ok()) << Text(problem) << ": " << data.error().message();
    const auto space = solver_->Space(problem, device_->target());
    ASSERT_TRUE(space.ok()) << space.error().message();
    for (uint64_t i = 0; i < space->size(); ++i) {
      auto executable = solver_->Load({}, problem, space->At(i), *device_);
      ASSERT_TRUE(executable.ok());
      auto operands = BoundOperands::Create(*device_, problem, *data);
      ASSERT_TRUE(operands.ok());
      ASSERT_TRUE(operands->ReserveWorkspace((*executable)->workspace_bytes()).ok());
      const Verdict verdict = Verify(**executable, *device_, *operands, *data, problem);
      EXPECT_FALSE(verdict.failure.has_value())
          << Text(problem) << " " << Text(Candidate{solver_->id(), space->At(i)}) << ": "
          << verdict.failure->message;
      const auto lost = CheckSpecialValues(**executable, *device_, *operands, *data, problem);
      EXPECT_FALSE(lost.has_value())
          << Text(problem) << " " << Text(Candidate{solver_->id(), space->At(i)}) << ": "
          << lost->message;
    }
  }

  const std::unique_ptr<const Backend> backend_;
  std::unique_ptr<Device> device_;
  const Solver* solver_ = nullptr;
};

constexpr DataType kTypes[] = {DataType::kF32, DataType::kF16, DataType::kBf16};

TEST_F(HostSoftmaxTest, LinesOfNeighboursAreRight) {
  for (const DataType type : kTypes) {
    for (const int64_t length : {1, 2, 31, 32, 33, 63, 1000}) {
      for (const bool backward : {false, true}) {
        for (const bool logarithm : {false, true}) {
          Softmax softmax{.outer = 5, .length = length, .backward = backward};
          softmax.logarithm = logarithm;
          softmax.scaled = length % 2 == 1;
          softmax.type = type;
          softmax.alignment_bytes = static_cast<int>(SizeBytes(type));
          Check(softmax);
        }
      }
    }
  }
}

TEST_F(HostSoftmaxTest, LinesSideBySideAreRight) {
  for (const DataType type : kTypes) {
    for (const int64_t inner : {2, 16, 17, 70}) {
      for (const bool backward : {false, true}) {
        for (const bool logarithm : {false, true}) {
          Softmax softmax{.outer = 3, .length = 19, .inner = inner, .backward = backward};
          softmax.logarithm = logarithm;
          softmax.type = type;
          Check(softmax);
        }
      }
    }
  }
}

TEST_F(HostSoftmaxTest, MasksAreRight) {
  for (const DataType type : kTypes) {
    for (const int64_t length : {1, 40, 65}) {
      Softmax softmax{.outer = 120, .length = length, .queries = 60, .scaled = true};
      softmax.type = type;
      for (const SoftmaxMask mask : {SoftmaxMask::kCausal, SoftmaxMask::kAdditive}) {
        softmax.mask = mask;
        Check(softmax);
      }
    }
  }
}

}  // namespace
}  // namespace attune::host
