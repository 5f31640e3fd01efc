// The cost of going through the preload library: small products computed by OpenBLAS called
// directly, and by the same OpenBLAS behind libattune_blas, in blocks that take turns.
//
//   blas_overhead [--size N] [--blocks N] [--calls N] [--json]
//
// ATTUNE_FORCE selects the solver behind the library; by default OpenBLAS on one thread.
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace attune {
namespace {

struct Options {
  int size = 16;
  int blocks = 401;
  int calls = 2000;
  bool json = false;
};

using CblasSgemm = void(int, int, int, int, int, int, float, const float*, int, const float*, int,
                        float, float*, int);
using Clock = std::chrono::steady_clock;

// Ends the program with the reason: without both libraries there is nothing to compare.
void* Require(void* found) {
  if (found != nullptr) return found;
  fmt::print(stderr, "blas_overhead: {}\n", ::dlerror());
  std::exit(1);
}

CblasSgemm* SgemmOf(const std::string& library) {
  void* handle = Require(::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL));
  return reinterpret_cast<CblasSgemm*>(Require(::dlsym(handle, "cblas_sgemm")));
}

std::string InterposerLibrary() {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() /
          "../lib/attune/libattune_blas.so")
      .lexically_normal()
      .string();
}

class Product {
 public:
  explicit Product(int size)
      : size_(size),
        a_(static_cast<size_t>(size * size), 0.5F),
        b_(a_.size(), 0.25F),
        c_(a_.size()) {}

  // Nanoseconds for each of `calls` calls in a row.
  double TimeBlock(CblasSgemm* sgemm, int calls) {
    constexpr int kColumnMajor = 102;
    constexpr int kNoTranspose = 111;
    const auto start = Clock::now();
    for (int i = 0; i < calls; ++i) {
      sgemm(kColumnMajor, kNoTranspose, kNoTranspose, size_, size_, size_, 1, a_.data(), size_,
            b_.data(), size_, 0, c_.data(), size_);
    }
    return std::chrono::duration<double, std::nano>(Clock::now() - start).count() / calls;
  }

 private:
  int size_;
  std::vector<float> a_, b_, c_;
};

struct Quartiles {
  double low, median, high;
};

Quartiles QuartilesOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  return {values[n / 4], values[n / 2], values[3 * n / 4]};
}

void Run(const Options& options) {
  // The one that OpenBLAS would be without us; nothing is tuned meanwhile.
  ::setenv("ATTUNE_FORCE", "host.openblas-gemm", 0);
  ::setenv("ATTUNE_POLICY", "never", 0);
  ::setenv("ATTUNE_DB", "", 0);
  CblasSgemm* direct = SgemmOf("libopenblas.so.0");
  CblasSgemm* interposer = SgemmOf(InterposerLibrary());
  Product product(options.size);
  product.TimeBlock(direct, options.calls);
  product.TimeBlock(interposer, options.calls);
  std::vector<double> direct_ns, face_ns, added_ns;
  for (int block = 0; block < options.blocks; ++block) {
    // Alternates the order, so that a drift of the clock speed favours neither.
    const bool interposer_first = block % 2 == 0;
    const double first = product.TimeBlock(interposer_first ? interposer : direct, options.calls);
    const double second = product.TimeBlock(interposer_first ? direct : interposer, options.calls);
    face_ns.push_back(interposer_first ? first : second);
    direct_ns.push_back(interposer_first ? second : first);
    added_ns.push_back(face_ns.back() - direct_ns.back());
  }
  const Quartiles direct_time = QuartilesOf(direct_ns);
  const Quartiles face_time = QuartilesOf(face_ns);
  const Quartiles added = QuartilesOf(added_ns);
  if (options.json) {
    nlohmann::ordered_json report;
    report["summary"] = {{"size", options.size},
                         {"blocks", options.blocks},
                         {"direct_ns", direct_time.median},
                         {"face_ns", face_time.median},
                         {"blas_overhead_ns", added.median},
                         {"blas_overhead_low_ns", added.low},
                         {"blas_overhead_high_ns", added.high}};
    report["rows"] = nlohmann::ordered_json::array();
    for (size_t i = 0; i < added_ns.size(); ++i) {
      report["rows"].push_back({{"direct_ns", direct_ns[i]}, {"face_ns", face_ns[i]}});
    }
    fmt::print("{}\n", report.dump(2));
    return;
  }
  fmt::print(
      "sgemm {0} x {0} x {0}, {1} blocks of {2} calls\n"
      "OpenBLAS directly      {3:8.1f} ns\n"
      "through libattune_blas {4:8.1f} ns\n"
      "added                  {5:8.1f} ns (quartiles {6:.1f} and {7:.1f})\n",
      options.size, options.blocks, options.calls, direct_time.median, face_time.median,
      added.median, added.low, added.high);
}

}  // namespace
}  // namespace attune

int main(int argc, char** argv) {
  attune::Options options;
  CLI::App program("Cost of going through the preload library", "blas_overhead");
  program.add_option("--size", options.size, "Of the square matrices")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  program.add_option("--blocks", options.blocks, "Pairs of blocks")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  program.add_option("--calls", options.calls, "Calls in a block")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  program.add_flag("--json", options.json, "Print JSON");
  CLI11_PARSE(program, argc, argv);
  attune::Run(options);
  return 0;
}
