// Keeps threads free to run on every core.
#pragma once

namespace attune::host {

// Sets OMP_PROC_BIND to false unless it is set.
//
// libxsmm sets it to TRUE where it is not set, when it is first used. An OpenMP runtime that is
// loaded later then binds the calling thread to one core. Every thread that other code starts
// afterwards (OpenBLAS, attune's pool) inherits that core: products on "two threads" took as long
// as on one. Call before libxsmm is used and while no other thread reads the environment.
void LeaveThreadsUnbound();

}  // namespace attune::host
