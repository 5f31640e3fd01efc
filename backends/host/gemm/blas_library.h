// OpenBLAS and BLIS: the same functions out of two libraries that are open at the same time.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "attune/base/openmp_team.h"
#include "attune/base/status.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/solver/backend.h"
#include "backends/host/gemm/blis_calls.h"
#include "backends/host/gemm/library_threads.h"
#include "backends/host/gemm/matrix_product.h"
#include "backends/host/gemm/thread_count_gate.h"
#include "backends/host/shared_library.h"

namespace attune::host {

// The differences between one BLAS and another.
struct BlasDialect {
  std::string name;                     // "openblas"
  std::vector<std::string> file_names;  // Tried in this order.
  std::string package;                  // The Debian package that brings it.
  const char* set_threads_symbol;       // void(int)
  const char* get_threads_symbol;       // int(); may be null.
  const char* version_symbol;           // char*(); only this library exports it.
  const char* core_symbol;              // char*() that names the kernels in use; may be null.
  std::string chosen_by = "";  // The environment variable that names the file, if one does.
  // Largest gemm, in multiplications (m * n * k), that it always computes on the calling thread,
  // for any number of threads; 0: none.
  int64_t serial_multiplications = 0;
  // Opening it starts one thread per further processor, or as many as its variables request.
  bool starts_threads_when_opened = false;
  // True if its variant with POSIX threads keeps them between calls.
  bool keeps_threads = false;
  // int() that ends its threads until a call needs them; may be null.
  const char* end_threads_symbol = nullptr;
  // void*(int) and void(void*) for the memory of each call, which the library keeps. A call waits
  // for ever if it gets none. May be null.
  const char* take_memory_symbol = nullptr;
  const char* give_memory_symbol = nullptr;
  bool speaks_cblas = true;  // If false, BLIS's own names are called.
  // Further names, besides `version_symbol`, that only this library exports and that hold its
  // state.
  std::vector<std::string> own_symbols = {};
  // True if a copy that the program itself uses may replace it.
  bool may_be_programs_own = true;
};
BlasDialect OpenBlasDialect();
BlasDialect BlisDialect();

// One loaded BLAS with 32-bit integers. Thread-safe.
class BlasLibrary {
 public:
  // kUnavailable says why not and which package brings it.
  static Result<std::unique_ptr<BlasLibrary>> Open(const BlasDialect& dialect);
  ~BlasLibrary();

  // gemm on `threads` threads of the library. REQUIRES: type is kF32 or kF64; sizes and leading
  // dimensions below 2^31. Returns false and writes nothing if its threads can no longer be
  // started. Waits while more threads call OpenBLAS than it has memory for.
  bool Gemm(DataType type, const MatrixProduct& product, int threads);
  // Computes the same product with gemv. REQUIRES: product.m == 1 or product.n == 1.
  bool Gemv(DataType type, const MatrixProduct& product, int threads);

  // Checks that `callers` concurrent callers may compute on `threads` threads each. Starts missing
  // threads if the library keeps them. kResourceExhausted gives the reason.
  Status Prepare(int callers, int threads);
  // Returns true if Gemm() can compute all parts of a product now.
  bool IsReady(int threads);
  // Returns true if each call on several threads starts new ones.
  bool starts_threads_in_calls() const { return threads_.kind() == LibraryThreads::Kind::kPerCall; }

  // True if it computes on several threads in a child that was forked after it had done so. OpenMP
  // waits for threads that only the parent has; the flavours with POSIX threads start new ones.
  bool threads_survive_fork() const;

  const std::string& version() const { return version_; }
  // The set of kernels that it chose for this processor ("Cooperlake"); empty if it does not report
  // it.
  const std::string& core() const { return core_; }
  const SharedLibrary& object() const { return object_; }

 private:
  struct Functions;
  // The functions for the number of threads. `get` is null unless the program itself uses the
  // library.
  struct ThreadCount {
    ThreadCountGate::SetFunction set;
    ThreadCountGate::GetFunction get;
    LibraryThreads::Kind kind;
    int count;
    bool are_running;
  };
  BlasLibrary(SharedLibrary object, const Functions& functions, const ThreadCount& threads,
              int64_t serial_multiplications);

  // kUnavailable if a symbol of the object around `mark` is bound to another library.
  static Status CheckBindings(const void* mark);
  void CallGemm(DataType type, const MatrixProduct& product) const;
  // Returns when `threads` threads that OpenBLAS has just started have taken their memory, which
  // they ask for again and again if it is refused. REQUIRES: a pass for as many threads.
  void AwaitMemoryOf(int threads) const;
  // Allocates the library's memory for `callers` concurrent calls; for one if the library is BLIS.
  void MakeMemory(int callers);
  // False if memory may be refused to a call: then BLIS ends the process, and OpenBLAS ends it or
  // asks for ever. True if the program itself uses the library.
  bool FindsMemory(int64_t multiplications, int threads) const;

  SharedLibrary object_;
  std::unique_ptr<const Functions> functions_;  // CBLAS.
  std::optional<BlisCalls> blis_;               // Instead of functions_ if the library is BLIS.
  OpenMpFunctions openmp_;                      // For a BLIS that uses OpenMP.
  ThreadCountGate gate_;
  const ThreadCountGate::GetFunction setting_of_program_;  // Null unless the program uses it.
  LibraryThreads threads_;
  std::mutex memory_mutex_;  // Held while memory is made.
  const int64_t serial_multiplications_;
  std::string version_;
  std::string core_;
  int most_calls_ = 0;  // At the same time; 0: any number.
};

// A BLAS that is opened when it is first asked for. Thread-safe.
class LazyBlas {
 public:
  explicit LazyBlas(BlasDialect dialect) : dialect_(std::move(dialect)) {}

  const BlasDialect& dialect() const { return dialect_; }
  // The library, or why there is none; the same answer every time.
  Result<BlasLibrary*> Get() const;
  LibraryReport Report() const;

 private:
  const BlasDialect dialect_;
  mutable std::once_flag opened_;
  mutable std::unique_ptr<BlasLibrary> library_;
  mutable Status failure_;
};

}  // namespace attune::host
