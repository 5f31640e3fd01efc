/* A program without any BLAS: blas_host [PLUGIN]. With one it computes 6 * 7 in it. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
  if (argc < 2) return 0;
  void* plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (plugin == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  float (*product)(float, float);
  *(void**)&product = dlsym(plugin, "plugin_product");
  printf("%g\n", product(6, 7));
  return 0;
}
