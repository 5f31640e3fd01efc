// The tests of ONNX Runtime's tunable_op_test.cc, by name. docs/tunableop.md maps them.
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "attune/ops/gemm/gemm.h"
#include "attune/solver/callable_solver.h"
#include "tests/tunable/fake_tunable.h"

namespace attune {
namespace {

using testing::HasSubstr;

// *out = a + b over the operands.
Status Add(const Arguments& arguments) {
  const auto at = [&](size_t i) { return static_cast<float*>(arguments.operands[i].handle); };
  *at(2) = *at(0) + *at(1);
  return Status::Ok();
}

// The result of `run` for 2 and 3 as a solver.
template <class Run>
float RunWrapped(Run run) {
  const TemporaryFolder folder;
  FakeTunable tunable(VariablesIn(folder));
  const auto solver = MakeCallableSolver({"test.add", 1}, {}, std::move(run));
  const auto executable = solver->Load({}, Problem(), {}, tunable.device());
  float values[3] = {2, 3, 0};
  const BufferView views[] = {{&values[0], 0}, {&values[1], 0}, {&values[2], 0}};
  Arguments arguments;
  arguments.operands = views;
  EXPECT_TRUE((*executable)->Run(arguments).ok());
  return values[2];
}

struct ConstFunctor {
  Status operator()(const Arguments& arguments) const { return Add(arguments); }
};
struct MutableFunctor {
  Status operator()(const Arguments& arguments) {
    ++calls;
    return Add(arguments);
  }
  int calls = 0;
};
struct MoveOnlyFunctor {
  Status operator()(const Arguments& arguments) { return Add(arguments); }
  std::unique_ptr<int> resource = std::make_unique<int>(1);
};

TEST(OrtAcceptance, OpWrapsFunction) { EXPECT_EQ(RunWrapped(Add), 5); }

TEST(OrtAcceptance, OpWrapsLambda) {
  EXPECT_EQ(RunWrapped([](const Arguments& arguments) { return Add(arguments); }), 5);
}

TEST(OrtAcceptance, OpWrapsMoveOnlyLambda) {
  EXPECT_EQ(RunWrapped([resource = std::make_unique<int>(1)](const Arguments& arguments) {
              return *resource == 1 ? Add(arguments) : Internal("The resource is lost.");
            }),
            5);
}

TEST(OrtAcceptance, OpWrapsConstFunctor) { EXPECT_EQ(RunWrapped(ConstFunctor()), 5); }
TEST(OrtAcceptance, OpWrapsMutableFunctor) { EXPECT_EQ(RunWrapped(MutableFunctor()), 5); }
TEST(OrtAcceptance, OpWrapsMoveOnlyFunctor) { EXPECT_EQ(RunWrapped(MoveOnlyFunctor()), 5); }

TEST(OrtAcceptance, OpWrapsFunctorWithExtendedIsSupported) {
  const auto solver = MakeCallableSolver({"test.add", 1}, {}, Add, [](const Problem& problem) {
    return OperatorName(problem) == "gemm" ? Status::Ok()
                                           : Unsupported("Only gemm is computed here.");
  });

  EXPECT_TRUE(solver->IsApplicable(ProblemOf("gemm@1{m=1,n=1,k=1}"), Target()).ok());
  EXPECT_EQ(
      solver->IsApplicable(ProblemOf("conv@1{dir=fwd,n=1,c=1,h=3,w=3,k=1,fh=1,fw=1}"), Target())
          .message(),
      "Only gemm is computed here.");
}

TEST(OrtAcceptance, SelectFastIfTuning) {
  const TemporaryFolder folder;
  FakeTunable tunable(VariablesIn(folder), 0,
                      "fake.library time_ns=1e6\nfake.reference time_ns=9e6");
  const Problem problem = ProblemOf("gemm@1{m=8,n=8,k=8}");
  EXPECT_EQ(tunable.Serve(problem)->plan->option().candidate.solver.name, "fake.library");

  ASSERT_TRUE(tunable.context().TuneMiss(problem).ok());

  EXPECT_EQ(tunable.Serve(problem)->plan->option().candidate.solver.name, "fake.tiled");
}

TEST(OrtAcceptance, SelectSupported) {
  const TemporaryFolder folder;
  FakeTunable tunable(VariablesIn(folder), 0,
                      "fake.tiled fault=load_fails time_ns=1\nfake.library time_ns=1e6");

  ASSERT_TRUE(tunable.context().TuneMiss(ProblemOf("gemm@1{m=8,n=8,k=8}")).ok());

  EXPECT_NE(tunable.context().Lookup(ProblemOf("gemm@1{m=8,n=8,k=8}"))->candidate.solver.name,
            "fake.tiled");
}

TEST(OrtAcceptance, SelectFastestIfSupported) {
  const TemporaryFolder folder;
  folder.Write("results0.csv",
               "GemmTunableOp_float_NN,nn_8_8_8,fake.tiled@1{threads=1,tile=4,unroll=1}\n"
               "GemmTunableOp_double_NN,nn_8_8_8,fake.tiled@1{threads=1,tile=4,unroll=1}\n");
  FakeTunable tunable(VariablesIn(folder));

  EXPECT_TRUE(tunable.context().Lookup(ProblemOf("gemm@1{m=8,n=8,k=8}")));
  // The fake solvers compute f32 only.
  EXPECT_FALSE(tunable.context().Lookup(ProblemOf("gemm@1{m=8,n=8,k=8,type=f64}")));
}

TEST(OrtAcceptance, DisabledWithManualSelection) {
  const TemporaryFolder folder;
  folder.Write("results0.csv", "GemmTunableOp_float_NN,nn_8_8_8,fake.reference@1{}\n");
  FakeTunable tunable(VariablesIn(folder, {{"ATTUNE_TUNABLE_TUNING", "0"}}), 0,
                      "fake.reference fault=launch_fails");
  const auto serving = tunable.Serve(ProblemOf("gemm@1{m=8,n=8,k=8}"));
  ASSERT_TRUE(serving.ok());
  ASSERT_EQ(serving->plan->option().candidate.solver.name, "fake.reference");
  std::vector<float> memory(192);
  const BufferView views[] = {
      {memory.data(), 0}, {memory.data() + 64, 0}, {memory.data() + 128, 0}};
  Arguments arguments;
  arguments.operands = views;

  const Status status = serving->plan->Run(arguments);

  EXPECT_FALSE(status.ok());
  EXPECT_FALSE(status.message().empty());
}

TEST(OrtAcceptance, HandleInplaceUpdate) {
  // A tuning runs every candidate many times over one output that it reads; timing and verification
  // must not use values that the run before left there.
  const TemporaryFolder folder;
  FakeTunable tunable(VariablesIn(folder));
  const Problem problem = ProblemOf("gemm@1{m=8,n=8,k=8,beta=other}");

  ASSERT_TRUE(tunable.context().TuneMiss(problem).ok());

  const auto hit = tunable.context().Lookup(problem);
  ASSERT_TRUE(hit);
  EXPECT_TRUE(
      IsClose(FakeTunable::Expected(problem.Get<Gemm>()), tunable.Run(problem, hit->candidate)));
  // No candidate was refused because of data that another one left, and some were compared.
  size_t timed = 0;
  for (const RecordedSet& set : tunable.Sets()) {
    for (const Record& record : set.records) {
      const Failure* failure = record.trial.failure();
      EXPECT_EQ(failure, nullptr) << Text(record.trial.candidate) << ": " << failure->message;
      if (record.trial.measurement() != nullptr) ++timed;
    }
  }
  EXPECT_GE(timed, 2u);
}

TEST(OrtAcceptance, OpSignatureMustNotChange) {
  EXPECT_EQ(NamesOf(ProblemOf("gemm@1{m=5,n=6,k=7,ta=t,batch=3,type=bf16}")),
            (TunableOpKey{"GemmStridedBatchedTunableOp_BFloat16_TN", "tn_5_6_7_B_3_ld_7_7_5"}));
  EXPECT_EQ(NamesOf(ProblemOf("gemm@1{m=5,n=6,k=7,type=i8,ctype=i32}")).op, "AttuneProblem_gemm");
}

TEST(OrtAcceptance, OpSignatureMustNotCollide) {
  const TemporaryFolder folder;
  FakeTunable tunable(VariablesIn(folder));
  const std::vector<std::string> alike = {"gemm@1{m=4,n=5,k=6}",
                                          "gemm@1{m=4,n=5,k=6,beta=one}",
                                          "gemm@1{m=4,n=5,k=6,alpha=other}",
                                          "gemm@1{m=4,n=5,k=6,act=relu}",
                                          "gemm@1{m=4,n=5,k=6,align=16}",
                                          "gemm@1{m=4,n=5,k=6,det=1}"};
  for (size_t i = 0; i < alike.size(); ++i) {
    const std::string candidate = fmt::format("fake.library@1{{threads={}}}", i % 2 + 1);
    ASSERT_TRUE(
        tunable.context().AddResult(ProblemOf(alike[i]), {*ParseCandidate(candidate), 1}).ok());
  }

  FakeTunable reader(VariablesIn(folder));

  for (size_t i = 0; i < alike.size(); ++i) {
    const auto hit = reader.context().Lookup(ProblemOf(alike[i]));
    ASSERT_TRUE(hit) << alike[i];
    EXPECT_EQ(Text(hit->candidate), fmt::format("fake.library@1{{threads={}}}", i % 2 + 1));
  }
  const std::set<std::string> keys = [&] {
    const auto all = KeysOf(folder.Read("results0.csv"));
    return std::set<std::string>(all.begin(), all.end());
  }();
  EXPECT_EQ(keys.size(), 1u);
}

TEST(OrtAcceptance, TunableOpRespectTuningContext) {
  const TemporaryFolder folder;
  const Problem problem = ProblemOf("gemm@1{m=8,n=8,k=8}");
  FakeTunable tunable(VariablesIn(folder));
  ASSERT_TRUE(tunable.context().TuneMiss(problem).ok());
  EXPECT_EQ(tunable.context().results().size(), 1u);
  // A loaded entry is respected, one out of range is replaced.
  const TemporaryFolder loaded;
  loaded.Write("results0.csv", "GemmTunableOp_float_NN,nn_8_8_8,fake.reference@1{}\n");
  FakeTunable respects(VariablesIn(loaded));
  EXPECT_EQ(*respects.context().TuneMiss(problem), TuneOutcome::kKnown);
  EXPECT_EQ(respects.context().Lookup(problem)->candidate.solver.name, "fake.reference");
  const TemporaryFolder broken;
  broken.Write("results0.csv", "GemmTunableOp_float_NN,nn_8_8_8,fake.tiled@1{tile=1000000}\n");
  FakeTunable recovers(VariablesIn(broken));

  EXPECT_EQ(*recovers.context().TuneMiss(problem), TuneOutcome::kTuned);

  EXPECT_TRUE(recovers.context().Lookup(problem));
}

TEST(OrtAcceptance, GetAndLoadTuningResults) {
  const TemporaryFolder folder;
  FakeTunable writer(VariablesIn(folder));
  ASSERT_TRUE(writer.context().TuneMiss(ProblemOf("gemm@1{m=8,n=8,k=8}")).ok());
  ASSERT_TRUE(writer.context().WriteResults(folder / "blob.csv").ok());
  const TemporaryFolder elsewhere;
  FakeTunable reader(VariablesIn(elsewhere));

  const auto report = reader.context().ReadResults(folder / "blob.csv");

  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->accepted, 1);
  EXPECT_EQ(Text(reader.context().results()[0].line), Text(writer.context().results()[0].line));
}

}  // namespace
}  // namespace attune
