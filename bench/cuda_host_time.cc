// The cost of a product for the calling thread on an NVIDIA GPU: attune_run_gemm on a stream of the
// program beside cublasLtMatmul with descriptors, algorithm and workspace at hand, the same
// algorithm in both, in blocks that take turns. The device is never behind: blocks are shorter than
// its queue.
//
//   cuda_host_time [--size N] [--rounds N] [--calls N] [--json]
#include <cublasLt.h>
#include <cuda.h>

#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "attune/base/random.h"
#include "backends/cuda/cublaslt/cublaslt.h"
#include "backends/cuda/driver/driver.h"
#include "bench/figures.h"
#include "include/attune/attune.h"

namespace attune {
namespace {

struct Options {
  int size = 256;
  int rounds = 201;
  int calls = 200;  // In a block; the driver queues some 1,000 launches.
  bool as_json = false;
};

constexpr double kWantedNs = 100;
constexpr size_t kWorkspaceBytes = size_t{32} << 20;

[[noreturn]] void Fail(const std::string& reason) {
  fmt::print(stderr, "cuda_host_time: {}\n", reason);
  std::exit(1);
}

// A bf16 product of squares on a stream of the program.
class Product {
 public:
  Product(const cuda::Driver& driver, const cuda::CublasLt& lt, int size)
      : driver_(driver), lt_(lt), size_(size) {
    CUdevice device = 0;
    Must(driver_.cuDeviceGet(&device, 0), "open the device");
    Must(driver_.cuDevicePrimaryCtxRetain(&context_, device), "make a context");
    Must(driver_.cuCtxSetCurrent(context_), "enter the context");
    Must(driver_.cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "make a stream");
    a_ = Operand();
    b_ = Operand();
    c_ = Operand();
    Must(driver_.cuMemAlloc(&workspace_, kWorkspaceBytes), "allocate a workspace");
    Describe();
  }

  // Nanoseconds that each of `calls` calls of cublasLtMatmul keeps the thread.
  double LibraryNs(int calls) {
    const float alpha = 1;
    const float beta = 0;
    return BlockNs(calls, [&] {
      Must(lt_.cublasLtMatmul(handle_, operation_, &alpha, Pointer(a_), layout_, Pointer(b_),
                              layout_, &beta, Pointer(c_), layout_, Pointer(c_), layout_,
                              &algorithm_, Pointer(workspace_), kWorkspaceBytes,
                              reinterpret_cast<cudaStream_t>(stream_)),
           "multiply by cublasLtMatmul");
    });
  }

  // The same through attune, with the program's workspace or one of the runtime's.
  double AttuneNs(attune_runtime* runtime, int calls, bool brings_workspace) {
    attune_gemm gemm{};
    gemm.m = gemm.n = gemm.k = size_;
    gemm.type = ATTUNE_BF16;
    gemm.alignment_bytes = 256;
    attune_arguments arguments = ATTUNE_ARGUMENTS_INIT;
    arguments.a = Pointer(a_);
    arguments.b = Pointer(b_);
    arguments.c = Pointer(c_);
    arguments.queue = stream_;
    if (brings_workspace) {
      arguments.workspace = Pointer(workspace_);
      arguments.workspace_bytes = kWorkspaceBytes;
    }
    return BlockNs(calls, [&] {
      if (attune_run_gemm(runtime, &gemm, &arguments) != ATTUNE_OK) Fail(attune_last_message());
    });
  }

 private:
  template <class Code>
  static void Must(Code code, const char* what) {
    if (static_cast<int>(code) != 0) {
      Fail(fmt::format("Cannot {}: error {}.", what, static_cast<int>(code)));
    }
  }
  static void* Pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

  template <class Call>
  double BlockNs(int calls, const Call& call) {
    const auto begin = WallClock::now();
    for (int i = 0; i < calls; ++i) call();
    const double ns = 1e9 * SecondsSince(begin) / calls;
    Must(driver_.cuStreamSynchronize(stream_), "wait for products");
    return ns;
  }

  CUdeviceptr Operand() {
    std::vector<uint16_t> values(static_cast<size_t>(size_) * static_cast<size_t>(size_));
    // Between 0.5 and 1 in bf16.
    for (auto& value : values) value = static_cast<uint16_t>(0x3f00 | random_.Below(0x80));
    const size_t bytes = values.size() * sizeof(uint16_t);
    CUdeviceptr address = 0;
    Must(driver_.cuMemAlloc(&address, bytes), "allocate an operand");
    Must(driver_.cuMemcpyHtoDAsync(address, values.data(), bytes, stream_), "copy an operand");
    Must(driver_.cuStreamSynchronize(stream_), "wait for a copy");
    return address;
  }

