/* A function of a program that has the name of one in a library of attune. Nothing may call it: it
 * ends the program. -DNAME=... gives the name. Linked into a guest that exports its symbols, or
 * built as a library. */
#include <stdio.h>
#include <stdlib.h>

void NAME(void);
void NAME(void) {
  fputs("a library called a function of the program\n", stderr);
  abort();
}
