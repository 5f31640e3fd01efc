#include "backends/host/gemm/blas_library.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cfenv>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "attune/base/guest_thread.h"
#include "attune/base/process_room.h"
#include "attune/base/process_variables.h"
#include "attune/base/signals_blocked.h"
#include "attune/base/usable_cores.h"
#include "attune/ops/gemm/gemm.h"
#include "backends/host/library_report.h"
#include "backends/host/symbol_scope.h"

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

// How many calls OpenBLAS computes at the same time, beside `threads` threads of its own. It was
// built for a number, "OpenBLAS 0.3.21 ... MAX_THREADS=64", and has memory for twice as many, its
// own threads included. With 122 calls and 2 threads it crashed, with 64 never.
int MostCallsOf(const std::string& config, int threads) {
  constexpr std::string_view kField = "MAX_THREADS=";
  constexpr int kFewest = 8;
  constexpr int kSpares = 4;
  const size_t at = config.find(kField);
  const int built_for = at == config.npos ? 0 : std::atoi(config.c_str() + at + kField.size());
  return std::max(std::min(built_for, 2 * built_for - threads - kSpares), kFewest);
}

// The first threads that call OpenBLAS keep a place, so that their later calls count nothing. They
// get half of the places. Calls of further threads share the other half.
std::atomic<int> places_taken{0};
std::atomic<int> calls_of_others{0};
[[gnu::tls_model("initial-exec")]] constinit thread_local bool has_place = false;

// For the time of a call.
class PlaceInOpenBlas {
 public:
  // `most_calls` is 0 for a library without such a limit. Waits while there are too many calls.
  explicit PlaceInOpenBlas(int most_calls) {
    if (most_calls == 0 || has_place || TakePlace(most_calls / 2)) return;
    is_shared_ = true;
    while (calls_of_others.fetch_add(1) >= most_calls - most_calls / 2) {
      calls_of_others.fetch_sub(1);
      ::sched_yield();
    }
  }
  ~PlaceInOpenBlas() {
    if (is_shared_) calls_of_others.fetch_sub(1);
  }
  PlaceInOpenBlas(const PlaceInOpenBlas&) = delete;
  PlaceInOpenBlas& operator=(const PlaceInOpenBlas&) = delete;

 private:
  static bool TakePlace(int most) {
    if (places_taken.load() >= most) return false;
    has_place = places_taken.fetch_add(1) < most;
    return has_place;
  }

  bool is_shared_ = false;
};

// A child has one of the threads of its parent.
void CountPlacesAnewInChildren() {
  static const int watches = ::pthread_atfork(nullptr, nullptr, [] {
    places_taken.store(has_place ? 1 : 0);
    calls_of_others.store(0);
  });
  (void)watches;
}

std::string TextFrom(const SharedLibrary& object, const char* symbol) {
  if (symbol == nullptr) return "";
  const auto function = object.FindFunction<const char*()>(symbol);
  return function == nullptr ? "" : function();
}

// An OpenBLAS with 64-bit integers may export the usual names. Its version string tells.
bool Has32BitIntegers(const std::string& version) {
  return version.find("USE64BITINT") == std::string::npos;
}

// Finds the OpenMP of GCC and LLVM, also in the dependencies of the library.
bool UsesOpenMp(const SharedLibrary& object) {
  return object.Find("GOMP_parallel") != nullptr || object.Find("__kmpc_fork_call") != nullptr;
}

OpenMpFunctions OpenMpOf(const SharedLibrary& object) {
  if (!UsesOpenMp(object)) return {};
  return {object.FindFunction<int()>("omp_get_dynamic"),
          object.FindFunction<void(int)>("omp_set_dynamic"),
          object.FindFunction<int()>("omp_get_active_level"),
          object.FindFunction<int()>("omp_get_max_active_levels"),
          object.FindFunction<int()>("omp_get_thread_limit")};
}

LibraryThreads::Kind KindOf(const SharedLibrary& object, const BlasDialect& dialect) {
  if (UsesOpenMp(object)) return LibraryThreads::Kind::kPerCaller;
  return dialect.keeps_threads ? LibraryThreads::Kind::kKept : LibraryThreads::Kind::kPerCall;
}

// The cost is negligible for a few pages, and next to waking threads.
bool HasMemory(size_t bytes) {
  // Volatile, because compilers drop memory that is freed at once.
  void* volatile memory = std::malloc(bytes);
  const bool is_there = memory != nullptr;
  std::free(memory);
  return is_there;
}

