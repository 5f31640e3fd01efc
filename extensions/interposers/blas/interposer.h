// Decides which BLAS calls attune serves, and serves them with the one run time of the process.
#pragma once

#include "attune/base/stack_room.h"
#include "extensions/interposers/blas/product.h"
#include "extensions/interposers/preload/real_symbol.h"
#include "extensions/interposers/preload/service.h"

namespace attune::blas {

// The slow path of Wants(), while no run time serves: starts one if there was none yet.
bool BeginToServe(interposer::RealSymbol& symbol, const void* caller);

// True if attune can serve a call of `symbol` from `caller`.
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
