// The lookup of PyTorch's TunableOp written down again: strings built for every call, two maps
// behind two mutexes. Only what happens on a hit, without the library call.
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

  // What tuning `gemm` would leave.
  void Add(const attune_gemm& gemm, const std::string& solution);

  // The callable of a call, found as TunableOp::operator() finds it. REQUIRES: it was added.
  Callable& Find(const attune_gemm& gemm);

 private:
  struct ResultEntry {
    std::string key;
    double time_ms = 0;
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
