// Which calls of a BLAS are for attune, and the one run time that computes them.
#pragma once

#include "attune/base/stack_room.h"
#include "faces/blas/product.h"
#include "faces/preload/real_symbol.h"
#include "faces/preload/service.h"

namespace attune::blas {

// What Wants() does where no run time serves yet, or none any more.
bool BeginToServe(face::RealSymbol& symbol, const void* caller);

// Whether a call of `symbol` from `caller` is for attune at all.
inline bool Wants(face::RealSymbol& symbol, const void* caller) {
  if (!face::the_service.is_serving() && !BeginToServe(symbol, caller)) return false;
  if (!HasAmpleStack()) [[unlikely]] {
    face::the_service.NoteShortStack();
    return false;
  }
  if (!face::Service::is_computing() && !symbol.IsOwnCall(caller)) return true;
  face::the_service.Note(face::Outcome::kReentrant);
  return false;
}

// Computes the product. False if it has to go to the real BLAS after all; then nothing of C was
// written.
bool Serve(const face::RealSymbol& symbol, Verdict verdict, const face::Product& product);

}  // namespace attune::blas
