#include "backends/host/host_backend.h"

#include <sched.h>

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/ops/gemm/gemm.h"

namespace attune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

HostBackendOptions WithoutPlugins() {
  HostBackendOptions options;
  options.plugins.clear();
  return options;
}

std::vector<std::string> NamesOf(const Backend& backend, std::string_view operator_name) {
  std::vector<std::string> names;
  for (const auto& solver : backend.solvers()) {
    if (solver->traits().operator_name == operator_name) names.push_back(solver->id().name);
  }
  return names;
}

int AllowedCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return ::sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : -1;
}

TEST(HostBackendTest, LoadingEveryLibraryLeavesTheThreadFreeToRunOnEveryCore) {
  const int before = AllowedCores();

  const auto backend = MakeHostBackend();
  const auto reports = backend->Libraries();

  EXPECT_FALSE(reports.empty());
  EXPECT_EQ(AllowedCores(), before);
}

TEST(HostBackendTest, OpenBlasIsFirstAndTheReferenceLast) {
  const auto backend = MakeHostBackend(WithoutPlugins());

  const std::vector<std::string> names = NamesOf(*backend, "gemm");

  EXPECT_EQ(names.front(), "host.openblas-gemm");
  EXPECT_EQ(names.back(), "host.reference-gemm");
  EXPECT_THAT(names, IsSupersetOf({"host.blis-gemm", "host.packed-gemm", "host.gemv-gemm"}));
}

TEST(HostBackendTest, APluginThatIsMissingIsReportedAndCostsOnlyItsSolvers) {
  HostBackendOptions options;
  options.plugins = {"no-such-plugin"};
  const auto backend = MakeHostBackend(options);

  const auto reports = backend->Libraries();

  const auto report = std::find_if(reports.begin(), reports.end(),
                                   [](const auto& r) { return r.name == "no-such-plugin"; });
  ASSERT_NE(report, reports.end());
  EXPECT_FALSE(report->available);
  EXPECT_THAT(report->missing, HasSubstr("no-such-plugin"));
  EXPECT_EQ(NamesOf(*backend, "gemm"), NamesOf(*MakeHostBackend(WithoutPlugins()), "gemm"));
}

TEST(HostBackendTest, WithoutABlasItsSolverIsUnavailableAndTheNextOneIsTheDefault) {
  HostBackendOptions options = WithoutPlugins();
  options.openblas_path = options.blis_path = "/nonexistent/libblas.so";
  const auto backend = MakeHostBackend(options);
  const Target target = backend->Devices().front().target;
  const Problem problem = PackedGemm(16, 16, 16);

  const Status openblas = backend->solvers()[0]->IsApplicable(problem, target);
  const auto usable =
      std::count_if(backend->solvers().begin(), backend->solvers().end(),
                    [&](const auto& solver) { return solver->IsApplicable(problem, target).ok(); });

  EXPECT_EQ(openblas.code(), StatusCode::kUnavailable);
  EXPECT_THAT(openblas.message(), HasSubstr("libopenblas0-pthread"));
  EXPECT_GE(usable, 2);
}

TEST(HostBackendTest, TheOnlyDeviceIsTheProcessor) {
  const auto backend = MakeHostBackend(WithoutPlugins());

  const auto devices = backend->Devices();
  const auto device = backend->Open("cpu");
  const auto none = backend->Open("cpu:1");

  ASSERT_EQ(devices.size(), 1u);
  EXPECT_EQ(devices[0].spec, "cpu");
  EXPECT_EQ(devices[0].target.backend, "host");
  EXPECT_THAT(devices[0].target.arch, HasSubstr("x86-64"));
  EXPECT_GE(devices[0].target.compute_units, 1);
  ASSERT_TRUE(device.ok());
  EXPECT_EQ((*device)->target(), devices[0].target);
  EXPECT_EQ(none.status().code(), StatusCode::kNotFound);
}

TEST(HostBackendTest, EnvironmentNamesLibrariesPoliciesAndMachine) {
  const auto backend = MakeHostBackend(WithoutPlugins());

  const Environment environment = backend->DescribeEnvironment();

  for (const char* key :
       {"host.kernel", "host.name", "policy.frequency", "policy.omp_wait", "policy.gomp_spincount",
        "policy.openblas_thread_timeout", "policy.boost", "library.packed.build_id",
        "library.gemv.build_id", "library.direct.build_id", "library.im2col.build_id",
        "library.conv1x1.build_id"}) {
    EXPECT_EQ(environment.count(key), 1u) << key;
  }
  for (const LibraryReport& report : backend->Libraries()) {
    EXPECT_EQ(environment.count("library." + report.name), report.available ? 1u : 0u)
        << report.name;
  }
}

TEST(HostBackendTest, PeaksAreWithinWhatProcessorsCanDo) {
  const auto backend = MakeHostBackend(WithoutPlugins());
  const auto device = backend->Open("cpu");
  ASSERT_TRUE(device.ok());

  // A neighbour on the machine may take a core for the whole of one measurement, hardly of five.
  auto peaks = backend->MeasurePeaks(**device);
  for (int i = 0; i < 4; ++i) {
    const auto again = backend->MeasurePeaks(**device);
    ASSERT_TRUE(peaks.ok() && again.ok());
    peaks->f32_flops = std::max(peaks->f32_flops, again->f32_flops);
    peaks->f64_flops = std::max(peaks->f64_flops, again->f64_flops);
    peaks->bytes_per_second = std::max(peaks->bytes_per_second, again->bytes_per_second);
  }

  const double cores = (*device)->target().compute_units;
  EXPECT_GT(peaks->f32_flops, 1e9);
  // Two units of sixteen lanes, a multiplication and an addition each, at 7 GHz.
  EXPECT_LT(peaks->f32_flops, cores * 64 * 7e9);
  EXPECT_GT(peaks->f32_flops, 1.3 * peaks->f64_flops);
  EXPECT_GT(peaks->bytes_per_second, 1e8);
  EXPECT_LT(peaks->bytes_per_second, 2e12);
}

}  // namespace
}  // namespace attune
