// The steps of the programs of this folder, one for each word of their command line. They take
// resources away from the program, or compute. A program defines begin(), products() and others(),
// which return 0 if they succeed and every product is right.
//
//   begin             create the run time, if the program does that itself
//   products          compute, in the main thread
//   others            compute products of other sizes
//   pids=FILE:N       write N to the pids.max of a cgroup
//   as=MB, data=MB    limit the growth of the address space, or of the data, to that size
//   nofile=N          open files until no more than N can be opened
//   stack=KIB         compute in a thread with that much stack
//   coroutine=KIB     compute in the main thread on a stack of the program's own
//   signal            compute in a signal handler on an alternate stack
//   threads=N         compute in N threads at the same time, as many as can be started
//   filter            refuse the system calls that start threads and processes
//   killing           end the process at the next system call that starts a thread or opens a file
//   sandbox           end the process at the next system call that opens a file
//   lock=MB           lock what is mapped from now on, at most that size
//   blas-threads=N    set the number of threads of OpenBLAS, if that is the program's BLAS
//   alone=N           compute N times; other threads of the process must not compute
//   thread            start one thread and end it; it must be possible
//   wait=MS           wait until background work of attune ends
//   fork              fork a child that does nothing, and wait for it
#pragma once

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "tests/e2e/limits/takes.h"

static int begin(void);
static int products(void);
static int others(void);

static int failed(const char* step) {
  printf("FAILED: %s\n", step);
  return 1;
}

static void* compute(void* unused) {
  (void)unused;
  return products() == 0 ? NULL : (void*)1;
}

static int in_threads(int count, size_t stack_bytes) {
  pthread_t threads[64];
  pthread_attr_t attributes;
  int started = 0;
  void* result = NULL;
  int wrong = 0;
  pthread_attr_init(&attributes);
  if (stack_bytes > 0 && pthread_attr_setstacksize(&attributes, stack_bytes) != 0) return 1;
  while (started < count && started < 64 &&
         pthread_create(&threads[started], &attributes, compute, NULL) == 0) {
    ++started;
  }
  for (int i = 0; i < started; ++i) {
    pthread_join(threads[i], &result);
    wrong |= result != NULL;
  }
  printf("threads: %d\n", started);
  return wrong;
}

static ucontext_t main_context, coroutine_context;
static int coroutine_failed;

static void coroutine(void) { coroutine_failed = products(); }

static int in_coroutine(size_t stack_bytes) {
  void* stack = mmap(NULL, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (stack == MAP_FAILED) return 1;
  getcontext(&coroutine_context);
  coroutine_context.uc_stack.ss_sp = stack;
  coroutine_context.uc_stack.ss_size = stack_bytes;
  coroutine_context.uc_link = &main_context;
  makecontext(&coroutine_context, coroutine, 0);
  swapcontext(&main_context, &coroutine_context);
  return coroutine_failed;
}

static void on_signal(int unused) {
  (void)unused;
  coroutine_failed = products();
}

static int in_signal(void) {
  const size_t bytes = 64 << 10;
  stack_t stack = {0};
  struct sigaction action = {0};
  stack.ss_sp = malloc(bytes);
  stack.ss_size = bytes;
  action.sa_handler = on_signal;
  action.sa_flags = SA_ONSTACK;
  if (sigaltstack(&stack, NULL) != 0 || sigaction(SIGUSR1, &action, NULL) != 0) return 1;
  raise(SIGUSR1);
  return coroutine_failed;
}

// The processor time in ns of the threads other than the main one; -1 if unknown.
static long long others_time(void) {
  long long total = 0;
  DIR* tasks = opendir("/proc/self/task");
  if (tasks == NULL) return -1;
  for (struct dirent* task; (task = readdir(tasks)) != NULL;) {
    char path[300];
    long long time = 0;
    if (task->d_name[0] == '.' || atoi(task->d_name) == getpid()) continue;
    snprintf(path, sizeof path, "/proc/self/task/%s/schedstat", task->d_name);
    FILE* file = fopen(path, "r");
    if (file == NULL) continue;
    if (fscanf(file, "%lld", &time) == 1) total += time;
    fclose(file);
  }
  closedir(tasks);
  return total;
}

static int alone(long times) {
  struct timespec begin, end;
  const long long others = others_time();
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
  for (long i = 0; i < times; ++i) {
    if (products() != 0) return 1;
  }
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
  const long long mine = (end.tv_sec - begin.tv_sec) * 1000000000LL + (end.tv_nsec - begin.tv_nsec);
  const long long theirs = others_time() - others;
  printf("alone: %lld us, others %lld us\n", mine / 1000, theirs / 1000);
  return others < 0 || theirs > mine / 50;
}

static void* do_nothing(void* argument) { return argument; }

static int one_thread(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, do_nothing, NULL) != 0) return 1;
  return pthread_join(thread, NULL);
}

