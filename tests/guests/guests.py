#!/usr/bin/env python3
"""attune in programs with other allocators, sanitizers, OpenMP runtimes, and functions of their own
that have names of a BLAS. Every product is checked. Every program must end as it does without attune.

  guests.py --attune PROGRAM --include FOLDER --runtime LIBRARY --libraries FOLDER [unittest's options]

--runtime is libattune.so, --libraries the folder of the system's libraries. Programs are compiled
while the test runs. Tests print a skip for software that is not installed.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

OPTIONS = None
SOURCES = pathlib.Path(__file__).parent
ALLOCATORS = {"libjemalloc.so.2": "libjemalloc2",
              "libtcmalloc_minimal.so.4": "libtcmalloc-minimal4",
              "libmimalloc.so.2.0": "libmimalloc2.0"}
SOLVERS = ("host.openblas-gemm", "host.blis-gemm", "host.libxsmm-gemm", "host.eigen-gemm",
           "host.packed-gemm", "host.reference-gemm")
BLIS = ("blis-pthread/libblis.so.4", "libblis4-pthread")
RIGHT = "all products are right"
# The sanitizers of GCC and Clang. Debian has no runtime package for each compiler.
SANITIZERS = ("address", "thread")
# LeakSanitizer up to GCC 12 and Clang 14 misreads thread-local variables of libraries that were opened
# late. ThreadSanitizer reports false races in libraries that are compiled without it.
SANITIZED = {"ASAN_OPTIONS": "intercept_tls_get_addr=0",
             "TSAN_OPTIONS": "ignore_noninstrumented_modules=1"}


def skip(reason):
    print(f"SKIPPED: {reason}", file=sys.stderr)
    raise unittest.SkipTest(reason)


def library(name, package):
    path = pathlib.Path(OPTIONS.libraries, name)
    if not path.exists():
        skip(f"{path} is not there (Debian package {package})")
    return str(path)


def run(*command, timeout_s=120, **variables):
    environment = {key: value for key, value in os.environ.items()
                   if not key.startswith(("ATTUNE_", "LD_", "ASAN_", "LSAN_", "TSAN_"))}
    # Idle OpenMP threads would occupy cores that others need.
    environment.update(ATTUNE_DB="", ATTUNE_POLICY="never", OMP_WAIT_POLICY="passive", **variables)
    return subprocess.run(command, env=environment, capture_output=True, text=True,
                          timeout=timeout_s)


class Guests(unittest.TestCase):
    """Compiles programs into a temporary folder."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def compile(self, name, *arguments, compiler="gcc"):
        if shutil.which(compiler) is None:
            skip(f"{compiler} is not installed")
        program = f"{self.folder.name}/{name}"
        command = (compiler, "-g", "-O1", "-D_GNU_SOURCE", *arguments, "-o", program)
        compiled = subprocess.run(command, capture_output=True, text=True)
        if "cannot find" in compiled.stderr or "unable to find library" in compiled.stderr:
            skip(f"{compiler} cannot link {name}: {compiled.stderr.splitlines()[0]}")
        self.assertEqual(compiled.returncode, 0, compiled.stderr)
        return program

    def api_guest(self, name, *arguments, compiler="gcc"):
        runtime = pathlib.Path(OPTIONS.runtime)
        return self.compile(name, f"-I{OPTIONS.include}", *arguments, str(SOURCES / "api_guest.c"),
                            str(runtime), f"-Wl,-rpath,{runtime.parent}", "-lpthread",
                            compiler=compiler)

    def blas_guest(self, name, *arguments, compiler="gcc", source="blas_guest.c",
                   blas=("libopenblas.so.0", "libopenblas0-pthread")):
        path = library(*blas)
        return self.compile(name, *arguments, str(SOURCES / source), "-Wl,--no-as-needed", path,
                            f"-Wl,-rpath,{os.path.dirname(path)}", "-lpthread", compiler=compiler)

    def check(self, *command, under_attune=False, **variables):
        """Returns the output of a guest, which must succeed."""
        if under_attune:
            command = (OPTIONS.attune, "blas", "--stats", "--", *command)
        process = run(*command, **variables)
        said = f"{command} with {variables}: {process.returncode}\n{process.stdout}{process.stderr}"
        self.assertEqual(process.returncode, 0, said)
        self.assertIn(RIGHT, process.stdout, said)
        if under_attune:
            self.assertRegex(process.stderr, r" [1-9]\d* calls served", said)
        return process.stdout + process.stderr


