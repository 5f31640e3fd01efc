// Backends of plug-ins as the evaluator and the tuner of a run time have them: loaded when they are
// asked, and then as good as loaded at once.

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/solver/plugin.h"
#include "attune/tuner/child_evaluator.h"
#include "runtime/places.h"

namespace attune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class LazyBackendTest : public testing::Test {
 protected:
  static void Use(const char* script) {
    ::setenv("ATTUNE_PLUGINS", "fake", 1);
    ::setenv(kPluginPathVariable, ATTUNE_PLUGIN_FOLDER, 1);
    ::setenv("ATTUNE_FAKE_SCRIPT", script, 1);
  }

  static const Backend* Fake(const BackendList& backends) {
    const auto found = FindBackend(backends, "fake");
    EXPECT_TRUE(found.ok()) << found.status().message();
    return found.ok() ? *found : nullptr;
  }

  // The program that is installed, told that every reference pays on the device.
  static std::unique_ptr<Evaluator> MakeRealEvaluator() {
    ChildOptions options;
    options.program = ATTUNE_EVALUATOR_PROGRAM;
    options.device = "fake";
    options.share_children = true;
    options.pays_on_device = [](const Problem&) { return true; };
    options.memory_limit_bytes = int64_t{512} << 20;
    return MakeChildEvaluator(std::move(options));
  }

  const Problem problem_ = *ParseProblem("gemm@1{m=16,n=16,k=16}");
};

TEST_F(LazyBackendTest, SaysWhatItsPlugInSays) {
  Use("device costly=1");
  const BackendList backends = LazyBackends();
  const Backend* lazy = Fake(backends);
  ASSERT_NE(lazy, nullptr);

  ChildOptions children;
  ShareIfCostly(*lazy, children);

  EXPECT_TRUE(lazy->IsCostlyToOpen());
  EXPECT_NE(lazy->reference_solver(), nullptr);
  EXPECT_TRUE(lazy->OpensAfterFork());
  EXPECT_FALSE(lazy->solvers().empty());
  EXPECT_FALSE(lazy->Libraries().empty());
  EXPECT_TRUE(children.share_children);
  EXPECT_TRUE(children.pays_on_device != nullptr);
}

TEST_F(LazyBackendTest, WithoutItsPlugInThereIsNothing) {
  Use("");
  ::setenv(kPluginPathVariable, "/", 1);

  const BackendList backends = LazyBackends();
  const auto lazy = std::find_if(backends.begin(), backends.end(),
                                 [](const auto& backend) { return backend->name() == "fake"; });
  ASSERT_NE(lazy, backends.end());

  EXPECT_FALSE((*lazy)->IsCostlyToOpen());
  EXPECT_EQ((*lazy)->reference_solver(), nullptr);
  EXPECT_TRUE((*lazy)->Devices().empty());
}

TEST_F(LazyBackendTest, TheEvaluatorAsksItsDeviceForReferences) {
  // An unused backend cannot crash.
  Use("fake.f64 fault=exit");
  const auto evaluator = MakeRealEvaluator();

  ASSERT_TRUE(evaluator->Begin(problem_, 1, {}, {}).ok());

  EXPECT_THAT(evaluator->TakeNotes(), ElementsAre(HasSubstr("exit status 3")));
}

TEST_F(LazyBackendTest, TheEvaluatorComputesReferencesThatAreRight) {
  Use("");
  const auto evaluator = MakeRealEvaluator();
  ASSERT_TRUE(evaluator->Begin(problem_, 1, {}, {}).ok());
  const std::vector<Candidate> candidates = {*ParseCandidate("fake.library@1{threads=1}")};

  const auto results = evaluator->Qualify(candidates, {}, nullptr);

  ASSERT_TRUE(results.ok()) << results.status().message();
  EXPECT_EQ(results->front().trial.failure(), nullptr);
  EXPECT_TRUE(evaluator->TakeNotes().empty());
}

}  // namespace
}  // namespace attune
