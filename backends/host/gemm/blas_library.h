// OpenBLAS and BLIS: the same functions out of two libraries that are open at the same time.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "attune/base/status.h"
#include "attune/solver/backend.h"
#include "backends/host/gemm/matrix_product.h"
#include "backends/host/gemm/thread_count_gate.h"
#include "backends/host/shared_library.h"

namespace attune::host {

// What tells one BLAS from another.
struct BlasDialect {
  std::string name;                     // "openblas"
  std::vector<std::string> file_names;  // Tried in this order.
  std::string package;                  // The Debian package that brings it.
  const char* set_threads_symbol;       // void(int)
  const char* get_threads_symbol;       // int(); may be null.
  const char* version_symbol;           // char*()
  const char* core_symbol;              // char*() that names the kernels in use; may be null.
  std::string chosen_by = "";  // The environment variable that names the file, if one does.
  // A gemm of at most so many multiplications (m * n * k) it computes on the calling thread,
  // whatever its number of threads; 0: none.
  int64_t serial_multiplications = 0;
};
BlasDialect OpenBlasDialect();
BlasDialect BlisDialect();

// One loaded BLAS with 32-bit integers. Thread-safe.
class BlasLibrary {
 public:
  // kUnavailable says why not and which package brings it.
  static Result<std::unique_ptr<BlasLibrary>> Open(const BlasDialect& dialect);
  ~BlasLibrary();

  // cblas_sgemm or cblas_dgemm on `threads` threads of the library. REQUIRES: type is kF32 or kF64;
  // sizes and leading dimensions below 2^31.
  void Gemm(DataType type, const MatrixProduct& product, int threads);
  // The same through cblas_sgemv or cblas_dgemv. REQUIRES: product.m == 1 or product.n == 1.
  void Gemv(DataType type, const MatrixProduct& product, int threads);

  // Whether it computes on several threads in a child that was forked after it had done so: OpenMP
  // waits for threads that only the parent has; the flavours with POSIX threads start new ones.
  bool threads_survive_fork() const;

  const std::string& version() const { return version_; }
  // Which set of kernels it chose for this processor ("Cooperlake"); empty if it does not say.
  const std::string& core() const { return core_; }
  const SharedLibrary& object() const { return object_; }

 private:
  struct Functions;
  BlasLibrary(SharedLibrary object, const Functions& functions, ThreadCountGate::SetFunction set,
              ThreadCountGate::GetFunction get, int64_t serial_multiplications);

  void CallGemm(DataType type, const MatrixProduct& product) const;

  SharedLibrary object_;
  std::unique_ptr<const Functions> functions_;
  ThreadCountGate gate_;
  const int64_t serial_multiplications_;
  std::string version_;
  std::string core_;
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
