// The C functions over a context that stands for a whole runtime.
#include <cstdlib>
#include <cstring>
#include <limits>

#include <gmock/gmock.h>

#include "attune/tunable.h"
#include "attune/tunable/c_api.h"
#include "tests/tunable/fake_tunable.h"

struct attune_runtime {
  explicit attune_runtime(const attune::ProcessVariables& variables) : tunable(variables) {}
  attune::FakeTunable tunable;
};

namespace attune {

// Functions that the runtime's library defines for all of the C interface.
Result<TunableContext*> ContextOf(attune_runtime& owner) { return &owner.tunable.context(); }
attune_code Fail(const Status& status) { return static_cast<attune_code>(status.code()); }
Status CopyOut(const std::string& text, char** out) {
  *out = ::strdup(text.c_str());
  return *out == nullptr ? ResourceExhausted("No memory.") : Status::Ok();
}

namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string TextOf(attune_runtime& runtime, attune_code (*get)(attune_runtime*, char**)) {
  char* text = nullptr;
  EXPECT_EQ(get(&runtime, &text), ATTUNE_OK);
  std::string copy = text == nullptr ? "" : text;
  std::free(text);
  return copy;
}

class TunableCApi : public testing::Test {
 protected:
  const TemporaryFolder folder_;
  attune_runtime runtime_{VariablesIn(folder_, {{"ATTUNE_TUNABLE_ENABLED", "0"}})};
};

TEST_F(TunableCApi, SwitchesAreSetAndAsked) {
  EXPECT_EQ(attune_tunable_is_enabled(&runtime_), 0);
  EXPECT_EQ(attune_tunable_enable(&runtime_, 1), ATTUNE_OK);
  EXPECT_EQ(attune_tunable_is_enabled(&runtime_), 1);
  EXPECT_EQ(attune_tunable_tuning_is_enabled(&runtime_), 1);
  EXPECT_EQ(attune_tunable_tuning_enable(&runtime_, 0), ATTUNE_OK);
  EXPECT_EQ(attune_tunable_tuning_is_enabled(&runtime_), 0);
  EXPECT_EQ(attune_tunable_record_untuned_enable(&runtime_, 1), ATTUNE_OK);
  EXPECT_EQ(attune_tunable_record_untuned_is_enabled(&runtime_), 1);
  EXPECT_EQ(attune_tunable_wildcard_fallback_enable(&runtime_, 1), ATTUNE_OK);
  EXPECT_EQ(attune_tunable_wildcard_fallback_is_enabled(&runtime_), 1);
  EXPECT_EQ(attune_tunable_icache_flush_enable(&runtime_, 0), ATTUNE_OK);
  EXPECT_EQ(attune_tunable_icache_flush_is_enabled(&runtime_), 0);
  EXPECT_EQ(attune_tunable_library_enable(&runtime_, "openblas", 0), ATTUNE_OK);
  EXPECT_EQ(attune_tunable_library_is_enabled(&runtime_, "openblas"), 0);
  EXPECT_EQ(attune_tunable_library_is_enabled(&runtime_, "blis"), 1);
}

TEST_F(TunableCApi, LimitsAreSetAndAsked) {
  EXPECT_EQ(attune_tunable_set_max_tuning_duration(&runtime_, 11), ATTUNE_OK);
  EXPECT_EQ(attune_tunable_get_max_tuning_duration(&runtime_), 11);
  EXPECT_EQ(attune_tunable_set_max_tuning_iterations(&runtime_, -12), ATTUNE_OK);
  EXPECT_EQ(attune_tunable_get_max_tuning_iterations(&runtime_), 0);
  EXPECT_EQ(attune_tunable_set_max_warmup_duration(&runtime_, 13), ATTUNE_OK);
  EXPECT_EQ(attune_tunable_get_max_warmup_duration(&runtime_), 13);
  EXPECT_EQ(attune_tunable_set_max_warmup_iterations(&runtime_, 14), ATTUNE_OK);
  EXPECT_EQ(attune_tunable_get_max_warmup_iterations(&runtime_), 14);
  EXPECT_EQ(attune_tunable_set_requested_algo_count(&runtime_, 0), ATTUNE_OK);
  EXPECT_EQ(attune_tunable_get_requested_algo_count(&runtime_), 1);
  EXPECT_EQ(attune_tunable_set_rotating_buffer_size(&runtime_, 1), ATTUNE_OK);
  EXPECT_EQ(attune_tunable_get_rotating_buffer_size_bytes(&runtime_), 1 << 20);
  EXPECT_EQ(attune_tunable_set_measurement_mode(&runtime_, "kernel_profile"), ATTUNE_OK);
  EXPECT_STREQ(attune_tunable_get_measurement_mode(&runtime_), "kernel_profile");
  EXPECT_EQ(attune_tunable_set_measurement_mode(&runtime_, "stopwatch"), ATTUNE_INVALID_ARGUMENT);
}

// PyTorch: test_numerical_check_python_binding_tunableop.
TEST_F(TunableCApi, NumericalCheckPythonBinding) {
  double atol = 0;
  double rtol = 0;

  EXPECT_EQ(attune_tunable_set_numerical_check_tolerances(&runtime_, 1, -1e-5, 1e-5),
            ATTUNE_INVALID_ARGUMENT);
  EXPECT_EQ(attune_tunable_set_numerical_check_tolerances(&runtime_, 1, 1e-5, -1e-5),
            ATTUNE_INVALID_ARGUMENT);
  EXPECT_EQ(attune_tunable_set_numerical_check_tolerances(&runtime_, 1, 1e-2, 1e-1), ATTUNE_OK);

  EXPECT_EQ(attune_tunable_get_numerical_check_tolerances(&runtime_, &atol, &rtol), 1);
  EXPECT_EQ(atol, 1e-2);
  EXPECT_EQ(rtol, 1e-1);
}

TEST_F(TunableCApi, RecordTuneOfflineServe) {
  ASSERT_EQ(attune_tunable_enable(&runtime_, 1), ATTUNE_OK);
  const std::string untuned = TextOf(runtime_, attune_tunable_get_untuned_filename);
  folder_.Write("untuned0.csv", "GemmTunableOp_float_NN,nn_4_5_6\ngarbage\n");
  attune_tunable_offline report{};
  report.struct_size = sizeof report;

  EXPECT_EQ(attune_tunable_tune_in_file(&runtime_, untuned.c_str(), &report), ATTUNE_OK);

  EXPECT_EQ(report.tuned, 1);
  EXPECT_EQ(report.unreadable, 1);
  EXPECT_THAT(TextOf(runtime_, attune_tunable_get_results),
              StartsWith("GemmTunableOp_float_NN,nn_4_5_6"));
  EXPECT_THAT(TextOf(runtime_, attune_tunable_get_validators),
              HasSubstr("Validator,ATTUNE_TARGET,"));
  attune_tunable_counters counters{};
  counters.struct_size = sizeof counters;
  EXPECT_EQ(attune_tunable_get_counters(&runtime_, &counters), ATTUNE_OK);
  EXPECT_EQ(counters.tuned, 1);
  attune_runtime* const all[] = {&runtime_};
  EXPECT_EQ(attune_tunable_tune_in_files(all, 1, (folder_ / "untuned*.csv").c_str(), nullptr),
            ATTUNE_OK);
  EXPECT_EQ(attune_tunable_tune_in_files(all, 1, (folder_ / "none*.csv").c_str(), nullptr),
            ATTUNE_NOT_FOUND);
  EXPECT_EQ(attune_tunable_tune_in_files(all, 1, untuned.c_str(), nullptr),
            ATTUNE_INVALID_ARGUMENT);
  EXPECT_EQ(attune_tunable_tune_in_files(all, 0, (folder_ / "untuned*.csv").c_str(), nullptr),
            ATTUNE_INVALID_ARGUMENT);
}

TEST_F(TunableCApi, ACallThatCannotReportHasDoneNothing) {
  ASSERT_EQ(attune_tunable_enable(&runtime_, 1), ATTUNE_OK);
  folder_.Write("list.csv", "GemmTunableOp_float_NN,nn_4_5_6\n");
  const std::string list = folder_ / "list.csv";
  attune_runtime* const all[] = {&runtime_};
  attune_tunable_load load{};
  attune_tunable_offline offline{};
  load.struct_size = offline.struct_size = 1;

  EXPECT_EQ(attune_tunable_load_results(
                &runtime_, "GemmTunableOp_float_NN,nn_4_5_6,fake.reference@1{}\n", &load),
            ATTUNE_INVALID_ARGUMENT);
  EXPECT_EQ(attune_tunable_tune_in_file(&runtime_, list.c_str(), &offline),
            ATTUNE_INVALID_ARGUMENT);
  EXPECT_EQ(attune_tunable_tune_in_files(all, 1, (folder_ / "list*.csv").c_str(), &offline),
            ATTUNE_INVALID_ARGUMENT);

  EXPECT_EQ(TextOf(runtime_, attune_tunable_get_results), "");
}

TEST_F(TunableCApi, FilesAreWrittenReadAndForgotten) {
  ASSERT_EQ(attune_tunable_enable(&runtime_, 1), ATTUNE_OK);
  folder_.Write("mine.csv", "GemmTunableOp_float_NN,nn_4_5_6,Default\n");

  EXPECT_EQ(attune_tunable_read_file(&runtime_, (folder_ / "mine.csv").c_str()), ATTUNE_OK);
  EXPECT_EQ(attune_tunable_write_file(&runtime_, (folder_ / "out.csv").c_str()), ATTUNE_OK);
  EXPECT_EQ(attune_tunable_clear(&runtime_), ATTUNE_OK);

  EXPECT_EQ(TextOf(runtime_, attune_tunable_get_results), "");
  EXPECT_EQ(KeysOf(folder_.Read("out.csv")).size(), 1u);
  EXPECT_EQ(attune_tunable_read_file(&runtime_, (folder_ / "absent.csv").c_str()),
            ATTUNE_NOT_FOUND);
  EXPECT_EQ(attune_tunable_write_file_on_exit(&runtime_, 1), ATTUNE_OK);
}

TEST_F(TunableCApi, TheEnvironmentWinsOverFileNames) {
  EXPECT_EQ(TextOf(runtime_, attune_tunable_get_filename), folder_ / "results0.csv");
  EXPECT_EQ(attune_tunable_set_filename(&runtime_, "x.csv", 1), ATTUNE_FAILED_PRECONDITION);
  EXPECT_EQ(attune_tunable_set_untuned_filename(&runtime_, "x.csv"), ATTUNE_FAILED_PRECONDITION);
}

TEST_F(TunableCApi, DynamicDimensionsNest) {
  EXPECT_EQ(attune_tunable_push_dynamic_dims(ATTUNE_DYNAMIC_M | ATTUNE_DYNAMIC_ROW_MAJOR),
            ATTUNE_OK);
  EXPECT_EQ(CurrentDynamicDims(), DynamicDims{kDynamicN});
  EXPECT_EQ(attune_tunable_push_dynamic_dims(ATTUNE_DYNAMIC_K | ATTUNE_DYNAMIC_BUCKETS), ATTUNE_OK);
  EXPECT_EQ(CurrentDynamicDims(), (DynamicDims{kDynamicK, Reach::kPowerOfTwo}));
  EXPECT_EQ(attune_tunable_pop_dynamic_dims(), ATTUNE_OK);
  EXPECT_EQ(attune_tunable_pop_dynamic_dims(), ATTUNE_OK);
  EXPECT_EQ(attune_tunable_pop_dynamic_dims(), ATTUNE_FAILED_PRECONDITION);
  EXPECT_EQ(attune_tunable_push_dynamic_dims(64), ATTUNE_INVALID_ARGUMENT);
}

TEST_F(TunableCApi, NullsAreRefused) {
  EXPECT_EQ(attune_tunable_enable(nullptr, 1), ATTUNE_INVALID_ARGUMENT);
  EXPECT_EQ(attune_tunable_is_enabled(nullptr), 0);
  EXPECT_EQ(attune_tunable_get_results(&runtime_, nullptr), ATTUNE_INVALID_ARGUMENT);
  EXPECT_EQ(attune_tunable_set_filename(&runtime_, nullptr, 0), ATTUNE_INVALID_ARGUMENT);
  EXPECT_EQ(attune_tunable_get_counters(&runtime_, nullptr), ATTUNE_INVALID_ARGUMENT);
  attune_tunable_counters unset{};
  EXPECT_EQ(attune_tunable_get_counters(&runtime_, &unset), ATTUNE_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace attune