class Allocators(Guests):
    def test_preloaded_with_every_solver(self):
        program = self.api_guest("api")
        for name, package in ALLOCATORS.items():
            with self.subTest(name):
                preload = library(name, package)
                for solver in SOLVERS:
                    self.check(program, LD_PRELOAD=preload, ATTUNE_FORCE=solver)

    def test_preloaded_under_the_blas_interposer(self):
        program = self.blas_guest("blas")
        for name, package in ALLOCATORS.items():
            with self.subTest(name):
                preload = library(name, package)
                for solver in ("", "host.blis-gemm"):
                    self.check(program, under_attune=True, LD_PRELOAD=preload, ATTUNE_FORCE=solver)

    def test_linked(self):
        for name, package in ALLOCATORS.items():
            with self.subTest(name):
                linked = ("-Wl,--no-as-needed", library(name, package))
                self.check(self.api_guest("api", *linked))
                self.check(self.blas_guest("blas", *linked), under_attune=True)

    def test_numpy(self):
        python = "/usr/bin/python3"
        if run(python, "-c", "import numpy").returncode != 0:
            skip("NumPy is not installed (Debian package python3-numpy)")
        script = ("import numpy as np; a = np.ones((9, 9)); "
                  f"print('{RIGHT}' if ((a @ (a * 2)) == 18).all() else 'wrong')")
        for name, package in ALLOCATORS.items():
            with self.subTest(name):
                preload = library(name, package)
                for solver in ("", *SOLVERS):
                    self.check(python, "-c", script, under_attune=True, LD_PRELOAD=preload,
                               ATTUNE_FORCE=solver)


class Sanitizers(Guests):
    def check_sanitized(self, program, sanitizer, solver, **how):
        # ThreadSanitizer ends a child that starts a thread, as our solvers do.
        fork = {"NO_FORK": "1"} if sanitizer == "thread" and solver else {}
        self.check(program, ATTUNE_FORCE=solver, **SANITIZED, **fork, **how)

    def check_compiler(self, compiler):
        for sanitizer in SANITIZERS:
            flag = f"-fsanitize={sanitizer}"
            with self.subTest(f"{compiler} {flag}"):
                program = self.api_guest(f"api-{sanitizer}", flag, compiler=compiler)
                for solver in ("", *SOLVERS):
                    self.check_sanitized(program, sanitizer, solver)
                program = self.blas_guest(f"blas-{sanitizer}", flag, compiler=compiler)
                for solver in ("", "host.blis-gemm"):
                    self.check_sanitized(program, sanitizer, solver, under_attune=True)

    def test_gcc(self):
        self.check_compiler("gcc")

    def test_clang(self):
        self.check_compiler("clang")

    def test_without_options_of_the_sanitizers(self):
        for sanitizer in SANITIZERS:
            with self.subTest(sanitizer):
                self.check(self.api_guest(f"plain-{sanitizer}", f"-fsanitize={sanitizer}"))
                self.check(self.blas_guest(f"plain-blas-{sanitizer}", f"-fsanitize={sanitizer}"),
                           under_attune=True)

    def test_preloaded_in_front_of_a_program_without(self):
        runtime = subprocess.run(("gcc", "-print-file-name=libasan.so"), capture_output=True,
                                 text=True).stdout.strip()
        if not os.path.isabs(runtime):
            skip("GCC has no libasan.so")
        self.check(self.blas_guest("blas"), under_attune=True, LD_PRELOAD=os.path.realpath(runtime))


class OpenMp(Guests):
    """The program's OpenMP runtime beside libgomp, which oneDNN and some builds of BLIS and OpenBLAS
    use."""

    def test_the_runtime_of_llvm_in_the_program(self):
        program = self.blas_guest("llvm", "-fopenmp", compiler="clang", source="openmp_guest.c")
        for solver in ("", "host.openblas-gemm", "host.blis-gemm"):
            self.check(program, under_attune=True, ATTUNE_FORCE=solver)
        # oneDNN has no double precision.
        onednn = "gemm@1{m=130,n=65,k=70} -> host.onednn-gemm"
        self.check(program, under_attune=True, ATTUNE_FORCE=onednn)
        self.check(program, under_attune=True, ATTUNE_FORCE=onednn, OMP_DYNAMIC="true")

    def test_the_runtime_of_gcc_in_the_program(self):
        program = self.blas_guest("gcc", "-fopenmp", source="openmp_guest.c")
        for solver in ("", "host.blis-gemm"):
            # A forked child waits for the threads of libgomp for ever, even without attune.
            self.check(program, under_attune=True, ATTUNE_FORCE=solver, NO_FORK="1")


