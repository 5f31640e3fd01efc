// 2 x, by TERMS steps of a series that converges to it. It prints how far off that may be, unless SAYS
// is 0, and each work-group how many terms it took.
__kernel void printing(__global const float* x, __global float* y, int n) {
  const int i = get_global_id(0);
  if (i >= n) return;
  float sum = 0;
  for (int step = 0; step < TERMS; ++step) sum = sum * 0.5f + x[i];
  y[i] = sum;
  if (get_local_id(0) != 0) return;
  printf("group %d, Terms/group: %d\n", (int)get_group_id(0), TERMS);
  if (i == 0 && SAYS) printf("the error\n\terror = %.9g\n", 1.0f / TERMS);
}
