/* One call that stores a launch of the program's own kernel, with its data, as a kernel file, which
 * `attune tune --kernel` tunes off line. `attune capture` does it from outside (docs/capture.md).
 *
 * Needs no run time and no device of attune's: the program reads its buffers and launches itself.
 * Thread-safe, as far as the program's functions are.
 */
#ifndef ATTUNE_CAPTURE_H_
#define ATTUNE_CAPTURE_H_

#include "attune/attune.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum attune_capture_kind {
  ATTUNE_CAPTURE_SCALAR = 0,
  ATTUNE_CAPTURE_BUFFER = 1,
  ATTUNE_CAPTURE_LOCAL = 2 /* Local memory that the launch sizes; OpenCL alone. */
} attune_capture_kind;

typedef struct attune_capture_argument {
  int32_t kind; /* attune_capture_kind */
  int32_t reserved;
  size_t size_bytes;
  const void* value; /* The bytes of a scalar; for a buffer any value by which `read` identifies
                      * it. */
} attune_capture_argument;

/* Copies all bytes of `buffer` to `memory`, behind everything that was enqueued. */
typedef int (*attune_capture_read)(void* user, const attune_capture_argument* buffer, void* memory);
/* Launches the kernel, once. */
typedef int (*attune_capture_launcher)(void* user);

/* Texts, arguments and `user` are borrowed for the call. */
typedef struct attune_capture {
  size_t struct_size;
  const char* function;
  const char* source;   /* Source that it was compiled from. */
  const char* options;  /* Compiler options; null: none. */
  const char* language; /* "opencl" or "cuda"; null: "opencl". */
  int32_t dimensions;   /* 1 to 3; of `local` and `groups` so many count. */
  int32_t reserved;
  uint64_t local[3];                        /* Work-items of a work-group. */
  uint64_t groups[3];                       /* Work-groups. */
  uint64_t shared_bytes;                    /* Dynamic shared memory; CUDA alone. */
  const attune_capture_argument* arguments; /* In the order of the kernel's. */
  size_t argument_count;
  /* Both return 0, or their own error number, which the message contains. They may not throw. */
  attune_capture_read read;
  attune_capture_launcher launch;
  void* user; /* Handed to both. */
} attune_capture;

#define ATTUNE_CAPTURE_INIT \
  { sizeof(attune_capture), NULL, NULL, NULL, NULL, 0, 0, {0}, {0}, 0, NULL, 0, NULL, NULL, NULL }

/* Reads the buffers, launches, reads them again and writes a new folder of `folder`, which is
 * created if absent: FOLDER/NAME/NAME.json, or NAME-2 if NAME exists. `kernel_file` gets that path,
 * for attune_free; it may be null. Takes memory for twice the buffers. The launch is made even if
 * the rest fails, unless the description is invalid or a buffer cannot be read before it.
 *
 * ATTUNE_INVALID_ARGUMENT for an invalid description, ATTUNE_FAILED_PRECONDITION if the launch
 * changed no buffer, ATTUNE_UNAVAILABLE if `read` or `launch` failed, ATTUNE_UNSUPPORTED if a
 * kernel file cannot express the launch; every other code is about the folder. */
ATTUNE_API attune_code attune_capture_launch(const attune_capture* capture, const char* folder,
                                             char** kernel_file);

#ifdef __cplusplus
}
#endif

#endif /* ATTUNE_CAPTURE_H_ */