// Returns how many threads OpenBLAS starts when it is opened: the first of its variables that has a
// number decides.
int ThreadsOfOpenBlas() {
  for (const char* name : {"OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS"}) {
    const int threads = std::atoi(VariableOr(name, "").c_str());
    if (threads > 0) return std::min(threads, CoresInAffinityMask());
  }
  return CoresInAffinityMask();
}

// Returns Ok if opening the library does not harm the program. Opening may start threads. When
// memory is refused, OpenBLAS asks for ever and BLIS ends the process.
Status CheckOpening(const BlasDialect& dialect) {
  if (AddressRoom() != kUnlimitedRoom) {
    return ResourceExhausted(fmt::format(
        "cannot open {}: it does not survive a limit on the address space (ulimit -v, -d or -l), "
        "and the program does not use it itself",
        dialect.name));
  }
  if (const char* scarce = ScarceForLoading()) {
    return ResourceExhausted(
        fmt::format("cannot open {}: too little is left of {}", dialect.name, scarce));
  }
  if (!dialect.starts_threads_when_opened) return Status::Ok();
  return CheckThreads(ThreadsOfOpenBlas() - 1).WithContext("cannot open " + dialect.name);
}

Status AnotherLibrary(const SharedLibrary& object, const BlasDialect& dialect) {
  return Unavailable(fmt::format(
      "{} does not export {} and {}, so it is not {}. The Debian package {} brings one that does.",
      object.path(), dialect.set_threads_symbol,
      dialect.speaks_cblas ? "the CBLAS interface with 32-bit integers"
                           : "bli_sgemm with 64-bit integers",
      dialect.name, dialect.package));
}

// Threads inherit the rounding mode and the treatment of denormal numbers from their creator.
// Threads of a library serve every thread of the program.
class DefaultFloatEnvironment {
 public:
  DefaultFloatEnvironment() {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloatEnvironment() { std::fesetenv(&before_); }
  DefaultFloatEnvironment(const DefaultFloatEnvironment&) = delete;
  DefaultFloatEnvironment& operator=(const DefaultFloatEnvironment&) = delete;

 private:
  std::fenv_t before_;
};

}  // namespace

struct BlasLibrary::Functions {
  GemmFunction<float>* sgemm = nullptr;
  GemmFunction<double>* dgemm = nullptr;
  GemvFunction<float>* sgemv = nullptr;
  GemvFunction<double>* dgemv = nullptr;
  void* (*take_memory)(int) = nullptr;  // These two may be null.
  void (*give_memory)(void*) = nullptr;

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
          .serial_multiplications = kOpenBlasSerialMultiplications,
          .starts_threads_when_opened = true,
          .keeps_threads = true,
          .end_threads_symbol = "blas_thread_shutdown_",
          .take_memory_symbol = "blas_memory_alloc",
          .give_memory_symbol = "blas_memory_free",
          .own_symbols = {"gotoblas", "exec_blas", "blas_memory_alloc"}};
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
          .core_symbol = nullptr,
          .speaks_cblas = false,
          .own_symbols = {"bli_init", "bli_thread_get_num_threads"}};
}

