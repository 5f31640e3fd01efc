/* A library that uses some of the thread-local memory that glibc reserves for libraries that are
 * opened late. */
static __thread char taken[64] __attribute__((tls_model("initial-exec")));
char* eater(void);
char* eater(void) { return taken; }
