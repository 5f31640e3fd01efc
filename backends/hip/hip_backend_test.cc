#include "backends/hip/hip_backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/ops/gemm/gemm.h"

namespace attune::hip {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(HipBackendTest, ThereAreSolversOfKernelFilesAndNoDevices) {
  const auto backend = HipBackend({ATTUNE_SOURCE_KERNEL_DIR});

  bool has_tiled = false;
  for (const auto& solver : backend->solvers()) {
    has_tiled = has_tiled || solver->id().name == "hip.gemm-tiled";
    EXPECT_TRUE(solver->traits().compiles) << solver->id().name;
  }
  EXPECT_TRUE(has_tiled);
  EXPECT_THAT(backend->Devices(), IsEmpty());
  EXPECT_EQ(backend->Open("hip:0").status().code(), StatusCode::kNotFound);
}

TEST(HipBackendTest, AnArchitectureIsATargetThatNeedsNoDevice) {
  const auto target = TargetOf("gfx90a");

  ASSERT_TRUE(target.ok()) << target.status().ToString();
  EXPECT_EQ(target->backend, "hip");
  EXPECT_EQ(target->arch, "gfx90a");
}

TEST(HipBackendTest, AnUnknownArchitectureIsAnErrorThatListsTheKnown) {
  const auto target = TargetOf("gfx90");

  EXPECT_EQ(target.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(target.status().message(), AllOf(HasSubstr("'gfx90'"), HasSubstr("gfx90a")));
}

TEST(HipBackendTest, NoKernelIsOfferedForADeviceOfAnotherBackend) {
  const auto backend = HipBackend({ATTUNE_SOURCE_KERNEL_DIR});
  const Target cuda{"cuda", "NVIDIA H200", "sm_90", 132, {}};

  for (const auto& solver : backend->solvers()) {
    EXPECT_EQ(solver->IsApplicable(PackedGemm(8, 8, 8), cuda).code(), StatusCode::kUnsupported);
  }
}

}  // namespace
}  // namespace attune::hip