  void Describe() {
    const Result<cublasLtHandle_t> handle = lt_.HandleOf(context_);
    if (!handle.ok()) Fail(handle.error().message());
    handle_ = *handle;
    const auto extent = static_cast<uint64_t>(size_);
    Must(lt_.cublasLtMatmulDescCreate(&operation_, CUBLAS_COMPUTE_32F, CUDA_R_32F), "describe");
    Must(lt_.cublasLtMatrixLayoutCreate(&layout_, CUDA_R_16BF, extent, extent, size_), "describe");
    cublasLtMatmulPreference_t preference = nullptr;
    Must(lt_.cublasLtMatmulPreferenceCreate(&preference), "describe");
    Must(lt_.cublasLtMatmulPreferenceSetAttribute(preference,
                                                  CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                  &kWorkspaceBytes, sizeof kWorkspaceBytes),
         "limit the workspace");
    cublasLtMatmulHeuristicResult_t answer{};
    int count = 0;
    Must(lt_.cublasLtMatmulAlgoGetHeuristic(handle_, operation_, layout_, layout_, layout_, layout_,
                                            preference, 1, &answer, &count),
         "ask for an algorithm");
    if (count == 0) Fail("cuBLASLt has no algorithm for this product.");
    algorithm_ = answer.algo;
    lt_.cublasLtMatmulPreferenceDestroy(preference);
  }

  const cuda::Driver& driver_;
  const cuda::CublasLt& lt_;
  Random random_{7};
  int size_;
  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
  CUdeviceptr a_ = 0, b_ = 0, c_ = 0, workspace_ = 0;
  cublasLtHandle_t handle_ = nullptr;
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t layout_ = nullptr;
  cublasLtMatmulAlgo_t algorithm_{};
};

class ServingRuntime {
 public:
  ServingRuntime() {
    ::setenv("ATTUNE_FORCE", "cuda.cublaslt-gemm", 1);
    attune_options options = ATTUNE_OPTIONS_INIT;
    options.device = "cuda:0";
    options.database = "";
    options.policy = ATTUNE_NEVER;
    if (attune_runtime_create(&options, &runtime_) != ATTUNE_OK) Fail(attune_last_message());
  }
  ~ServingRuntime() { attune_runtime_destroy(runtime_); }
  ServingRuntime(const ServingRuntime&) = delete;
  ServingRuntime& operator=(const ServingRuntime&) = delete;
  attune_runtime* get() { return runtime_; }

 private:
  attune_runtime* runtime_ = nullptr;
};

int Run(const Options& options) {
  const cuda::Driver driver = cuda::LoadDriver();
  if (!driver.available()) Fail(fmt::format("No CUDA device here: {}", driver.report.missing));
  const cuda::CublasLt lt;
  if (!lt.available()) Fail(fmt::format("No cuBLASLt here: {}", lt.report().missing));
  Product product(driver, lt, options.size);
  ServingRuntime runtime;
  std::vector<double> library_ns, attune_ns, added_ns, added_without_ns;
  constexpr int kWarmUp = 3;
  for (int round = -kWarmUp; round < options.rounds; ++round) {
    // Alternates the order from round to round.
    double library = 0;
    if (round % 2 == 0) library = product.LibraryNs(options.calls);
    const double attune = product.AttuneNs(runtime.get(), options.calls, true);
    const double without = product.AttuneNs(runtime.get(), options.calls, false);
    if (round % 2 != 0) library = product.LibraryNs(options.calls);
    if (round < 0) continue;
    library_ns.push_back(library);
    attune_ns.push_back(attune);
    added_ns.push_back(attune - library);
    added_without_ns.push_back(without - library);
  }
  PrintFigures({{"cublasLtMatmul, ns", MedianOf(library_ns), ""},
                {"attune_run_gemm, ns", MedianOf(attune_ns), ""},
                {"added, ns", MedianOf(added_ns), fmt::format("< {}", kWantedNs)},
                {"added without a workspace, ns", MedianOf(added_without_ns), ""}},
               {{"size", options.size}, {"rounds", options.rounds}, {"calls", options.calls}},
               options.as_json);
  return 0;
}

}  // namespace
}  // namespace attune

int main(int argc, char** argv) {
  attune::Options options;
  CLI::App app("What a product costs the calling thread, beside cublasLtMatmul");
  app.add_option("--size", options.size, "Rows, columns and depth of the product")
      ->check(CLI::Range(16, 8192))
      ->capture_default_str();
  app.add_option("--rounds", options.rounds, "Blocks of each")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--calls", options.calls, "Calls of a block")
      ->check(CLI::Range(1, 800))
      ->capture_default_str();
  app.add_flag("--json", options.as_json, "Print one JSON object");
  CLI11_PARSE(app, argc, argv);
  return attune::Run(options);
}
