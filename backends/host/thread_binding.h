// Keeps threads free to run on every core.
#pragma once

namespace attune::host {

// Takes OMP_PROC_BIND out of the environment unless the user had put it there.
//
// libxsmm sets it to TRUE when a program starts that links it. An OpenMP runtime that is loaded
// later then binds the calling thread to one core, and every thread that is started afterwards by
// anybody else (OpenBLAS, our own pool) inherits that one core: products on "two threads" took as
// long as on one. Call before the first library is opened.
void ForgetForeignThreadBinding();

}  // namespace attune::host
