/* A program without cuBLAS: cublas_host PLUGIN... computes 6 * 7 in each plug-in, twice. */
#include <dlfcn.h>
#include <stdio.h>

enum { kMaxPlugins = 4 };

int main(int argc, char** argv) {
  float (*products[kMaxPlugins])(float, float);
  const int count = argc - 1 < kMaxPlugins ? argc - 1 : kMaxPlugins;
  for (int i = 0; i < count; ++i) {
    void* plugin = dlopen(argv[i + 1], RTLD_NOW | RTLD_LOCAL);
    if (plugin == NULL) {
      fprintf(stderr, "%s\n", dlerror());
      return 2;
    }
    *(void**)&products[i] = dlsym(plugin, "plugin_product");
  }
  for (int i = 0; i < 2 * count; ++i) printf("%g\n", products[i % count](6, 7));
  return 0;
}
