/* A program with a BLAS that changes its process as other programs do: blas_guest STEP...
 *
 *   products=N[:MS]  N products of different shapes, checked, with a pause after each
 *   large=N          N products of 400 x 400 x 400, which libraries share among threads
 *   sleep=MS
 *   await=FILE       waits until the file is there
 *   closefrom=FD     closes every descriptor from FD on, as daemons do
 *   close_standard   closes descriptors 0 to 2
 *   are_closed       fails if a descriptor from 0 to 2 is open
 *   sockets=N        opens N pairs of connected sockets
 *   ping=N           sends N messages over each pair, both ways; fails if another one arrives
 *   take             replaces every descriptor that it has not opened by a file of its own
 *   has_files=N      fails if such a file was read, written or closed, or if more than N exist
 *   chdir=FOLDER
 *   chroot=FOLDER
 *   fork             continues in a child; the parent waits and returns its exit status
 *   forks=N          starts N children one after the other, each of which computes two products
 *   daemon           continues in a child with its own session; the parent exits at once
 *   compute          starts a thread that computes until the end
 *   crowd=N          N threads compute at the same time
 *   own_signal       blocks a signal, sends it to this process and waits for it
 *   stamp=FILE       writes the seconds of CLOCK_MONOTONIC there
 *   exec             starts this program anew with the steps that follow
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void cblas_sgemm(int, int, int, int32_t, int32_t, int32_t, float, const float*, int32_t,
                 const float*, int32_t, float, float*, int32_t);

enum { kMaxDescriptors = 256, kMaxSize = 64 };

static char ours[kMaxDescriptors]; /* 1 for descriptors that this program opened. */
static int pairs[kMaxDescriptors][2];
static int pair_count;
static int taken[kMaxDescriptors];
static int taken_count;

static void Fail(int status, const char* what) {
  fprintf(stderr, "blas_guest: %s (%s)\n", what, strerror(errno));
  _exit(status);
}

static void Sleep(long ms) {
  const struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&pause, NULL);
}

/* Products of a depth of up to 64 are shared among threads by some libraries. */
static void Product(int number, int depths) {
  const int m = 3 + number % 50, n = 2 + number / 50 % 50, k = 4 + number % depths;
  static __thread float a[kMaxSize * kMaxSize], b[kMaxSize * kMaxSize], c[kMaxSize * kMaxSize];
  for (int i = 0; i < m * k; ++i) a[i] = 2;
  for (int i = 0; i < k * n; ++i) b[i] = 3;
  cblas_sgemm(102, 111, 111, m, n, k, 1, a, m, b, k, 0, c, m);
  for (int i = 0; i < m * n; ++i) {
    if (c[i] != 6.0f * (float)k) Fail(3, "a product is wrong");
  }
}

static void Large(int count) {
  enum { kSize = 400 };
  static float a[kSize * kSize], b[kSize * kSize], c[kSize * kSize];
  for (int i = 0; i < kSize * kSize; ++i) a[i] = b[i] = 1;
  for (int i = 0; i < count; ++i) {
    cblas_sgemm(102, 111, 111, kSize, kSize, kSize, 1, a, kSize, b, kSize, 0, c, kSize);
  }
  for (int i = 0; i < kSize * kSize; ++i) {
    if (count > 0 && c[i] != kSize) Fail(3, "a product is wrong");
  }
}

static void Await(const char* path) {
  for (int i = 0; i < 4000; ++i) {
    if (access(path, F_OK) == 0) return;
    Sleep(5);
  }
  Fail(6, path);
}

static void OpenSockets(int count) {
  for (int i = 0; i < count; ++i) {
    int* pair = pairs[pair_count++];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) Fail(2, "socketpair");
    ours[pair[0]] = ours[pair[1]] = 1;
  }
}

static void Send(int from, int to) {
  char message[4096];
  struct pollfd ready = {to, POLLIN, 0};
  if (write(from, "ping", 4) != 4) Fail(4, "a socket of the program cannot be written to");
  if (poll(&ready, 1, 2000) != 1) Fail(4, "a message of the program was lost");
  const ssize_t size = read(to, message, sizeof message);
  if (size != 4 || memcmp(message, "ping", 4) != 0) Fail(4, "the program received another message");
}

static void Ping(int count) {
  for (int i = 0; i < count; ++i) {
    for (int pair = 0; pair < pair_count; ++pair) {
      Send(pairs[pair][0], pairs[pair][1]);
      Send(pairs[pair][1], pairs[pair][0]);
    }
    Sleep(50);
  }
}

static void Take(void) {
  char folder[] = "/tmp/attune-guest-XXXXXX";
  if (mkdtemp(folder) == NULL || chdir(folder) != 0) Fail(2, folder);
  for (int fd = 3; fd < kMaxDescriptors; ++fd) {
    if (ours[fd] || fcntl(fd, F_GETFD) < 0) continue;
    char name[32];
    snprintf(name, sizeof name, "of-the-program-%d", fd);
    const int file = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || write(file, "mine", 4) != 4 || lseek(file, 0, SEEK_SET) != 0) Fail(2, name);
    unlink(name);
    if (dup2(file, fd) != fd) Fail(2, name);
    close(file);
    ours[fd] = 1;
    taken[taken_count++] = fd;
  }
  if (chdir("/") != 0 || rmdir(folder) != 0) Fail(2, folder);
}

