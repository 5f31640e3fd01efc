/* A program with a BLAS, for tests of the preload library: blas_caller STEP...
 *
 *   calls=N      N products of 1x1 matrices, checked
 *   invalid      one with a negative size
 *   empty        one without depth
 *   strided      one matrix-vector product with increments of 2
 *   fork         continues in a child; the parent waits and takes over its exit status
 *   threads=N    one product in each of N threads, all before any ended
 *   from=N       sets the number of the first shape of the steps below [default: 0]
 *   shapes=N     one product of each of N shapes
 *   talk=N       the same, and prints the number of products after each
 *   eight=N      the same in each of 8 threads, with different shapes
 *   stderr=PATH  opens that file at descriptor 2
 *   raise=N      sends itself signal N
 *   quick        ends with quick_exit(0)
 *   late=N       calls with N other shapes in an exit handler that the program registers now
 *   leave        ends with _exit(5), which runs no exit handlers
 *   exec=KIND    starts this program anew with the remaining steps, by execv, execve, execvp,
 *                execvpe, execl, execlp, execle, fexecve or execveat; "none" fails to start any
 *   mask=OCTAL   sets the umask
 *   stack=KIB    continues in a thread with a stack of that size
 *   hide=PATH    moves that file away, as an upgrade does
 *   handler=MS   after that time, a signal handler within malloc() calls _exit(7)
 *   until_eof    waits for the end of standard input
 *   forks        prints how often this process, or the one it was forked from, has forked so far;
 * to start a program by posix_spawn() is none
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

void cblas_sgemm(int, int, int, int32_t, int32_t, int32_t, float, const float*, int32_t,
                 const float*, int32_t, float, float*, int32_t);
void sgemv_(const char*, const int32_t*, const int32_t*, const float*, const float*, const int32_t*,
            const float*, const int32_t*, const float*, float*, const int32_t*);

enum { kMaxThreads = 64 };

static void Product(int m, int k) {
  const float a = 6, b = 7;
  float c = 0;
  cblas_sgemm(102, 111, 111, m, 1, k, 1, &a, 1, &b, 1, 0, &c, 1);
  if (m == 1 && c != (k == 1 ? 42 : 0)) {
    fprintf(stderr, "6 * 7 is %g\n", c);
    exit(3);
  }
}

static void Strided(void) {
  const float a = 6, x[2] = {7, 0}, one = 1, zero = 0;
  float y[2] = {0, 0};
  const int32_t size = 1, increment = 2;
  sgemv_("N", &size, &size, &one, &a, &size, x, &increment, &zero, y, &increment);
  if (y[0] != 42) exit(3);
}

/* Numbers below 1,000,000 have different shapes. */
static void Shape(int number) {
  enum { kMost = 100 };
  static const float a[kMost * kMost], b[kMost * kMost];
  static _Thread_local float c[kMost * kMost];
  const int m = 1 + number % kMost, n = 1 + number / kMost % kMost, k = 2 + number / kMost / kMost;
  cblas_sgemm(102, 111, 111, m, n, k, 1, a, m, b, k, 0, c, m);
}

static int first = 0;

static void Talk(int count) {
  for (int i = 0; i < count; ++i) {
    Shape(first + i);
    printf("%d\n", i + 1);
    fflush(stdout);
  }
}

static int late;

static void LateShapes(void) {
  for (int n = 0; n < late; ++n) Shape(first + 5000 + n);
}

static void* ShapesInThread(void* range) {
  const int* begin_and_end = range;
  for (int i = begin_and_end[0]; i < begin_and_end[1]; ++i) Shape(i);
  return NULL;
}

static void Eight(int count) {
  pthread_t threads[8];
  int ranges[8][2];
  for (int i = 0; i < 8; ++i) {
    ranges[i][0] = first + i * count;
    ranges[i][1] = first + (i + 1) * count;
    pthread_create(&threads[i], NULL, ShapesInThread, ranges[i]);
  }
  for (int i = 0; i < 8; ++i) pthread_join(threads[i], NULL);
}

static void OpenAtStandardError(const char* path) {
  const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (file < 0 || dup2(file, STDERR_FILENO) < 0) exit(6);
  close(file);
}

static pthread_barrier_t barrier;

static void* ThreadMain(void* unused) {
  pthread_barrier_wait(&barrier);
  Product(1, 1);
  pthread_barrier_wait(&barrier);
  return unused;
}

static void Threads(int count) {
  pthread_t threads[kMaxThreads];
  if (count < 1 || count > kMaxThreads) exit(2);
  pthread_barrier_init(&barrier, NULL, (unsigned)count);
  for (int i = 0; i < count; ++i) pthread_create(&threads[i], NULL, ThreadMain, NULL);
  for (int i = 0; i < count; ++i) pthread_join(threads[i], NULL);
}

static void Fork(void) {
  const pid_t child = fork();
  if (child == 0) return;
  int status = 0;
  waitpid(child, &status, 0);
  exit(WIFEXITED(status) ? WEXITSTATUS(status) : 4);
}

static int forks = 0;

static void NoteFork(void) { ++forks; }

static void AwaitEndOfInput(void) {
  char byte;
  while (read(STDIN_FILENO, &byte, 1) > 0) continue;
}

