/* A library that takes some of the memory for thread-local variables that is kept for those that are
 * opened late. */
static __thread char taken[64] __attribute__((tls_model("initial-exec")));
char* eater(void);
char* eater(void) { return taken; }
