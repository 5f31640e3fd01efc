__kernel void convolve(__global const float* x, long x_offset) {}
