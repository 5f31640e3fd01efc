// Blocks that have room on a multiprocessor, compared with the calculator of CUDA's toolkit.
#include <gtest/gtest.h>

#include "attune/kernel/multiprocessor.h"

#if __has_include(<cuda_occupancy.h>)
#include <cuda_occupancy.h>

namespace attune::kernel {
namespace {

constexpr size_t kUsualSharedBytes = 49152;

cudaOccDeviceProp PropertiesOf(const Multiprocessor& multiprocessor) {
  cudaOccDeviceProp properties;
  properties.computeMajor = multiprocessor.arch[3] - '0';
  properties.computeMinor = multiprocessor.arch[4] - '0';
  properties.maxThreadsPerBlock = kMostThreadsOfBlock;
  properties.maxThreadsPerMultiprocessor = multiprocessor.threads;
  properties.regsPerBlock = multiprocessor.block_registers;
  properties.regsPerMultiprocessor = 65536;
  properties.warpSize = 32;
  properties.sharedMemPerBlock = kUsualSharedBytes;
  properties.sharedMemPerMultiprocessor = static_cast<size_t>(multiprocessor.shared_bytes);
  properties.numSms = multiprocessor.count;
  properties.sharedMemPerBlockOptin = static_cast<size_t>(multiprocessor.block_shared_bytes);
  properties.reservedSharedMemPerBlock = properties.computeMajor >= 8 ? 1024 : 0;
  return properties;
}

// Blocks by the calculator, with shared memory that is opted for.
cudaOccResult OracleOf(const cudaOccDeviceProp& properties, const BlockNeeds& needs) {
  cudaOccFuncAttributes attributes;
  attributes.maxThreadsPerBlock = kMostThreadsOfBlock;
  attributes.numRegs = needs.registers;
  attributes.sharedSizeBytes = 0;
  attributes.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
  attributes.maxDynamicSharedSizeBytes = properties.sharedMemPerBlockOptin;
  cudaOccDeviceState state;
  cudaOccResult result;
  const cudaOccError code = cudaOccMaxActiveBlocksPerMultiprocessor(
      &result, &properties, &attributes, &state, needs.threads,
      static_cast<size_t>(needs.shared_bytes));
  EXPECT_EQ(code, CUDA_OCC_SUCCESS);
  return result;
}

bool AgreesWithOracle(const Multiprocessor& multiprocessor, const cudaOccDeviceProp& properties,
                      const BlockNeeds& needs) {
  const cudaOccResult oracle = OracleOf(properties, needs);
  const BlockRoom room = RoomFor(needs, multiprocessor);
  const unsigned limits = oracle.limitingFactors;
  const bool same =
      room.blocks() == oracle.activeBlocksPerMultiprocessor &&
      (room.by_threads == room.blocks()) == ((limits & OCC_LIMIT_WARPS) != 0) &&
      (room.by_registers == room.blocks()) == ((limits & OCC_LIMIT_REGISTERS) != 0) &&
      (room.by_shared_memory == room.blocks()) == ((limits & OCC_LIMIT_SHARED_MEMORY) != 0) &&
      (room.by_blocks == room.blocks()) == ((limits & OCC_LIMIT_BLOCKS) != 0);
  EXPECT_TRUE(same) << multiprocessor.arch << " threads " << needs.threads << " registers "
                    << needs.registers << " shared " << needs.shared_bytes << ": " << room.blocks()
                    << " for " << room.limited() << ", oracle "
                    << oracle.activeBlocksPerMultiprocessor << " for " << limits;
  return same;
}

TEST(OccupancyOracleTest, RoomIsThatOfTheCalculatorOfTheToolkit) {
  int64_t compared = 0;
  for (const Multiprocessor& multiprocessor : Multiprocessors()) {
    const cudaOccDeviceProp properties = PropertiesOf(multiprocessor);
    for (int threads = 1; threads <= kMostThreadsOfBlock; threads += threads < 33 ? 8 : 31) {
      for (int registers = 0; registers <= kMostRegistersOfThread; registers += 5) {
        for (int64_t shared = 0; shared <= 234'000; shared = shared * 5 / 4 + 127) {
          ++compared;
          ASSERT_TRUE(AgreesWithOracle(multiprocessor, properties, {threads, registers, shared}));
        }
      }
    }
  }
  EXPECT_GT(compared, 500'000);
}

TEST(OccupancyOracleTest, EdgesOfSharedMemoryAreThose) {
  for (const Multiprocessor& multiprocessor : Multiprocessors()) {
    const cudaOccDeviceProp properties = PropertiesOf(multiprocessor);
    for (int blocks = 1; blocks <= multiprocessor.blocks; ++blocks) {
      const int64_t share = multiprocessor.shared_bytes / blocks;
      for (int64_t shared = std::max<int64_t>(0, share - 1200); shared < share + 300; ++shared) {
        ASSERT_TRUE(AgreesWithOracle(multiprocessor, properties, {32, 16, shared}));
      }
    }
    for (int64_t shared = multiprocessor.block_shared_bytes - 300;
         shared < multiprocessor.block_shared_bytes + 1400; ++shared) {
      ASSERT_TRUE(AgreesWithOracle(multiprocessor, properties, {64, 32, shared}));
    }
  }
}

}  // namespace
}  // namespace attune::kernel

#else

TEST(OccupancyOracleTest, IsSkippedWithoutTheToolkit) {
  GTEST_SKIP() << "cuda_occupancy.h of the CUDA toolkit is not installed.";
}

#endif
