/* Functions of a program that have names of a BLAS. No library may call them: each ends the
 * program. Linked into a guest that exports its symbols. */
#include <stdio.h>
#include <stdlib.h>

#define TRAP(NAME)                                                                 \
  void NAME(void);                                                                 \
  void NAME(void) {                                                                \
    fputs("a library called " #NAME " of the program\n", stderr);                  \
    abort();                                                                       \
  }

TRAP(sgemm_)
TRAP(dgemm_)
TRAP(sgemv_)
TRAP(dgemv_)
TRAP(sgemmtr_)
TRAP(sscal_)
TRAP(dscal_)
TRAP(saxpy_)
TRAP(daxpy_)
TRAP(sdot_)
TRAP(ddot_)
TRAP(cblas_sgemm)
TRAP(cblas_dgemm)
TRAP(cblas_sgemv)
TRAP(cblas_dgemv)
TRAP(lsame_)
TRAP(xerbla_)
#ifdef VERSION_OF_OPENBLAS
TRAP(openblas_get_config)
#endif
#ifdef STATE_OF_OPENBLAS
TRAP(gotoblas)
#endif
#ifdef PART_OF_BLIS
TRAP(bli_gemm_ex)
#endif
#ifdef STATE_OF_ONEDNN
TRAP(dnnl_version)
#endif
