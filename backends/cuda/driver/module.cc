#include "backends/cuda/driver/module.h"

#include <elf.h>

#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "attune/base/fingerprint.h"

namespace attune::cuda {
namespace {

// More than any function has: its parameters take at most 32764 bytes together.
constexpr size_t kMostParameters = 32764;

using Extents = std::array<unsigned, 3>;

// The clusters that the code of `function` demands, if it does.
std::optional<Extents> ClusterOf(const Driver& driver, CUfunction function) {
  if (driver.cuFuncGetAttribute == nullptr) return std::nullopt;
  Extents extents = {};
  for (int i = 0; i < 3; ++i) {
    // Width, height and depth follow each other.
    const auto name =
        static_cast<CUfunction_attribute>(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH + i);
    int extent = 0;
    const CUresult code = driver.cuFuncGetAttribute(&extent, name, function);
    if (code != CUDA_SUCCESS || extent <= 0) return std::nullopt;
    extents[i] = static_cast<unsigned>(extent);
  }
  return extents;
}

// `attribute` holds the extents of the clusters, if the launch has them, and outlives the config.
CUlaunchConfig ConfigOf(const LaunchShape& shape, CUlaunchAttribute& attribute) {
  CUlaunchConfig launch = {};
  launch.gridDimX = shape.grid[0];
  launch.gridDimY = shape.grid[1];
  launch.gridDimZ = shape.grid[2];
  launch.blockDimX = shape.block[0];
  launch.blockDimY = shape.block[1];
  launch.blockDimZ = shape.block[2];
  launch.sharedMemBytes = shape.shared_bytes;
  if (shape.cluster[0] == 0) return launch;
  attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  attribute.value.clusterDim = {shape.cluster[0], shape.cluster[1], shape.cluster[2]};
  launch.attrs = &attribute;
  launch.numAttrs = 1;
  return launch;
}

CUresult LaunchCluster(const Driver& driver, CUfunction function, const LaunchShape& shape,
                       void** arguments, CUstream stream) {
  CUlaunchAttribute attribute = {};
  CUlaunchConfig launch = ConfigOf(shape, attribute);
  launch.hStream = stream;
  return driver.cuLaunchKernelEx(&launch, function, arguments, nullptr);
}

CUresult LaunchBlocks(const Driver& driver, CUfunction function, const LaunchShape& shape,
                      void** arguments, CUstream stream) {
  if (shape.cluster[0] > 0) return LaunchCluster(driver, function, shape, arguments, stream);
  const auto [x, y, z] = shape.grid;
  const auto [width, height, depth] = shape.block;
  if (shape.is_cooperative) {
    return driver.cuLaunchCooperativeKernel(function, x, y, z, width, height, depth,
                                            shape.shared_bytes, stream, arguments);
  }
  return driver.cuLaunchKernel(function, x, y, z, width, height, depth, shape.shared_bytes, stream,
                               arguments, nullptr);
}

}  // namespace

bool HasVariables(const Artifact& cubin) {
  // Files other than ELF, such as PTX that another program compiled, may have them.
  const bool is_elf = cubin.bytes.starts_with(ELFMAG);
  // The section in which NVIDIA's compilers put mutable variables.
  return !is_elf || cubin.bytes.find(".nv.global") != std::string::npos;
}

Status CheckClustersFit(const Driver& driver, CUfunction function, const LaunchShape& shape) {
  const bool is_of_launch = shape.cluster[0] > 0;
  if (is_of_launch && driver.cuLaunchKernelEx == nullptr) {
    return Unsupported("This driver launches no clusters.");
  }
  if (driver.cuOccupancyMaxActiveClusters == nullptr) return Status::Ok();
  std::optional<Extents> extents = shape.cluster;
  if (!is_of_launch) extents = ClusterOf(driver, function);
  if (!extents) return Status::Ok();
  CUlaunchAttribute attribute = {};
  const CUlaunchConfig launch = ConfigOf(shape, attribute);
  int clusters = 0;
  const CUresult code = driver.cuOccupancyMaxActiveClusters(&clusters, function, &launch);
  const bool fits = code == CUDA_SUCCESS && clusters > 0;
  if (fits) return Status::Ok();
  if (code != CUDA_SUCCESS && code != CUDA_ERROR_INVALID_CLUSTER_SIZE) {
    return CudaStatus(driver, code, "Cannot ask how many clusters run at a time");
  }
  return Unsupported(fmt::format(
      "A cluster of {}x{}x{} blocks of {} threads and {} bytes of dynamic shared memory each does "
      "not fit into this device at once; other configs use smaller clusters or none.",
      (*extents)[0], (*extents)[1], (*extents)[2], shape.block[0] * shape.block[1] * shape.block[2],
      shape.shared_bytes));
}

Status CheckBlocksFit(const Driver& driver, CUfunction function, const LaunchShape& shape,
                      int multiprocessors) {
  if (!shape.is_cooperative) return Status::Ok();
  if (driver.cuLaunchCooperativeKernel == nullptr ||
      driver.cuOccupancyMaxActiveBlocksPerMultiprocessor == nullptr) {
    return Unsupported("This driver has no cooperative launches.");
  }
  const auto threads = static_cast<int>(shape.block[0] * shape.block[1] * shape.block[2]);
  int resident = 0;
  ATTUNE_RETURN_IF_ERROR(CudaStatus(driver,
                                    driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(
                                        &resident, function, threads, shape.shared_bytes),
                                    "Cannot ask how many blocks run at a time"));
  const int64_t blocks = int64_t{1} * shape.grid[0] * shape.grid[1] * shape.grid[2];
  const int64_t most = int64_t{resident} * multiprocessors;
  if (blocks <= most) return Status::Ok();
  return Unsupported(fmt::format(
      "The {} blocks wait for each other, but only {} run at a time on this device; other configs "
      "have fewer.",
      blocks, most));
}

Result<std::shared_ptr<Module>> Module::Load(CudaDevice& device, const Artifact& cubin) {
  ATTUNE_RETURN_IF_ERROR(device.Enter());
  const Fingerprint code = FingerprintOf(cubin.bytes);
  LoadedModules& loaded = device.loaded_modules();
  // Held while the code is loaded, so that no other thread loads it too.
  std::unique_lock lock(loaded.mutex);
  const auto found = loaded.by_code.find(code);
  if (found != loaded.by_code.end()) {
    if (std::shared_ptr<Module> module = found->second.lock()) return module;
  }
  if (HasVariables(cubin)) {
    lock.unlock();
    return LoadAnew(device, cubin);
  }
  std::weak_ptr<Module>& known = loaded.by_code[code];
  auto module = LoadAnew(device, cubin);
  std::erase_if(loaded.by_code, [&](const auto& entry) {
    return entry.second.expired() && &entry.second != &known;
  });
  if (module.ok()) known = *module;
  return module;
}

Result<std::shared_ptr<Module>> Module::LoadAnew(CudaDevice& device, const Artifact& cubin) {
  const DuringCapture allowed(device.driver());
  std::shared_ptr<Module> module(new Module(device));
  ATTUNE_RETURN_IF_ERROR(CudaStatus(
      device.driver(), device.driver().cuModuleLoadData(&module->module_, cubin.bytes.data()),
      fmt::format("Cannot load {} bytes of machine code on {}", cubin.bytes.size(),
                  device.entry().spec)));
  return module;
}

Module::~Module() {
  if (module_ == nullptr || !device_.Enter().ok()) return;
  const DuringCapture allowed(device_.driver());
  device_.driver().cuModuleUnload(module_);
}

Result<CUfunction> Module::Function(const std::string& name, unsigned shared_bytes) {
  const Driver& driver = device_.driver();
  CUfunction function = nullptr;
  ATTUNE_RETURN_IF_ERROR(CudaStatus(driver,
                                    driver.cuModuleGetFunction(&function, module_, name.c_str()),
                                    fmt::format("The machine code has no function '{}'", name)));
  const std::lock_guard lock(mutex_);
  // Without the attribute, dynamic and static shared memory together are limited to 48 KiB.
  unsigned& ready_for = shared_bytes_.try_emplace(name, 0).first->second;
  if (shared_bytes > ready_for) {
    ATTUNE_RETURN_IF_ERROR(CudaStatus(
        driver,
        driver.cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                  static_cast<int>(shared_bytes)),
        fmt::format("'{}' cannot have {} bytes of shared memory", name, shared_bytes)));
    ready_for = shared_bytes;
  }
  return function;
}

std::optional<size_t> Module::ParameterCount(CUfunction function) const {
  const auto ask = device_.driver().cuFuncGetParamInfo;
  if (ask == nullptr) return std::nullopt;
  size_t offset = 0;
  size_t size = 0;
  size_t count = 0;
  while (count < kMostParameters && ask(function, count, &offset, &size) == CUDA_SUCCESS) ++count;
  return count;
}

Status Module::Launch(CUfunction function, const LaunchShape& shape, void** arguments,
                      CUstream stream) const {
  const Driver& driver = device_.driver();
  const CUresult code = LaunchBlocks(driver, function, shape, arguments, stream);
  return CudaStatus(
      driver, code,
      fmt::format("Cannot launch {}x{}x{} blocks of {}x{}x{} threads", shape.grid[0], shape.grid[1],
                  shape.grid[2], shape.block[0], shape.block[1], shape.block[2]));
}

}  // namespace attune::cuda
