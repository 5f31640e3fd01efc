extern "C" __global__ void product(const float* a, const float* b, float* c) {}
