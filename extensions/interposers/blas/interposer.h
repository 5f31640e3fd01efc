// Which calls of a BLAS are for attune, and the one run time that computes them.
#pragma once

#include "attune/base/stack_room.h"
#include "extensions/interposers/blas/product.h"
#include "extensions/interposers/preload/real_symbol.h"
#include "extensions/interposers/preload/service.h"

namespace attune::blas {

// What Wants() does where no run time serves yet, or none any more.
bool BeginToServe(interposer::RealSymbol& symbol, const void* caller);

// Whether a call of `symbol` from `caller` is for attune at all.
inline bool Wants(interposer::RealSymbol& symbol, const void* caller) {
  if (!interposer::the_service.is_serving() && !BeginToServe(symbol, caller)) return false;
  if (!HasAmpleStack()) [[unlikely]] {
    interposer::the_service.NoteShortStack();
    return false;
  }
  if (!interposer::Service::is_computing() && !symbol.IsOwnCall(caller)) return true;
  interposer::the_service.Note(interposer::Outcome::kReentrant);
  return false;
}

// Computes the product. False if it has to go to the real BLAS after all; then nothing of C was
// written.
bool Serve(const interposer::RealSymbol& symbol, Verdict verdict,
           const interposer::Product& product);

}  // namespace attune::blas
