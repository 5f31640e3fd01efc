// A space of CONFIGS configs with a fault at every SPACING-th: by turns one that does not compile
// (1), that dies (2), that never returns (3), whose result is wrong (4), that cannot be launched with
// the work-group that it gets (5) and that takes 4 GiB of memory (6). Those that are wrong would be
// the fastest. Of the others the one at two thirds of the space is, and the farther from it, the
// longer it takes. `zero` is 0, which the compiler does not know.
#if FAULT == 1
this is no OpenCL C
#endif

#if FAULT == 5
__attribute__((reqd_work_group_size(32, 1, 1)))
#endif
__kernel void
minefield(__global int* y, __global int* scratch, int n, int zero) {
  const int i = get_global_id(0);
  if (i >= n) return;
#if FAULT == 2
  volatile __global int* nowhere = (volatile __global int*)(long)zero;
  nowhere[i] = 1;
#elif FAULT == 3
  volatile __global int* again = scratch;
  again[i % 4] = 1 - zero;
  while (again[i % 4] != zero + 2) again[i % 4] = 1;
#elif FAULT == 4
  y[i] = i + 1;
#else
  const int away = abs(10 * TENS + ONES - 2 * CONFIGS / 3);
  int value = i;
  for (int step = 0; step < 40 * (away + 2); ++step) value ^= (value * 1664525 + step) * zero;
  y[i] = value;
#endif
}
