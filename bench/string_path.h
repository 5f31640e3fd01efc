// The lookup of PyTorch's TunableOp reimplemented: two strings built for every call, two maps
// behind two mutexes, entries of two strings copied out and compared with special values. This is
// its newest version on a hit after tuning, without the library call; released versions build a
// third string of some 300 characters for every call.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "include/attune/attune.h"

namespace attune {

class StringPath {
 public:
  struct Callable {
    uint64_t calls = 0;
  };

  // Adds the result of tuning `gemm`. `blas_signature` is the name of the product there for benches
  // of its libraries.
  void Add(const attune_gemm& gemm, const std::string& solution, const std::string& blas_signature);

  // The callable of a call, found as TunableOp::operator() finds it. REQUIRES: it was added.
  Callable& Find(const attune_gemm& gemm);

 private:
  struct ResultEntry {
    static ResultEntry Null() { return {"Null", 0, ""}; }
    bool operator==(const ResultEntry& other) const { return key == other.key; }

    std::string key;
    double time_ms = 0;
    std::string blas_signature;
  };
  using KernelMap = std::unordered_map<std::string, ResultEntry>;

  static std::string OpSignature(const attune_gemm& gemm);
  static std::string ParamsSignature(const attune_gemm& gemm);
  ResultEntry Lookup(const std::string& op, const std::string& params);

  std::mutex results_mutex_;  // Guards results_.
  std::unordered_map<std::string, KernelMap> results_;
  std::mutex ops_mutex_;  // Guards ops_.
  std::unordered_map<std::string, std::unique_ptr<Callable>> ops_;
};

}  // namespace attune
