#include "backends/host/gemm/blas_library.h"

#include <cassert>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "backends/host/library_report.h"

namespace attune::host {
namespace {

// The values of the enumerations of cblas.h, which every CBLAS shares.
enum CblasOrder : int { kColumnMajor = 102 };
enum CblasTranspose : int { kNoTranspose = 111, kTranspose = 112 };

template <class T>
using GemmFunction = void(CblasOrder, CblasTranspose, CblasTranspose, int m, int n, int k, T alpha,
                          const T* a, int lda, const T* b, int ldb, T beta, T* c, int ldc);
template <class T>
using GemvFunction = void(CblasOrder, CblasTranspose, int m, int n, T alpha, const T* a, int lda,
                          const T* x, int incx, T beta, T* y, int incy);

CblasTranspose Flag(bool transpose) { return transpose ? kTranspose : kNoTranspose; }

template <class T>
void Call(GemmFunction<T>* gemm, const MatrixProduct& p) {
  gemm(kColumnMajor, Flag(p.transpose_a), Flag(p.transpose_b), static_cast<int>(p.m),
       static_cast<int>(p.n), static_cast<int>(p.k), static_cast<T>(p.alpha),
       reinterpret_cast<const T*>(p.a), static_cast<int>(p.lda), reinterpret_cast<const T*>(p.b),
       static_cast<int>(p.ldb), static_cast<T>(p.beta), reinterpret_cast<T*>(p.c),
       static_cast<int>(p.ldc));
}

// y = alpha op(A) x + beta y, where A is the matrix of `p` and x and y its two vectors.
template <class T>
void CallGemv(GemvFunction<T>* gemv, const MatrixProduct& p) {
  const bool column = p.n == 1;
  // One row of C is the column C^T = op(B)^T op(A)^T.
  const MatrixProduct q = column ? p : Transposed(p);
  const int64_t incx = q.transpose_b ? q.ldb : 1;
  const int64_t incy = column ? 1 : p.ldc;
  auto* y = reinterpret_cast<T*>(q.c);
  // Versions differ in whether 0 times NaN in y stays NaN; a y of zeros leaves nothing to differ
  // on.
  if (q.beta == 0) {
    for (int64_t i = 0; i < q.m; ++i) y[i * incy] = 0;
  }
  // CBLAS takes the extents of the stored matrix, not of op(A).
  gemv(kColumnMajor, Flag(q.transpose_a), static_cast<int>(q.transpose_a ? q.k : q.m),
       static_cast<int>(q.transpose_a ? q.m : q.k), static_cast<T>(q.alpha),
       reinterpret_cast<const T*>(q.a), static_cast<int>(q.lda), reinterpret_cast<const T*>(q.b),
       static_cast<int>(incx), static_cast<T>(q.beta), y, static_cast<int>(incy));
}

// "0.3.21" out of "OpenBLAS 0.3.21 DYNAMIC_ARCH ...", or the text itself.
std::string VersionIn(const char* text) {
  const std::string_view all = text;
  const size_t begin = all.find_first_of("0123456789");
  if (begin == std::string_view::npos) return std::string(all);
  return std::string(all.substr(begin, all.find(' ', begin) - begin));
}

std::string TextFrom(const SharedLibrary& object, const char* symbol) {
  if (symbol == nullptr) return "";
  const auto function = object.FindFunction<const char*()>(symbol);
  return function == nullptr ? "" : function();
}

// BLIS says how wide its BLAS integers are; OpenBLAS names 64-bit functions differently.
bool Has32BitIntegers(const SharedLibrary& object) {
  const auto width = object.FindFunction<int64_t()>("bli_info_get_blas_int_type_size");
  return width == nullptr || (width() & 0xFFFFFFFF) == 32;
}

}  // namespace

struct BlasLibrary::Functions {
  GemmFunction<float>* sgemm = nullptr;
  GemmFunction<double>* dgemm = nullptr;
  GemvFunction<float>* sgemv = nullptr;
  GemvFunction<double>* dgemv = nullptr;