static void Exec(const char* kind, char* path, char** arguments) {
  arguments[0] = path;
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (strcmp(kind, "execv") == 0) execv(path, arguments);
  if (strcmp(kind, "execve") == 0) execve(path, arguments, environ);
  if (strcmp(kind, "execvp") == 0) execvp(path, arguments);
  if (strcmp(kind, "execvpe") == 0) execvpe(path, arguments, environ);
  if (strcmp(kind, "execl") == 0) execl(path, path, arguments[1], (char*)NULL);
  if (strcmp(kind, "execlp") == 0) execlp(path, path, arguments[1], (char*)NULL);
  if (strcmp(kind, "execle") == 0) execle(path, path, arguments[1], (char*)NULL, environ);
  if (strcmp(kind, "fexecve") == 0) fexecve(file, arguments, environ);
  if (strcmp(kind, "execveat") == 0) execveat(AT_FDCWD, path, arguments, environ, 0);
  if (strcmp(kind, "none") != 0) exit(8);
  execv("/nowhere/program", arguments);
  close(file);
}

static int Run(int argc, char** argv);

struct Steps {
  int argc;
  char** argv;
};

static void* RunInThread(void* argument) {
  const struct Steps* steps = argument;
  const int status = Run(steps->argc, steps->argv);
  if (status != 0) exit(status);
  return NULL;
}

static int GoOnInThread(int kib, char* path, int argc, char** argv) {
  struct Steps steps = {argc, argv};
  pthread_attr_t attributes;
  pthread_t thread;
  argv[0] = path;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, (size_t)kib << 10);
  if (pthread_create(&thread, &attributes, RunInThread, &steps) != 0) return 9;
  pthread_join(thread, NULL);
  return 0;
}

static void Hide(const char* path) {
  char away[4096];
  snprintf(away, sizeof away, "%s.away", path);
  if (rename(path, away) != 0) exit(6);
}

static void LeaveAtOnce(int signal) { _exit(signal == 0 ? 0 : 7); }

static void LeaveInHandler(int ms) {
  const struct itimerval after = {{0, 0}, {ms / 1000, ms % 1000 * 1000 + 1}};
  signal(SIGALRM, LeaveAtOnce);
  setitimer(ITIMER_REAL, &after, NULL);
  for (size_t bytes = 1;; bytes = bytes * 3 % 60000 + 1) free(malloc(bytes + 1200));
}

int main(int argc, char** argv) {
  pthread_atfork(NoteFork, NULL, NULL);
  return Run(argc, argv);
}

static int Run(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (strncmp(argv[i], "calls=", 6) == 0) {
      for (int n = atoi(argv[i] + 6); n > 0; --n) Product(1, 1);
    } else if (strncmp(argv[i], "threads=", 8) == 0) {
      Threads(atoi(argv[i] + 8));
    } else if (strcmp(argv[i], "invalid") == 0) {
      Product(-1, 1);
    } else if (strcmp(argv[i], "empty") == 0) {
      Product(1, 0);
    } else if (strcmp(argv[i], "strided") == 0) {
      Strided();
    } else if (strcmp(argv[i], "fork") == 0) {
      Fork();
    } else if (strncmp(argv[i], "from=", 5) == 0) {
      first = atoi(argv[i] + 5);
    } else if (strncmp(argv[i], "shapes=", 7) == 0) {
      for (int n = 0; n < atoi(argv[i] + 7); ++n) Shape(first + n);
    } else if (strncmp(argv[i], "talk=", 5) == 0) {
      Talk(atoi(argv[i] + 5));
    } else if (strncmp(argv[i], "eight=", 6) == 0) {
      Eight(atoi(argv[i] + 6));
    } else if (strncmp(argv[i], "stderr=", 7) == 0) {
      OpenAtStandardError(argv[i] + 7);
    } else if (strncmp(argv[i], "raise=", 6) == 0) {
      raise(atoi(argv[i] + 6));
    } else if (strncmp(argv[i], "exec=", 5) == 0) {
      Exec(argv[i] + 5, argv[0], argv + i);
    } else if (strncmp(argv[i], "mask=", 5) == 0) {
      umask((mode_t)strtol(argv[i] + 5, NULL, 8));
    } else if (strncmp(argv[i], "stack=", 6) == 0) {
      return GoOnInThread(atoi(argv[i] + 6), argv[0], argc - i, argv + i);
    } else if (strncmp(argv[i], "hide=", 5) == 0) {
      Hide(argv[i] + 5);
    } else if (strncmp(argv[i], "handler=", 8) == 0) {
      LeaveInHandler(atoi(argv[i] + 8));
    } else if (strcmp(argv[i], "quick") == 0) {
      quick_exit(0);
    } else if (strncmp(argv[i], "late=", 5) == 0) {
      late = atoi(argv[i] + 5);
      atexit(LateShapes);
    } else if (strcmp(argv[i], "leave") == 0) {
      _exit(5);
    } else if (strcmp(argv[i], "until_eof") == 0) {
      AwaitEndOfInput();
    } else if (strcmp(argv[i], "forks") == 0) {
      printf("forks %d\n", forks);
    } else {
      fprintf(stderr, "There is no step '%s'.\n", argv[i]);
      return 2;
    }
  }
  return 0;
}
