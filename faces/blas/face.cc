#include "faces/blas/face.h"

#include <atomic>

#include "attune/base/cancellation_held.h"
#include "faces/blas/program_threads.h"

namespace attune::blas {
namespace {

constinit attune_runtime* the_runtime = nullptr;  // Set before the service serves.
// The real function of the first call. Its library is the program's BLAS.
constinit std::atomic<const void*> first_function = nullptr;

bool CreateRuntime(face::Service& service) {
  attune_options options = {};
  options.device = "cpu";
  options.ieee_special_values = 1;  // As docs/blas.md promises.
  FindThreadSetting(first_function.load());
  options.thread_limit = ThreadsOfProgram;
  the_runtime = service.Create(options);
  return the_runtime != nullptr;
}

}  // namespace

bool BeginToServe(face::RealSymbol& symbol, const void* caller) {
  const CancellationHeld cancellation;
  // The real function is looked for now, so that a program without any BLAS fails at once and not
  // at the first product that attune leaves to it.
  const void* unknown = nullptr;
  first_function.compare_exchange_strong(unknown,
                                         reinterpret_cast<const void*>(symbol.Get<void()>(caller)));
  if (face::the_service.Begin(CreateRuntime)) return true;
  return the_runtime != nullptr && face::the_service.records_after_fork();
}

bool Serve(const face::RealSymbol& symbol, Verdict verdict, const face::Product& product) {
  switch (verdict) {
    case Verdict::kServe:
      return face::the_service.Run(the_runtime, symbol.name(), product);
    case Verdict::kEmpty:
      face::the_service.Note(face::Outcome::kEmpty);
      return false;
    case Verdict::kStrided:
      face::the_service.Note(face::Outcome::kStrided);
      return false;
    case Verdict::kInvalid:
      face::the_service.Note(face::Outcome::kInvalid);
      return false;
  }
  return false;
}

}  // namespace attune::blas