  bool complete() const {
    return sgemm != nullptr && dgemm != nullptr && sgemv != nullptr && dgemv != nullptr;
  }
};

// Its interface/gemm.c: SMP_THRESHOLD_MIN, times a factor that is 4 unless its builder changes it.
constexpr int64_t kOpenBlasSerialMultiplications = 65536;

BlasDialect OpenBlasDialect() {
  return {.name = "openblas",
          .file_names = {"libopenblas.so.0"},
          .package = "libopenblas0-pthread",
          .set_threads_symbol = "openblas_set_num_threads",
          .get_threads_symbol = "openblas_get_num_threads",
          .version_symbol = "openblas_get_config",
          .core_symbol = "openblas_get_corename",
          .serial_multiplications = kOpenBlasSerialMultiplications};
}

// The OpenMP flavour first: it keeps its threads between calls, the other one starts new ones each
// time.
BlasDialect BlisDialect() {
  return {.name = "blis",
          .file_names = {"/usr/lib/x86_64-linux-gnu/blis-openmp/libblis.so.4",
                         "/usr/lib/x86_64-linux-gnu/blis-pthread/libblis.so.4", "libblis.so.4"},
          .package = "libblis4-pthread",
          .set_threads_symbol = "bli_thread_set_num_threads",
          .get_threads_symbol = nullptr,
          .version_symbol = "bli_info_get_version_str",
          .core_symbol = nullptr};
}

Result<std::unique_ptr<BlasLibrary>> BlasLibrary::Open(const BlasDialect& dialect) {
  const bool was_loaded = SharedLibrary::IsLoaded(dialect.file_names);
  Result<SharedLibrary> object = SharedLibrary::Open(dialect.file_names);
  if (!object.ok()) {
    return Unavailable(fmt::format("{} The Debian package {} brings it.", object.error().message(),
                                   dialect.package));
  }
  Functions functions;
  functions.sgemm = object->FindFunction<GemmFunction<float>>("cblas_sgemm");
  functions.dgemm = object->FindFunction<GemmFunction<double>>("cblas_dgemm");
  functions.sgemv = object->FindFunction<GemvFunction<float>>("cblas_sgemv");
  functions.dgemv = object->FindFunction<GemvFunction<double>>("cblas_dgemv");
  const auto set_threads = object->FindFunction<void(int)>(dialect.set_threads_symbol);
  if (!functions.complete() || set_threads == nullptr || !Has32BitIntegers(*object)) {
    return Unavailable(fmt::format(
        "{} does not export {} and the CBLAS interface with 32-bit integers, so it is not {}. The "
        "Debian package {} brings one that does.",
        object->path(), dialect.set_threads_symbol, dialect.name, dialect.package));
  }
  // Where the program itself uses the library, its number of threads is the program's business.
  const auto get_threads = was_loaded && dialect.get_threads_symbol != nullptr
                               ? object->FindFunction<int()>(dialect.get_threads_symbol)
                               : nullptr;
  std::unique_ptr<BlasLibrary> library(new BlasLibrary(*object, functions, set_threads, get_threads,
                                                       dialect.serial_multiplications));
  library->version_ = VersionIn(TextFrom(*object, dialect.version_symbol).c_str());
  library->core_ = TextFrom(*object, dialect.core_symbol);
  return library;
}

[[gnu::always_inline]] inline void BlasLibrary::CallGemm(DataType type,
                                                         const MatrixProduct& product) const {
  if (type == DataType::kF32) return Call(functions_->sgemm, product);
  return Call(functions_->dgemm, product);
}

BlasLibrary::BlasLibrary(SharedLibrary object, const Functions& functions,
                         ThreadCountGate::SetFunction set, ThreadCountGate::GetFunction get,
                         int64_t serial_multiplications)
    : object_(std::move(object)),
      functions_(std::make_unique<const Functions>(functions)),
      gate_(set, get),
      serial_multiplications_(serial_multiplications) {}

BlasLibrary::~BlasLibrary() = default;

bool BlasLibrary::threads_survive_fork() const {
  // What it depends on is searched, too: the entry points of GCC's and of LLVM's OpenMP.
  return object_.Find("GOMP_parallel") == nullptr && object_.Find("__kmpc_fork_call") == nullptr;
}

void BlasLibrary::Gemm(DataType type, const MatrixProduct& product, int threads) {
  assert(type == DataType::kF32 || type == DataType::kF64);
  const int64_t elements = product.m * product.n;
  // Next to so small a product the gate is felt.
  if (elements <= serial_multiplications_ && elements * product.k <= serial_multiplications_) {
    return CallGemm(type, product);
  }
  const ThreadCountGate::Pass pass(gate_, threads);
  CallGemm(type, product);
}

void BlasLibrary::Gemv(DataType type, const MatrixProduct& product, int threads) {
  assert(product.m == 1 || product.n == 1);
  const ThreadCountGate::Pass pass(gate_, threads);
  if (type == DataType::kF32) {
    CallGemv(functions_->sgemv, product);
  } else {
    CallGemv(functions_->dgemv, product);
  }
}

Result<BlasLibrary*> LazyBlas::Get() const {
  std::call_once(opened_, [this] {
    Result<std::unique_ptr<BlasLibrary>> opened = BlasLibrary::Open(dialect_);
    if (opened.ok()) {
      library_ = std::move(*opened);
    } else {
      failure_ = opened.error();
    }
  });
  if (library_ == nullptr) return failure_;
  return library_.get();
}

LibraryReport LazyBlas::Report() const {
  const Result<BlasLibrary*> library = Get();
  LibraryReport report;
  if (library.ok()) {
    const SharedLibrary& object = (*library)->object();
    report = FoundLibrary(dialect_.name, (*library)->version(), object.build_id(), object.path());
  } else {
    report = MissingLibrary(dialect_.name, library.error().message());
  }
  report.chosen_by = dialect_.chosen_by;
  return report;
}

}  // namespace attune::host