Result<std::unique_ptr<BlasLibrary>> BlasLibrary::Open(const BlasDialect& dialect) {
  LibraryFiles files{dialect.file_names, dialect.own_symbols, dialect.may_be_programs_own};
  files.own_symbols.emplace_back(dialect.version_symbol);
  if (!SharedLibrary::IsInProcess(files)) ATTUNE_RETURN_IF_ERROR(CheckOpening(dialect));
  // For threads that opening may start.
  const DefaultFloatEnvironment floats;
  const SignalsBlocked signals;
  Result<SharedLibrary> object = SharedLibrary::OpenUnmixed(files);
  if (!object.ok()) {
    return Unavailable(fmt::format("{} The Debian package {} brings it.", object.error().message(),
                                   dialect.package));
  }
  const void* mark = object->Find(dialect.version_symbol);
  const auto find = [&]<class Function>(const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(object->FindBeside(mark, name));
  };
  Functions functions;
  find("cblas_sgemm", functions.sgemm);
  find("cblas_dgemm", functions.dgemm);
  find("cblas_sgemv", functions.sgemv);
  find("cblas_dgemv", functions.dgemv);
  if (dialect.take_memory_symbol != nullptr) {
    find(dialect.take_memory_symbol, functions.take_memory);
    find(dialect.give_memory_symbol, functions.give_memory);
  }
  void (*set_threads)(int) = nullptr;
  find(dialect.set_threads_symbol, set_threads);
  const auto blis = dialect.speaks_cblas ? std::nullopt : BlisCalls::Bind(*object);
  const bool is_complete = dialect.speaks_cblas ? functions.complete() : blis.has_value();
  // Check before the first call: a program may use one of the names for something else.
  const bool is_found = is_complete && set_threads != nullptr;
  const std::string version = is_found ? TextFrom(*object, dialect.version_symbol) : "";
  if (!is_found || (dialect.speaks_cblas && !Has32BitIntegers(version))) {
    return AnotherLibrary(*object, dialect);
  }
  ATTUNE_RETURN_IF_ERROR(CheckBindings(mark));
  int (*get_threads)() = nullptr;
  if (dialect.get_threads_symbol != nullptr) find(dialect.get_threads_symbol, get_threads);
  ThreadCountGate::SetFunction set = set_threads;
  ThreadCountGate::GetFunction get = get_threads;
  if (blis.has_value()) {
    set = [calls = *blis](int threads) { calls.SetThreads(threads); };
    get = [calls = *blis] { return calls.threads(); };
  }
  ThreadCount threads;
  threads.set = std::move(set);
  threads.kind = KindOf(*object, dialect);
  threads.count = object->was_loaded() || get == nullptr ? 1 : get();
  int (*end_threads)() = nullptr;
  if (threads.kind == LibraryThreads::Kind::kKept && !object->was_loaded()) {
    if (dialect.end_threads_symbol != nullptr) find(dialect.end_threads_symbol, end_threads);
    object->SkipExitCode();
  }
  threads.are_running = end_threads == nullptr;
  // If the program itself uses the library, it decides the number of threads, and attune cannot
  // know whether they run.
  if (object->was_loaded()) threads.get = std::move(get);
  std::unique_ptr<BlasLibrary> library(
      new BlasLibrary(*object, functions, threads, dialect.serial_multiplications));
  // Threads that opening has started may still take their memory. Prepare() starts them anew, when
  // the gate keeps a fork() out, which ends them, too.
  if (end_threads != nullptr) end_threads();
  library->blis_ = blis;
  if (blis.has_value()) library->openmp_ = OpenMpOf(*object);
  library->version_ = VersionIn(version.c_str());
  if (!blis.has_value()) library->most_calls_ = MostCallsOf(version, threads.count);
  library->core_ = TextFrom(*object, dialect.core_symbol);
  return library;
}

Status BlasLibrary::CheckBindings(const void* mark) {
  // The program may define these itself, and attune never calls them.
  const auto is_shared = [](std::string_view name) {
    return name.ends_with('_') || name.starts_with("cblas_") || name.starts_with("LAPACKE_") ||
           name.starts_with("_");
  };
  const Definition foreign = FindForeignBinding(mark, is_shared);
  if (foreign.name.empty()) return Status::Ok();
  return Unavailable(fmt::format("cannot use {}: its {} is bound to that of {}.",
                                 PathOfObjectAt(mark), foreign.name, foreign.path));
}

[[gnu::always_inline]] inline void BlasLibrary::CallGemm(DataType type,
                                                         const MatrixProduct& product) const {
  if (type == DataType::kF32) return Call(functions_->sgemm, product);
  return Call(functions_->dgemm, product);
}

BlasLibrary::BlasLibrary(SharedLibrary object, const Functions& functions,
                         const ThreadCount& threads, int64_t serial_multiplications)
    : object_(std::move(object)),
      functions_(std::make_unique<const Functions>(functions)),
      gate_(threads.set, threads.get),
      setting_of_program_(threads.get),
      threads_(threads.kind, threads.count, threads.are_running),
      serial_multiplications_(serial_multiplications) {
  CountPlacesAnewInChildren();
}

BlasLibrary::~BlasLibrary() = default;

bool BlasLibrary::threads_survive_fork() const { return !UsesOpenMp(object_); }

Status BlasLibrary::Prepare(int callers, int threads) {
  // After a fork, even a call on one thread may restart the threads that the program set.
  const int set = setting_of_program_ == nullptr ? 1 : setting_of_program_();
  // The program itself calls its own library in the same way.
  const bool is_programs_call = setting_of_program_ != nullptr && callers == 1 && threads <= set;
  const bool is_limited = AddressRoom() != kUnlimitedRoom;
  if (is_limited && !is_programs_call) {
    return ResourceExhausted(
        "cannot compute: the calls need memory of the library, which does not survive a limit on "
        "the address space (ulimit -v, -d or -l)");
  }
  const bool are_running = threads_.AreRunning(threads);
  ATTUNE_RETURN_IF_ERROR(threads_.Check(std::max(threads, set)));
  if (!are_running) {
    // Start the threads right after the check, so that no call starts any.
    const DefaultFloatEnvironment floats;
    const SignalsBlocked signals;
    const ThreadCountGate::Pass pass(gate_, threads_.count());
    AwaitMemoryOf(threads_.count());
  }
  if (!is_limited) MakeMemory(callers);
  return Status::Ok();
}

