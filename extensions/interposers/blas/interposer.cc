#include "extensions/interposers/blas/interposer.h"

#include <atomic>

#include "attune/base/cancellation_held.h"
#include "extensions/interposers/blas/program_threads.h"

namespace attune::blas {
namespace {

constinit attune_runtime* the_runtime = nullptr;  // Set before the service serves.
// The real function of the first call. Its library is the program's BLAS.
constinit std::atomic<const void*> first_function = nullptr;

bool CreateRuntime(interposer::Service& service) {
  attune_options options = {};
  options.device = "cpu";
  options.ieee_special_values = 1;  // As docs/blas.md promises.
  FindThreadSetting(first_function.load());
  options.thread_limit = ThreadsOfProgram;
  the_runtime = service.Create(options);
  return the_runtime != nullptr;
}

}  // namespace

bool BeginToServe(interposer::RealSymbol& symbol, const void* caller) {
  const CancellationHeld cancellation;
  // Looks up the real function now, so that a program without any BLAS fails at once and not at the
  // first product that attune leaves to it.
  const void* unknown = nullptr;
  first_function.compare_exchange_strong(unknown,
                                         reinterpret_cast<const void*>(symbol.Get<void()>(caller)));
  if (interposer::the_service.Begin(CreateRuntime)) return true;
  return the_runtime != nullptr && interposer::the_service.records_after_fork();
}

bool Serve(const interposer::RealSymbol& symbol, Verdict verdict,
           const interposer::Product& product) {
  switch (verdict) {
    case Verdict::kServe:
      return interposer::the_service.Run(the_runtime, symbol.name(), product);
    case Verdict::kEmpty:
      interposer::the_service.Note(interposer::Outcome::kEmpty);
      return false;
    case Verdict::kStrided:
      interposer::the_service.Note(interposer::Outcome::kStrided);
      return false;
    case Verdict::kNotFinite:
      interposer::the_service.Note(interposer::Outcome::kNotFinite);
      return false;
    case Verdict::kInvalid:
      interposer::the_service.Note(interposer::Outcome::kInvalid);
      return false;
  }
  return false;
}

}  // namespace attune::blas
