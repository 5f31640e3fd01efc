// out[i] is a third of three neighbours, where the border has itself. `tile` elements for each work-item.
__kernel void stencil(__global float* out, __global const float* in, const float weight) {
  for (int t = 0; t < tile; ++t) {
    const int i = (get_group_id(0) * tile + t) * block_size_x + get_local_id(0);
    if (i >= problem_size_x) return;
    const float left = in[i > 0 ? i - 1 : i];
    const float right = in[i + 1 < problem_size_x ? i + 1 : i];
    out[i] = weight * (left + in[i] + right);
  }
}
