#include "extensions/interposers/cublas/interposer.h"

#include "attune/base/cancellation_held.h"

namespace attune::cublas {
namespace {

constinit DeviceRuntimes the_runtimes;

// Run times are created on demand, per device.
bool PrepareNothing(interposer::Service&) { return true; }

bool BeginToServe() {
  const CancellationHeld cancellation;
  return interposer::the_service.Begin(PrepareNothing);
}

}  // namespace

constinit thread_local bool Passing::is_passing_ = false;

bool Wants(const Binding& binding) {
  if (binding.is_cublas || Passing::is_passing()) return false;
  if (!interposer::the_service.is_serving() && !BeginToServe()) return false;
  if (!interposer::Service::is_computing()) return true;
  interposer::the_service.Note(Outcome::kReentrant);
  return false;
}

bool Serve(const RealFunction& real, Outcome outcome, Product& product) {
  attune_runtime* runtime = nullptr;
  if (outcome == Outcome::kServed) outcome = the_runtimes.Find(product.arguments.queue, runtime);
  if (outcome == Outcome::kServed) {
    product.gemm.alignment_bytes = AlignmentOf(product.arguments);
    return interposer::the_service.Run(runtime, real.name(), product);
  }
  interposer::the_service.Note(outcome);
  return false;
}

}  // namespace attune::cublas
