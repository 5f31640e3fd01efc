// Keeps threads free to run on every core.
#pragma once

namespace attune::host {

// Sets OMP_PROC_BIND to false unless somebody has set it.
//
// libxsmm sets it to TRUE where it is not set, when it is first used. An OpenMP runtime that is
// loaded later then binds the calling thread to one core, and every thread that is started
// afterwards by anybody else (OpenBLAS, our own pool) inherits that one core: products on "two
// threads" took as long as on one. Call before libxsmm is used and while no other thread reads the
// environment.
void LeaveThreadsUnbound();

}  // namespace attune::host
