"""Programs with and without `attune blas`, for the tests beside this file."""

import argparse
import functools
import os
import re
import subprocess
import unittest

# LeakSanitizer would report memory of the shell and of Python. tests/guests checks leaks.
SANITIZER_OPTIONS = {"ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0",
                     "TSAN_OPTIONS": "ignore_noninstrumented_modules=1,atexit_sleep_ms=0"}
# The file of --preload: an allocator or the runtime of a sanitizer, before all other libraries.
first_library = None


def add_preload(parser):
    parser.add_argument("--preload", metavar="LIBRARY", type=os.path.abspath,
                        help="preload an allocator or the runtime of a sanitizer first")


def set_preload(library):
    global first_library
    if library is not None:
        # The dynamic linker ignores a library that it cannot preload.
        environment = {**os.environ, "LD_PRELOAD": library, **SANITIZER_OPTIONS}
        loaded = subprocess.run(["/bin/cat", "/proc/self/maps"], env=environment, check=True,
                                capture_output=True, text=True).stdout
        if os.path.realpath(library) not in loaded:
            raise SystemExit(f"cannot preload {library}")
    first_library = library


def parse_files():
    """The files that the command line of a test names, as absolute paths, and its other arguments."""
    parser = argparse.ArgumentParser()
    for name in ("attune", "attune-library", "library", "caller"):
        parser.add_argument(f"--{name}", required=True, type=os.path.abspath)
    add_preload(parser)
    files, rest = parser.parse_known_args()
    set_preload(files.preload)
    return files, rest


def is_sanitized():
    """Returns True if --preload names the runtime of a sanitizer."""
    return re.match(r"lib[at]san\.", os.path.basename(first_library or "")) is not None


def skip_sanitized(reason):
    """Decorates a test that cannot run with the runtime of a sanitizer."""
    def decorate(test):
        @functools.wraps(test)
        def run_or_skip(self):
            if is_sanitized():
                raise unittest.SkipTest(reason)
            test(self)
        return run_or_skip
    return decorate


def preloads(*libraries):
    """Returns the value of LD_PRELOAD that has `libraries` after the one of --preload."""
    return ":".join(library for library in (first_library, *libraries) if library)


def preloads_as_verb(library):
    """Returns the value of LD_PRELOAD that `attune blas` sets for a program with --preload."""
    return ":".join(filter(None, (library, first_library)))


def outside_environment():
    """The environment of this process without attune's variables and preloaded libraries. The
    allocator of --preload is preloaded. The runtime of a sanitizer is not: with GCC 12 and Debian 12,
    ThreadSanitizer crashes shells, and with AddressSanitizer every program that has libp11-kit, as
    attune has, and calls strerror() waits for ever at its exit."""
    environment = {key: value for key, value in os.environ.items()
                   if not key.startswith("ATTUNE_") and key != "LD_PRELOAD"}
    if is_sanitized():
        environment.update(SANITIZER_OPTIONS)
    elif first_library is not None:
        environment["LD_PRELOAD"] = first_library
    return environment


def run(*command, timeout_s=180, folder=None, **variables):
    """The finished process; of attune's variables it has those given, no database and no policy."""
    environment = outside_environment()
    environment.update(ATTUNE_DB="", ATTUNE_POLICY="never")
    environment.update(variables)
    return subprocess.run(command, env=environment, capture_output=True, text=True,
                          timeout=timeout_s, cwd=folder)


def attuned(attune, *command, **variables):
    return run(attune, "blas", "--stats", "--", *command, **variables)


def preload_environment(interposer, files, is_preloaded=True, **variables):
    """With the preload library of `interposer` ("blas", "cublas") before all others, on the run time of
    `files`, whichever of attune's variables are set outside."""
    environment = outside_environment()
    prefix = f"ATTUNE_{interposer.upper()}"
    environment.update({f"{prefix}_RUNTIME": files.runtime, f"{prefix}_STATS": "1"})
    if is_preloaded:
        environment["LD_PRELOAD"] = preloads(files.library)
    environment.update(variables)
    return environment


def preload(interposer, files, *command, is_preloaded=True, timeout_s=60, **variables):
    """The finished process with preload_environment()."""
    environment = preload_environment(interposer, files, is_preloaded, **variables)
    return subprocess.run(command, env=environment, capture_output=True, text=True,
                          timeout=timeout_s)


def summary(process):
    """{"served": 3, "empty": 1, ...} out of the last summary line of a preload library."""
    lines = re.findall(r"(\d+) calls served, (\d+) passed on(?: \((.*)\))?\.", process.stderr)
    if not lines:
        raise AssertionError(f"no summary in: {process.stderr!r}")
    served_count, passed, reasons = lines[-1]
    counts = {"served": int(served_count), "passed": int(passed)}
    for count, name in re.findall(r"(\d+) ([a-z ]+)", reasons or ""):
        counts[name] = int(count)
    return counts


def served(process):
    """How many calls attune served in `process` and its children."""
    return sum(int(n) for n in re.findall(r"(\d+) calls served", process.stderr))
