// Functions that take resources away from a program of this folder. They return 0 if they succeed.
#pragma once

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static int write_to(char* file_and_text) {
  char* text = strrchr(file_and_text, ':');
  *text++ = '\0';
  FILE* file = fopen(file_and_text, "w");
  if (file == NULL) return 1;
  const int written = fputs(text, file) >= 0;
  return fclose(file) != 0 || !written;
}

static int grow_by(int resource, long megabytes) {
  unsigned long pages[6] = {0};
  struct rlimit limit;
  FILE* file = fopen("/proc/self/statm", "r");
  if (file == NULL) return 1;
  for (int i = 0; i < 6; ++i) {
    if (fscanf(file, "%lu", &pages[i]) != 1) return 1;
  }
  fclose(file);
  const unsigned long used = pages[resource == RLIMIT_AS ? 0 : 5] * (unsigned long)getpagesize();
  limit.rlim_cur = limit.rlim_max = used + ((unsigned long)megabytes << 20);
  return setrlimit(resource, &limit);
}

static int leave_files(int count) {
  int last = -1;
  for (int fd; (fd = open("/dev/null", O_RDONLY)) >= 0;) last = fd;
  for (int i = 0; i < count; ++i) close(last - i);
  return last < 0;
}

static int install(struct sock_filter* words, size_t count) {
  struct sock_fprog program = {(unsigned short)count, words};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return 1;
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int filter_calls(void) {
  struct sock_filter words[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  return install(words, sizeof words / sizeof *words);
}

static int kill_at(int with_threads) {
  struct sock_filter words[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, with_threads ? SYS_clone3 : SYS_openat, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, with_threads ? SYS_clone : SYS_openat, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  return install(words, sizeof words / sizeof *words);
}

static int lock_at_most(long megabytes) {
  const struct rlimit limit = {(rlim_t)megabytes << 20, (rlim_t)megabytes << 20};
  return setrlimit(RLIMIT_MEMLOCK, &limit) != 0 || mlockall(MCL_FUTURE) != 0;
}

static int set_blas_threads(int count) {
  void (*set)(int) = NULL;
  *(void**)&set = dlsym(RTLD_DEFAULT, "openblas_set_num_threads");
  if (set != NULL) set(count);
  return 0;
}