static int one_fork(void) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  return child < 0 ? 0 : waitpid(child, NULL, 0) != child;
}

static int do_step(char* step) {
  char* value = strchr(step, '=');
  const long number = value == NULL ? 0 : atol(value + 1);
  if (strcmp(step, "begin") == 0) return begin();
  if (strcmp(step, "products") == 0) return products();
  if (strcmp(step, "others") == 0) return others();
  if (strcmp(step, "signal") == 0) return in_signal();
  if (strcmp(step, "filter") == 0) return filter_calls();
  if (strcmp(step, "killing") == 0) return kill_at(1);
  if (strcmp(step, "sandbox") == 0) return kill_at(0);
  if (strcmp(step, "thread") == 0) return one_thread();
  if (strcmp(step, "fork") == 0) return one_fork();
  if (strncmp(step, "wait=", 5) == 0) return usleep((useconds_t)number * 1000);
  if (strncmp(step, "pids=", 5) == 0) return write_to(value + 1);
  if (strncmp(step, "as=", 3) == 0) return grow_by(RLIMIT_AS, number);
  if (strncmp(step, "data=", 5) == 0) return grow_by(RLIMIT_DATA, number);
  if (strncmp(step, "lock=", 5) == 0) return lock_at_most(number);
  if (strncmp(step, "blas-threads=", 13) == 0) return set_blas_threads((int)number);
  if (strncmp(step, "alone=", 6) == 0) return alone(number);
  if (strncmp(step, "nofile=", 7) == 0) return leave_files((int)number);
  if (strncmp(step, "stack=", 6) == 0) return in_threads(1, (size_t)number << 10);
  if (strncmp(step, "coroutine=", 10) == 0) return in_coroutine((size_t)number << 10);
  if (strncmp(step, "threads=", 8) == 0) return in_threads((int)number, 0);
  return 1;
}

// Prints "right" and the time at which it leaves main(), to measure the exit.
static int do_steps(int count, char** steps) {
  struct timespec now;
  for (int i = 0; i < count; ++i) {
    if (do_step(steps[i]) != 0) return failed(steps[i]);
  }
  clock_gettime(CLOCK_MONOTONIC, &now);
  printf("right %lld.%09ld\n", (long long)now.tv_sec, now.tv_nsec);
  return 0;
}

// Memory for operands, allocated before any limit. Each thread computes in its own place.
enum { kPlaces = 64, kPlaceBytes = 768 << 10 };
static char places[kPlaces][kPlaceBytes] __attribute__((aligned(64)));
static int place_is_taken[kPlaces];

typedef struct {
  int place;
  size_t used;
} Memory;

static Memory take_memory(void) {
  Memory memory = {0, 0};
  while (__atomic_exchange_n(&place_is_taken[memory.place], 1, __ATOMIC_ACQUIRE)) {
    memory.place = (memory.place + 1) % kPlaces;
  }
  return memory;
}

static void give_back(const Memory* memory) {
  __atomic_store_n(&place_is_taken[memory->place], 0, __ATOMIC_RELEASE);
}

static void* bytes_of(Memory* memory, size_t bytes) {
  void* at = places[memory->place] + memory->used;
  memory->used += (bytes + 63) / 64 * 64;
  if (memory->used > kPlaceBytes) abort();
  return at;
}

// Small whole numbers, so that sums are exact in any order.
static double element(long i, long j, int seed) { return (double)((i * 7 + j * 3 + seed) % 5 - 2); }