static void CheckTaken(int most) {
  errno = 0;
  if (taken_count > most) Fail(7, "more was open than expected");
  for (int i = 0; i < taken_count; ++i) {
    char content[8] = "";
    if (pread(taken[i], content, sizeof content, 0) != 4 || memcmp(content, "mine", 4) != 0) {
      Fail(7, "a file of the program was closed or written to");
    }
    if (lseek(taken[i], 0, SEEK_CUR) != 0) Fail(7, "a file of the program was read from");
  }
}

static void CheckStandard(void) {
  for (int fd = 0; fd < 3; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0) Fail(5, "a standard descriptor was taken");
  }
}

static void* Compute(void* unused) {
  for (int i = 0;; ++i) Product(i % 2500, kMaxSize - 4);
  return unused;
}

static void* ComputeSome(void* unused) {
  for (int i = 0; i < 300; ++i) Product(i * 8 % 2500, kMaxSize - 4);
  return unused;
}

static void Crowd(int count) {
  pthread_t* threads = calloc((size_t)count, sizeof *threads);
  for (int i = 0; i < count; ++i) {
    if (pthread_create(&threads[i], NULL, ComputeSome, NULL) != 0) Fail(2, "pthread_create");
  }
  for (int i = 0; i < count; ++i) pthread_join(threads[i], NULL);
  free(threads);
}

static void AwaitOwnSignal(void) {
  const struct timespec patience = {2, 0};
  sigset_t own;
  sigemptyset(&own);
  sigaddset(&own, SIGUSR1);
  if (pthread_sigmask(SIG_BLOCK, &own, NULL) != 0) Fail(2, "pthread_sigmask");
  if (kill(getpid(), SIGUSR1) != 0) Fail(2, "kill");
  Sleep(1);
  if (sigtimedwait(&own, NULL, &patience) != SIGUSR1) Fail(9, "another thread took the signal");
}

static void Stamp(const char* path) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  FILE* file = fopen(path, "w");
  if (file == NULL || fprintf(file, "%lld.%09ld", (long long)now.tv_sec, now.tv_nsec) < 0) {
    Fail(2, path);
  }
  fclose(file);
}

static void Fork(void) {
  const pid_t child = fork();
  if (child == 0) return;
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) Fail(2, "fork");
  exit(WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status));
}

static void Forks(int count) {
  for (int i = 0; i < count; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      Product(50 * i, 7);
      Product(2499, kMaxSize - 4);
      _exit(0);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) Fail(2, "fork");
    if (status != 0) Fail(8, "a child failed");
  }
}

static void Products(const char* text) {
  static int next;
  const int count = atoi(text);
  const char* pause = strchr(text, ':');
  for (int i = 0; i < count; ++i) {
    Product(next++, 7);
    if (pause != NULL) Sleep(atol(pause + 1));
  }
}

static void Step(const char* step) {
  const char* value = strchr(step, '=');
  const size_t length = value == NULL ? strlen(step) : (size_t)(value - step);
  const char* text = value == NULL ? "" : value + 1;
  pthread_t thread;
#define IS(name) (length == sizeof(name) - 1 && strncmp(step, name, length) == 0)
  if (IS("products")) {
    Products(text);
  } else if (IS("large")) {
    Large(atoi(text));
  } else if (IS("sleep")) {
    Sleep(atol(text));
  } else if (IS("await")) {
    Await(text);
  } else if (IS("closefrom")) {
    for (int fd = atoi(text); fd < kMaxDescriptors; ++fd) close(fd);
  } else if (IS("close_standard")) {
    for (int fd = 0; fd < 3; ++fd) close(fd);
  } else if (IS("are_closed")) {
    CheckStandard();
  } else if (IS("sockets")) {
    OpenSockets(atoi(text));
  } else if (IS("ping")) {
    Ping(atoi(text));
  } else if (IS("take")) {
    Take();
  } else if (IS("has_files")) {
    CheckTaken(atoi(text));
  } else if (IS("chdir")) {
    if (chdir(text) != 0) Fail(2, text);
  } else if (IS("chroot")) {
    if (chroot(text) != 0 || chdir("/") != 0) Fail(2, text);
  } else if (IS("fork")) {
    Fork();
  } else if (IS("forks")) {
    Forks(atoi(text));
  } else if (IS("daemon")) {
    if (fork() != 0) _exit(0);
    setsid();
  } else if (IS("crowd")) {
    Crowd(atoi(text));
  } else if (IS("own_signal")) {
    AwaitOwnSignal();
  } else if (IS("stamp")) {
    Stamp(text);
  } else if (IS("compute")) {
    if (pthread_create(&thread, NULL, Compute, NULL) != 0) Fail(2, "pthread_create");
  } else {
    Fail(2, step);
  }
#undef IS
}

int main(int count, char** steps) {
  for (int fd = 0; fd < kMaxDescriptors; ++fd) ours[fd] = fcntl(fd, F_GETFD) >= 0;
  for (int i = 1; i < count; ++i) {
    if (strcmp(steps[i], "exec") == 0) {
      steps[i] = steps[0];
      execv("/proc/self/exe", steps + i);
      Fail(2, "exec");
    }
    Step(steps[i]);
  }
  return 0;
}
