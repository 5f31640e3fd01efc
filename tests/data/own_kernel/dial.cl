// The farther A and B are from 37 and 6, the longer it takes; what it writes is always the same.
// `zero` is 0, which the compiler does not know.
__kernel void dial(__global int* y, int n, int zero) {
  const int away = abs(A - 37) + abs(B - 6);
  int value = get_global_id(0);
  for (int step = 0; step < 20 * away; ++step) value ^= (value * 1664525 + step) * zero;
  if (get_global_id(0) < n) y[get_global_id(0)] = value;
}
