/* Checked products for the guest programs of this folder. They run on this thread, on several
 * threads at once and, unless NO_FORK is set, in a child after a fork. Each program defines
 * MultiplyFloat() and MultiplyDouble(): column-major C = A * B, packed. They return 0 on success.
 *
 * EAT_TLS=FOLDER first opens every library of the folder. This uses up the memory for thread-local
 * variables of the initial-exec model. SHOW_OBJECTS=WORD prints, at the end, every loaded object
 * whose path contains WORD. SHOW_END prints the time of the last check, to measure the exit.
 * PRODUCTS_ALONE leaves other operators out. */
#pragma once

#include <dirent.h>
#include <dlfcn.h>
#include <link.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int MultiplyFloat(int m, int n, int k, const float* a, const float* b, float* c);
static int MultiplyDouble(int m, int n, int k, const double* a, const double* b, double* c);

/* Checks other operators, unless null. */
static void (*check_others)(void) = NULL;

/* Small integers keep every sum exact. The memory comes from the allocator of the program. */
#define DEFINE_CHECK(T, NAME)                                                                   \
  static __attribute__((unused)) int Compute##NAME(int m, int n, int k, const T* a, const T* b, \
                                                   T* c) {                                      \
    for (int i = 0; i < m * n; ++i) {                                                           \
      c[i] = 0;                                                                                 \
      for (int l = 0; l < k; ++l) c[i] += a[i % m + l * m] * b[l + i / m * k];                  \
    }                                                                                           \
    return 0;                                                                                   \
  }                                                                                             \
                                                                                                \
  static void Check##NAME(int m, int n, int k) {                                                \
    T* a = malloc(sizeof(T) * (size_t)m * (size_t)k);                                           \
    T* b = malloc(sizeof(T) * (size_t)k * (size_t)n);                                           \
    T* c = calloc((size_t)m * (size_t)n, sizeof(T));                                            \
    for (int i = 0; i < m * k; ++i) a[i] = (T)(i % 7 - 3);                                      \
    for (int i = 0; i < k * n; ++i) b[i] = (T)(i % 5 - 2);                                      \
    if (Multiply##NAME(m, n, k, a, b, c) != 0) exit(3);                                         \
    for (int i = 0; i < m; ++i) {                                                               \
      for (int j = 0; j < n; ++j) {                                                             \
        T sum = 0;                                                                              \
        for (int l = 0; l < k; ++l) sum += a[i + l * m] * b[l + j * k];                         \
        if (c[i + j * m] == sum) continue;                                                      \
        fprintf(stderr, "%s %dx%dx%d: c[%d, %d] is %g, not %g\n", #T, m, n, k, i, j,            \
                (double)c[i + j * m], (double)sum);                                             \
        exit(4);                                                                                \
      }                                                                                         \
    }                                                                                           \
    free(a);                                                                                    \
    free(b);                                                                                    \
    free(c);                                                                                    \
  }
DEFINE_CHECK(float, Float)
DEFINE_CHECK(double, Double)

static void CheckAll(void) {
  CheckFloat(9, 9, 9);
  CheckFloat(130, 65, 70);
  CheckFloat(200, 1, 300);
  CheckDouble(9, 9, 9);
  CheckDouble(130, 65, 70);
  CheckDouble(200, 1, 300);
  if (check_others != NULL && getenv("PRODUCTS_ALONE") == NULL) check_others();
}

static void* ThreadMain(void* unused) {
  CheckAll();
  return unused;
}

__attribute__((constructor)) static void EatThreadLocals(void) {
  const char* folder = getenv("EAT_TLS");
  DIR* listing = folder == NULL ? NULL : opendir(folder);
  for (struct dirent* file; listing != NULL && (file = readdir(listing)) != NULL;) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, file->d_name);
    if (strstr(path, ".so") == NULL || dlopen(path, RTLD_NOW) != NULL) continue;
    puts("nothing is left");
    break;
  }
  if (listing != NULL) closedir(listing);
}

static int ShowObject(struct dl_phdr_info* object, size_t size, void* word) {
  (void)size;
  if (strstr(object->dlpi_name, word) != NULL) printf("object %s\n", object->dlpi_name);
  return 0;
}

static int CheckInChild(void) {
  fflush(NULL);
  const pid_t child = fork();
  if (child < 0) return 6;
  if (child == 0) {
    CheckAll();
    fflush(NULL);
    _exit(0);
  }
  int status = 0;
  if (waitpid(child, &status, 0) == child && status == 0) return 0;
  fprintf(stderr, "the child ended with status %#x\n", (unsigned)status);
  return 7;
}

static int CheckInAllWays(void) {
  CheckAll();
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) {
    if (pthread_create(&threads[i], NULL, ThreadMain, NULL) != 0) return 5;
  }
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  const int failed = getenv("NO_FORK") == NULL ? CheckInChild() : 0;
  if (failed != 0) return failed;
  CheckAll();
  if (getenv("SHOW_OBJECTS") != NULL) dl_iterate_phdr(ShowObject, getenv("SHOW_OBJECTS"));
  if (getenv("SHOW_END") != NULL) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    printf("end: %lld.%09ld\n", (long long)now.tv_sec, now.tv_nsec);
  }
  puts("all products are right");
  return 0;
}