class Threads(Guests):
    def test_a_thread_that_is_cancelled_leaves_nothing_locked(self):
        program = self.blas_guest("cancel", source="cancel_guest.c")
        for solver in ("", "host.packed-gemm", "host.blis-gemm"):
            self.check(program, under_attune=True, ATTUNE_FORCE=solver)


class Names(Guests):
    """The binding of a library in a program that also defines its names."""

    def test_the_programs_own_functions_are_never_called(self):
        program = self.api_guest("names", "-rdynamic", str(SOURCES / "blas_names.c"))
        for solver in ("", *SOLVERS):
            self.check(program, ATTUNE_FORCE=solver)

    def refused(self, define, solver, status=3):
        """Returns the messages if `solver` is forced. Otherwise another solver serves."""
        program = self.api_guest("taken", "-rdynamic", f"-D{define}", str(SOURCES / "blas_names.c"))
        self.check(program)
        process = run(program, ATTUNE_FORCE=solver)
        self.assertEqual(process.returncode, status, process.stdout + process.stderr)
        return process.stderr

    def test_a_program_with_the_state_of_a_library_keeps_it_out(self):
        said = self.refused("STATE_OF_OPENBLAS", "host.openblas-gemm")
        self.assertIn("taken does not export openblas_set_num_threads", said)

    def test_a_program_with_a_function_of_that_name_is_not_asked(self):
        said = self.refused("VERSION_OF_OPENBLAS", "host.openblas-gemm")
        self.assertIn("taken does not export openblas_set_num_threads", said)

    def test_a_program_with_another_onednn_keeps_ours_out(self):
        said = self.refused("STATE_OF_ONEDNN", "host.onednn-gemm", status=2)
        self.assertIn("there is no solver 'host.onednn-gemm' here", said)

    def test_a_program_with_a_part_of_a_library_keeps_it_out(self):
        library(*BLIS)
        said = self.refused("PART_OF_BLIS", "host.blis-gemm")
        self.assertIn("bli_gemm_ex is bound to that of ", said)

    def guest_with_own_blis(self):
        """Returns a program and the copy of BLIS in a separate folder that it is linked with."""
        own = f"{self.folder.name}/own"
        os.makedirs(own, exist_ok=True)
        shutil.copy(library(*BLIS), own)
        copy = f"{own}/libblis.so.4"
        return self.blas_guest("own-blis", blas=(copy, "")), copy

    def test_the_programs_own_copy_of_a_library_is_used(self):
        program, copy = self.guest_with_own_blis()
        said = self.check(program, under_attune=True, ATTUNE_FORCE="host.blis-gemm",
                          SHOW_OBJECTS="libblis", NO_FORK="1")
        self.assertEqual([line for line in said.splitlines() if line.startswith("object ")],
                         [f"object {copy}"])

    def test_the_programs_own_copy_is_not_taken_for_one_that_the_user_names(self):
        program, copy = self.guest_with_own_blis()
        other = library(*BLIS)
        process = run(OPTIONS.attune, "blas", "--", program, ATTUNE_FORCE="host.blis-gemm",
                      ATTUNE_BLIS=other)
        self.assertNotEqual(process.returncode, 0)
        self.assertIn(f"Cannot load {other} beside {copy}", process.stderr)

    def test_a_second_copy_is_not_loaded_for_calls_that_are_passed_on(self):
        program, copy = self.guest_with_own_blis()
        other = library(*BLIS)
        process = run(OPTIONS.attune, "blas", "--", program, ATTUNE_BLAS_REAL=other)
        self.assertNotEqual(process.returncode, 0)
        self.assertIn(f"ATTUNE_BLAS_REAL is '{other}', which cannot be loaded beside {copy}",
                      process.stderr)


class ThreadLocals(Guests):
    """A program that has used up the thread-local memory for libraries that are opened late, such as
    libgomp."""

    def test_libraries_that_find_no_room_are_not_served(self):
        eater = self.compile("eater.so", "-shared", "-fPIC", str(SOURCES / "eater.c"))
        eaters = f"{self.folder.name}/eaters"
        os.mkdir(eaters)
        for i in range(60):
            shutil.copy(eater, f"{eaters}/eater{i}.so")
        program = self.api_guest("eating")
        self.assertIn("nothing is left", self.check(program, EAT_TLS=eaters))
        process = run(program, EAT_TLS=eaters,
                      ATTUNE_FORCE="gemm@1{m=9,n=9,k=9} -> host.onednn-gemm")
        self.assertEqual(process.returncode, 2, process.stdout + process.stderr)
        self.assertIn("there is no solver 'host.onednn-gemm' here", process.stderr)


def main():
    global OPTIONS
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("attune", "include", "runtime", "libraries"):
        parser.add_argument(f"--{name}", required=True)
    OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
