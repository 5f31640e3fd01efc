// Shared by benches that call attune on an NVIDIA GPU and time a call from outside.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "attune/base/random.h"
#include "backends/cuda/driver/driver.h"
#include "include/attune/attune.h"

namespace attune {

inline constexpr const char* kCallDevice = "cuda:0";

// Ends the program with attune's message if a call failed.
void CheckCall(attune_code code);

// Memory and a stream of the program on the first GPU. An error ends the program.
class CallDevice {
 public:
  explicit CallDevice(const cuda::Driver& driver);
  CallDevice(const CallDevice&) = delete;
  CallDevice& operator=(const CallDevice&) = delete;

  CUstream stream() const { return stream_; }
  // Memory of random numbers between 0.25 and 1, read as f16 or as f32; it lives as long as the
  // program.
  void* Operand(size_t bytes);
  void Wait();
  // Nanoseconds from the call to the end of its work on the stream.
  double TimeNs(const std::function<attune_code()>& call);
  // Their median over several calls, in microseconds.
  double SteadyUs(const std::function<attune_code()>& call);

 private:
  const cuda::Driver& driver_;
  Random random_{7};
  CUstream stream_ = nullptr;
};

// A runtime on that GPU that remembers the candidate of each problem. Errors end the program.
class CallRuntime {
 public:
  // An empty `database`: nothing is known.
  CallRuntime(attune_policy policy, const std::string& database, int per_problem_ms);
  ~CallRuntime() { attune_runtime_destroy(runtime_); }
  CallRuntime(const CallRuntime&) = delete;
  CallRuntime& operator=(const CallRuntime&) = delete;

  attune_runtime* get() const { return runtime_; }
  // Returns when the background has prepared the candidates that serve from then on.
  void AwaitPreferred();
  // The solver and config that serve a problem now; empty before its first call.
  std::string ServedBy(const std::string& problem);
  attune_counters Counters();

 private:
  static void Hear(void* context, attune_event event, const char* problem, const char* candidate,
                   const char* message);

  attune_runtime* runtime_ = nullptr;
  std::mutex mutex_;  // Guards the next member: the background writes it.
  std::map<std::string, std::string> served_by_;  // By problem.
};

}  // namespace attune
