#include "backends/cuda/driver/module.h"

#include <gmock/gmock.h>

namespace attune::cuda {
namespace {

using testing::AllOf;
using testing::HasSubstr;

CUresult NoCluster(int* value, CUfunction_attribute, CUfunction) {
  *value = 0;
  return CUDA_SUCCESS;
}

CUresult ClusterOfFour(int* value, CUfunction_attribute name, CUfunction) {
  *value = name == CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH ? 4 : 1;
  return CUDA_SUCCESS;
}

template <int kClusters, CUresult kCode = CUDA_SUCCESS>
CUresult Room(int* clusters, CUfunction, const CUlaunchConfig* launch) {
  const bool is_asked_right = launch->gridDimZ == 4 && launch->blockDimX == 128 &&
                              launch->sharedMemBytes == 65536 && launch->numAttrs == 0;
  *clusters = kClusters;
  return is_asked_right ? kCode : CUDA_ERROR_INVALID_VALUE;
}

const char kNameOfError[] = "CUDA_ERROR_OF_THE_TEST";

CUresult ErrorText(CUresult, const char** text) {
  *text = kNameOfError;
  return CUDA_SUCCESS;
}

Status Checked(decltype(Driver::cuFuncGetAttribute) attribute,
               decltype(Driver::cuOccupancyMaxActiveClusters) room) {
  Driver driver;
  driver.cuGetErrorName = ErrorText;
  driver.cuGetErrorString = ErrorText;
  driver.cuFuncGetAttribute = attribute;
  driver.cuOccupancyMaxActiveClusters = room;
  LaunchShape shape;
  shape.grid[2] = 4;
  shape.block[0] = 128;
  shape.shared_bytes = 65536;
  return CheckClustersFit(driver, nullptr, shape);
}

TEST(ModuleTest, ClustersThatHaveRoomAndKernelsWithoutAnyAreTaken) {
  EXPECT_EQ(Checked(ClusterOfFour, Room<1>), Status::Ok());
  EXPECT_EQ(Checked(NoCluster, Room<0>), Status::Ok());
}

TEST(ModuleTest, AClusterWithoutRoomIsRefusedBeforeItIsLaunched) {
  for (const auto room : {Room<0>, Room<0, CUDA_ERROR_INVALID_CLUSTER_SIZE>}) {
    const Status refused = Checked(ClusterOfFour, room);

    EXPECT_EQ(refused.code(), StatusCode::kUnsupported);
    EXPECT_THAT(refused.message(),
                AllOf(HasSubstr("1x1x4 blocks of 128 threads"), HasSubstr("65536 bytes")));
  }
}

TEST(ModuleTest, ADriverThatCannotBeAskedOrFailsIsToldFromOneWithoutRoom) {
  EXPECT_EQ(Checked(ClusterOfFour, nullptr), Status::Ok());
  EXPECT_EQ(Checked(nullptr, Room<0>), Status::Ok());
  EXPECT_EQ(Checked(ClusterOfFour, Room<0, CUDA_ERROR_ILLEGAL_ADDRESS>).code(),
            StatusCode::kUnavailable);
}

TEST(ModuleTest, ClustersOfTheLaunchAreAskedForAndNeedADriverThatLaunchesThem) {
  Driver driver;
  driver.cuOccupancyMaxActiveClusters = [](int* clusters, CUfunction,
                                           const CUlaunchConfig* launch) {
    const bool is_cluster =
        launch->numAttrs == 1 && launch->attrs[0].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    *clusters = is_cluster && launch->attrs[0].value.clusterDim.x == 2 ? 1 : 0;
    return CUDA_SUCCESS;
  };
  LaunchShape shape;
  shape.cluster = {2, 1, 1};
  EXPECT_THAT(CheckClustersFit(driver, nullptr, shape).message(),
              HasSubstr("launches no clusters"));
  driver.cuLaunchKernelEx = [](const CUlaunchConfig*, CUfunction, void**, void**) {
    return CUDA_SUCCESS;
  };
  EXPECT_EQ(CheckClustersFit(driver, nullptr, shape), Status::Ok());
  shape.cluster = {4, 1, 1};
  EXPECT_THAT(CheckClustersFit(driver, nullptr, shape).message(),
              HasSubstr("A cluster of 4x1x1 blocks"));
}

TEST(ModuleTest, BlocksOfACooperativeLaunchRunAtOnceOrAreRefused) {
  Driver driver;
  LaunchShape shape;
  shape.grid[0] = 265;
  EXPECT_EQ(CheckBlocksFit(driver, nullptr, shape, 132), Status::Ok());
  shape.is_cooperative = true;
  EXPECT_EQ(CheckBlocksFit(driver, nullptr, shape, 132).code(), StatusCode::kUnsupported);
  driver.cuLaunchCooperativeKernel = [](CUfunction, unsigned, unsigned, unsigned, unsigned,
                                        unsigned, unsigned, unsigned, CUstream,
                                        void**) { return CUDA_SUCCESS; };
  driver.cuOccupancyMaxActiveBlocksPerMultiprocessor = [](int* blocks, CUfunction, int, size_t) {
    *blocks = 2;
    return CUDA_SUCCESS;
  };
  EXPECT_THAT(CheckBlocksFit(driver, nullptr, shape, 132).message(),
              testing::HasSubstr("265 blocks wait for each other, but only 264 run at a time"));
  shape.grid[0] = 264;
  EXPECT_EQ(CheckBlocksFit(driver, nullptr, shape, 132), Status::Ok());
}

}  // namespace
}  // namespace attune::cuda