void BlasLibrary::AwaitMemoryOf(int threads) const {
  if (threads <= 1) return;
  // Enough rows for each thread, so that all of them take part.
  constexpr int64_t kRowsOfThread = 64;
  constexpr int64_t kOtherSizes = 64;
  const std::vector<float> a(static_cast<size_t>(threads * kRowsOfThread * kOtherSizes), 1.0f);
  const std::vector<float> b(kOtherSizes * kOtherSizes, 1.0f);
  std::vector<float> c(a.size());
  MatrixProduct product{.m = threads * kRowsOfThread, .n = kOtherSizes, .k = kOtherSizes};
  product.a = reinterpret_cast<const std::byte*>(a.data());
  product.b = reinterpret_cast<const std::byte*>(b.data());
  product.c = reinterpret_cast<std::byte*>(c.data());
  product.lda = product.ldc = product.m;
  product.ldb = kOtherSizes;
  product.beta = 0;
  CallGemm(DataType::kF32, product);
}

void BlasLibrary::MakeMemory(int callers) {
  if (blis_.has_value()) {
    const ThreadCountGate::Pass pass(gate_, 1);
    return blis_->MakeMemory();
  }
  if (functions_->take_memory == nullptr || functions_->give_memory == nullptr) return;
  constexpr int kForCalls = 0;  // The kind of memory that calls take.
  constexpr int kSpares = 2;    // For threads of the program that compute at the same time.
  const std::lock_guard<std::mutex> lock(memory_mutex_);
  std::vector<void*> taken;
  for (int i = 0; i < callers + kSpares; ++i) taken.push_back(functions_->take_memory(kForCalls));
  for (void* memory : taken) functions_->give_memory(memory);
}

bool BlasLibrary::IsReady(int threads) {
  return threads_.MayCall(threads) && (setting_of_program_ != nullptr || !HasAddressLimit());
}

bool BlasLibrary::FindsMemory(int64_t multiplications, int threads) const {
  // Slightly more than the lists of up to 64 threads of OpenBLAS. Where memory is locked, threads
  // find none for their stacks either.
  constexpr size_t kListBytes = size_t{640} << 10;
  constexpr size_t kBlisListBytes = size_t{16} << 10;
  if (threads > 1 && !HasMemory(kListBytes)) return false;
  if (blis_.has_value() && !HasMemory(kBlisListBytes)) return false;
  // From here on the two system calls of HasAddressLimit() are negligible. BLIS does not pack
  // smaller products, or packs them in the memory that Prepare() has made.
  constexpr int64_t kManyMultiplications = int64_t{1} << 22;
  if (threads == 1 && multiplications < kManyMultiplications) return true;
  return setting_of_program_ != nullptr || !HasAddressLimit();
}

bool BlasLibrary::Gemm(DataType type, const MatrixProduct& product, int threads) {
  assert(type == DataType::kF32 || type == DataType::kF64);
  const PlaceInOpenBlas place(most_calls_);
  const int64_t elements = product.m * product.n;
  // Next to so small a product the gate is felt.
  if (elements <= serial_multiplications_ && elements * product.k <= serial_multiplications_) {
    CallGemm(type, product);
    return true;
  }
  std::optional<SignalsBlocked> signals;
  if (threads_.StartInCall(threads)) signals.emplace();
  if (!threads_.MayCall(threads) || !GivesFullTeam(openmp_, threads)) return false;
  if (!FindsMemory(elements * product.k, threads)) return false;
  const FullTeam team(openmp_);
  const ThreadCountGate::Pass pass(gate_, threads);
  if (blis_.has_value()) {
    blis_->Gemm(type, product);
  } else {
    CallGemm(type, product);
  }
  return true;
}

bool BlasLibrary::Gemv(DataType type, const MatrixProduct& product, int threads) {
  assert(product.m == 1 || product.n == 1);
  const PlaceInOpenBlas place(most_calls_);
  std::optional<SignalsBlocked> signals;
  if (threads_.StartInCall(threads)) signals.emplace();
  if (!threads_.MayCall(threads) || !GivesFullTeam(openmp_, threads)) return false;
  if (!FindsMemory(product.m * product.n * product.k, threads)) return false;
  const FullTeam team(openmp_);
  const ThreadCountGate::Pass pass(gate_, threads);
  if (blis_.has_value()) {
    blis_->Gemv(type, product);
  } else if (type == DataType::kF32) {
    CallGemv(functions_->sgemv, product);
  } else {
    CallGemv(functions_->dgemv, product);
  }
  return true;
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
