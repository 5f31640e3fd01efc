#!/usr/bin/env python3
"""attune in programs with other allocators, sanitizers, OpenMP runtimes, and functions of their own
that have names of a BLAS or of the libraries of attune. Every result is checked. Every program must
end as it does without attune, and as soon.

  guests.py --attune PROGRAM --include FOLDER --runtime LIBRARY --libraries FOLDER [unittest's options]

--runtime is libattune.so, --libraries the folder of the system's libraries. Programs are compiled
while the test runs. Tests print a skip for software that is not installed.
"""

import argparse
import collections
import dataclasses
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import unittest

OPTIONS = None
SOURCES = pathlib.Path(__file__).parent
ALLOCATORS = {"libjemalloc.so.2": "libjemalloc2",
              "libtcmalloc_minimal.so.4": "libtcmalloc-minimal4",
              "libmimalloc.so.2.0": "libmimalloc2.0"}
# Solvers of other names have attune's own code.
LIBRARIES = ("openblas", "blis", "onednn", "libxsmm", "eigen")
BLIS = ("blis-pthread/libblis.so.4", "libblis4-pthread")
RIGHT = "all products are right"
# The sanitizers of GCC and Clang. Debian has no runtime package for each compiler.
SANITIZERS = ("address", "thread")
# LeakSanitizer up to GCC 12 and Clang 14 misreads thread-local variables of libraries that were opened
# late. ThreadSanitizer reports false races in libraries that are compiled without it.
# By default it also waits for a second at the exit of a process with threads.
SANITIZED = {"ASAN_OPTIONS": "intercept_tls_get_addr=0",
             "TSAN_OPTIONS": "ignore_noninstrumented_modules=1,atexit_sleep_ms=0"}
LONGEST_EXIT_S = 0.5           # More than without attune (docs/serving.md).
RUNS = 3                       # If one run was too slow, the medians of so many decide.


def skip(reason):
    print(f"SKIPPED: {reason}", file=sys.stderr)
    raise unittest.SkipTest(reason)


def library(name, package):
    path = pathlib.Path(OPTIONS.libraries, name)
    if not path.exists():
        skip(f"{path} is not there (Debian package {package})")
    return str(path)


def sanitizer_runtime(sanitizer):
    """Returns the runtime of GCC."""
    name = f"lib{sanitizer[0]}san.so"
    path = subprocess.run(("gcc", f"-print-file-name={name}"), capture_output=True,
                          text=True).stdout.strip()
    if not os.path.isabs(path):
        skip(f"GCC has no {name}")
    return os.path.realpath(path)


def run(*command, timeout_s=120, **variables):
    environment = {key: value for key, value in os.environ.items()
                   if not key.startswith(("ATTUNE_", "LD_", "ASAN_", "LSAN_", "TSAN_"))}
    # Idle OpenMP threads would occupy cores that others need.
    environment.update({"ATTUNE_DB": "", "ATTUNE_POLICY": "never", "OMP_WAIT_POLICY": "passive",
                        **variables})
    process = subprocess.run(command, env=environment, capture_output=True, text=True,
                             timeout=timeout_s)
    process.ended_s = time.monotonic()
    return process


@dataclasses.dataclass(frozen=True)
class Choice:
    """The forced solver of each problem: {problem: solver}."""
    solvers: dict

    def __str__(self):
        return "; ".join(f"{problem} -> {solver}" for problem, solver in self.solvers.items())


def misses(printed):
    """Returns {problem: {solver, ...}} out of what api_guest.c prints."""
    found = collections.defaultdict(set)
    for problem, solver in re.findall(r"miss: (\S+) -> ([^\s@]+)", printed):
        found[re.sub(r",align=\d+", "", problem)].add(solver)
    return found


def of_problems(choices, pattern):
    """Returns the choices without problems that `pattern` does not match, each once."""
    kept = [{problem: solver for problem, solver in choice.solvers.items() if re.match(pattern, problem)}
            for choice in choices]
    return [Choice(solvers) for number, solvers in enumerate(kept)
            if solvers and solvers not in kept[:number]]


def one_of_each_library(choices):
    return list({implementation(next(iter(choice.solvers.values()))): choice
                 for choice in choices}.values())


def host_solvers(*arguments):
    listed = run(OPTIONS.attune, "solvers", "--json", *arguments)
    if listed.returncode != 0:
        raise RuntimeError(f"cannot list the solvers: {listed.stderr}")
    return [solver for solver in json.loads(listed.stdout) if solver["backend"] == "host"]


def implementation(solver):
    name = re.match(r"host\.(?:im2col-|conv1x1-)?([a-z]+)", solver)[1]
    return name if name in LIBRARIES else "attune"


def find_choices(program):
    """Returns choices that have every solver of the processor for every problem of api_guest.c to
    which it applies. One choice has the solvers of one library, or those of attune. Raises
    AssertionError if a solver of the build applies to no problem, unless its library is missing."""
    listed = {problem: host_solvers("--problem", problem)
              for problem in sorted(misses(run(program).stdout))}
    solvers = {problem: [solver["name"] for solver in answers if solver["applicable"]]
               for problem, answers in listed.items()}
    missing = {solver["name"] for answers in listed.values() for solver in answers
               if "The Debian package" in solver["reason"]}
    found = []
    for name in (*LIBRARIES, "attune"):
        own = {problem: [solver for solver in applicable if implementation(solver) == name]
               for problem, applicable in solvers.items()}
        for number in range(max(map(len, own.values()))):
            found.append(Choice({problem: names[number % len(names)]
                                 for problem, names in own.items() if names}))
    forced = set().union(*(choice.solvers.values() for choice in found))
    for solver in sorted(missing - forced):
        print(f"SKIPPED: {solver}, because its library is not installed", file=sys.stderr)
    left_out = {solver["name"] for solver in host_solvers()} - forced - missing
    if left_out:
        raise AssertionError(f"api_guest.c has no problem for {', '.join(sorted(left_out))}")
    return found


def exit_s(process):
    """Returns the seconds from the last check of a guest to its end; 0 if it does not print the time."""
    end = re.search(r"^end: ([\d.]+)$", process.stdout, re.MULTILINE)
    return process.ended_s - float(end[1]) if end else 0


class Guests(unittest.TestCase):
    """Compiles programs into a temporary folder."""

    found = None  # The choices, once they are known.

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
                            str(runtime), f"-Wl,-rpath,{runtime.parent}", "-lpthread", "-lm",
                            compiler=compiler)

    def blas_guest(self, name, *arguments, compiler="gcc", source="blas_guest.c",
                   blas=("libopenblas.so.0", "libopenblas0-pthread")):
        path = library(*blas)
        return self.compile(name, *arguments, str(SOURCES / source), "-Wl,--no-as-needed", path,
                            f"-Wl,-rpath,{os.path.dirname(path)}", "-lpthread", compiler=compiler)

    def choices(self):
        if Guests.found is None:
            Guests.found = find_choices(self.api_guest("plain"))
        return Guests.found

    def check(self, *command, under_attune=False, choice=None, **variables):
        """Returns the output of a guest, which must succeed and exit soon. With a choice, each solver
        of it must serve its problem."""
        bare = command
        if under_attune:
            command = (OPTIONS.attune, "blas", "--stats", "--", *command)
        variables.update(SHOW_END="1", ATTUNE_SUMMARY="1")
        if choice is not None:
            variables["ATTUNE_FORCE"] = str(choice)
        process = run(*command, **variables)
        said = f"{command} with {variables}: {process.returncode}\n{process.stdout}{process.stderr}"
        self.assertEqual(process.returncode, 0, said)
        self.assertIn(RIGHT, process.stdout, said)
        if under_attune:
            self.assertRegex(process.stderr, r" [1-9]\d* calls served", said)
        if choice is not None and under_attune:
            forced = re.search(r" misses \((\d+) forced", process.stderr)
            self.assertTrue(forced and int(forced[1]) >= len(choice.solvers), said)
        elif choice is not None:
            served = misses(process.stdout)
            self.assertEqual({problem: {solver} for problem, solver in choice.solvers.items()},
                             {problem: served[problem] for problem in choice.solvers}, said)
        self.check_exit(exit_s(process), command, bare, variables)
        return process.stdout + process.stderr

    def check_policies(self, api_guest, blas_guest, **variables):
        """Tuning and recording in the background, and a database that attune cannot use."""
        for policy in ("deferred", "record", "unusable"):
            for program in (api_guest, blas_guest):
                # A tuner that ends with its program may still write.
                with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
                    database = pathlib.Path(folder, "attune.db")
                    if policy == "unusable":
                        database.write_text("a text of the user")
                    self.check(program, under_attune=program == blas_guest,
                               ATTUNE_DB=str(database), XDG_CACHE_HOME=folder,
                               ATTUNE_POLICY=policy.replace("unusable", "deferred"), **variables)

    def check_exit(self, took_s, command, bare, variables):
        """The exit may take a bit longer than without attune. A busy machine can delay some exits."""
        if took_s <= LONGEST_EXIT_S:
            return
        alone = {**variables, "ATTUNE_FORCE": "", "WITHOUT_ATTUNE": "1"}
        limit_s = LONGEST_EXIT_S + statistics.median(exit_s(run(*bare, **alone)) for _ in range(RUNS))
        if took_s > limit_s:
            took_s = statistics.median(exit_s(run(*command, **variables)) for _ in range(RUNS))
        self.assertLessEqual(took_s, limit_s, f"exit of {command} with {variables}")


class Allocators(Guests):
    def test_preloaded_with_every_solver(self):
        program = self.api_guest("api")
        for name, package in ALLOCATORS.items():
            with self.subTest(name):
                preload = library(name, package)
                for choice in (None, *self.choices()):
                    self.check(program, LD_PRELOAD=preload, choice=choice)

    def test_a_run_time_that_is_left_to_the_exit(self):
        program = self.api_guest("api")
        for name, package in ALLOCATORS.items():
            with self.subTest(name):
                preload = library(name, package)
                for choice in (None, *one_of_each_library(self.choices())):
                    self.check(program, LD_PRELOAD=preload, choice=choice, LEAVE_RUNTIME="1")

    def test_preloaded_under_the_blas_interposer(self):
        program = self.blas_guest("blas")
        for name, package in ALLOCATORS.items():
            with self.subTest(name):
                preload = library(name, package)
                for choice in (None, *of_problems(self.choices(), "gemm@")):
                    self.check(program, under_attune=True, LD_PRELOAD=preload, choice=choice)

    def test_with_each_policy(self):
        programs = self.api_guest("api"), self.blas_guest("blas")
        for name, package in ALLOCATORS.items():
            with self.subTest(name):
                self.check_policies(*programs, LD_PRELOAD=library(name, package))

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
        script = ("import numpy, time\n"
                  "for type in (numpy.float32, numpy.float64):\n"
                  "    a = numpy.ones((9, 9), type)\n"
                  "    assert ((a @ (a * 2)) == 18).all()\n"
                  f"print('{RIGHT}', f'end: {{time.monotonic()}}', sep='\\n')")
        for name, package in ALLOCATORS.items():
            with self.subTest(name):
                preload = library(name, package)
                for choice in (None, *of_problems(self.choices(), "gemm@1{m=9,n=9,k=9[,}]")):
                    self.check(python, "-c", script, under_attune=True, LD_PRELOAD=preload,
                               choice=choice)


class Sanitizers(Guests):
    def check_sanitized(self, program, sanitizer, choice=None, **how):
        # ThreadSanitizer ends a child that starts a thread, as our solvers do.
        fork = {"NO_FORK": "1"} if sanitizer == "thread" and choice else {}
        self.check(program, choice=choice, **SANITIZED, **fork, **how)

    def check_all(self, api_guest, blas_guest, sanitizer, choices, **variables):
        self.check_sanitized(api_guest, sanitizer, PRODUCTS_ALONE="1", **variables)
        for choice in choices:
            self.check_sanitized(api_guest, sanitizer, choice, **variables)
        for choice in one_of_each_library(choices):
            self.check_sanitized(api_guest, sanitizer, choice, LEAVE_RUNTIME="1", **variables)
        for choice in (None, *one_of_each_library(of_problems(choices, "gemm@"))):
            self.check_sanitized(blas_guest, sanitizer, choice, under_attune=True, **variables)
        # ThreadSanitizer ends a child that starts a thread.
        self.check_policies(api_guest, blas_guest, **SANITIZED, **variables,
                            **({"NO_FORK": "1"} if sanitizer == "thread" else {}))

    def check_compiler(self, compiler):
        for sanitizer in SANITIZERS:
            flag = f"-fsanitize={sanitizer}"
            with self.subTest(f"{compiler} {flag}"):
                self.check_all(self.api_guest(f"api-{sanitizer}", flag, compiler=compiler),
                               self.blas_guest(f"blas-{sanitizer}", flag, compiler=compiler),
                               sanitizer, self.choices())

    def test_gcc(self):
        self.check_compiler("gcc")

    def test_clang(self):
        self.check_compiler("clang")

    def test_without_options_of_the_sanitizers(self):
        for sanitizer in SANITIZERS:
            # ThreadSanitizer cannot see that threads of OpenBLAS wait for each other. It does see
            # their calls of memset(), and reports a race.
            alone = {"OPENBLAS_NUM_THREADS": "1"} if sanitizer == "thread" else {}
            with self.subTest(sanitizer):
                # oneDNN computes convolutions, and needs an option for LeakSanitizer.
                self.check(self.api_guest(f"plain-{sanitizer}", f"-fsanitize={sanitizer}"),
                           PRODUCTS_ALONE="1", **alone)
                self.check(self.blas_guest(f"plain-blas-{sanitizer}", f"-fsanitize={sanitizer}"),
                           under_attune=True, **alone)

    def test_preloaded_in_front_of_programs_without(self):
        """LeakSanitizer works in them, too."""
        for sanitizer in SANITIZERS:
            with self.subTest(sanitizer):
                self.check_all(self.api_guest("api"), self.blas_guest("blas"), sanitizer,
                               one_of_each_library(self.choices()),
                               LD_PRELOAD=sanitizer_runtime(sanitizer))


class OpenMp(Guests):
    """The program's OpenMP runtime beside libgomp, which oneDNN and some builds of BLIS and OpenBLAS
    use."""

    def test_the_runtime_of_llvm_in_the_program(self):
        program = self.blas_guest("llvm", "-fopenmp", compiler="clang", source="openmp_guest.c")
        for choice in (None, *of_problems(self.choices(), "gemm@")):
            self.check(program, under_attune=True, choice=choice)
            if choice and "onednn" in str(choice):
                self.check(program, under_attune=True, choice=choice, OMP_DYNAMIC="true")

    def test_the_runtime_of_gcc_in_the_program(self):
        program = self.blas_guest("gcc", "-fopenmp", source="openmp_guest.c")
        for choice in (None, *of_problems(self.choices(), "gemm@")):
            # A forked child waits for the threads of libgomp for ever, even without attune.
            self.check(program, under_attune=True, choice=choice, NO_FORK="1")


class Threads(Guests):
    def test_a_thread_that_is_cancelled_leaves_nothing_locked(self):
        program = self.blas_guest("cancel", source="cancel_guest.c")
        for solver in ("", "host.packed-gemm", "host.blis-gemm"):
            self.check(program, under_attune=True, ATTUNE_FORCE=solver)


class Names(Guests):
    """The binding of a library in a program that also defines its names."""

    def test_the_programs_own_functions_are_never_called(self):
        program = self.api_guest("names", "-rdynamic", str(SOURCES / "blas_names.c"))
        for choice in (None, *self.choices()):
            self.check(program, choice=choice)

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


class Libraries(Guests):
    """Programs that export functions of the libraries that attune calls."""

    # The function, and the library that attune has it from. attune calls some of them, and the
    # libraries themselves call the others.
    FUNCTIONS = {"XXH3_128bits": "libxxhash", "XXH3_64bits": "libxxhash",
                 "XXH3_64bits_reset": "libxxhash", "sqlite3_errmsg": "libsqlite3",
                 "sqlite3_step": "libsqlite3", "sqlite3_value_text": "libsqlite3",
                 "inflate": "libz", "crc32": "libz", "EVP_Digest": "libcrypto",
                 "EVP_MD_CTX_new": "libcrypto", "BZ2_bzDecompress": "libbz2",
                 "_ZN4soci7sessionD1Ev": "libsoci_core"}

    def fmt_function(self):
        """A function that attune calls. Its name has the version of fmt."""
        names = subprocess.run(("nm", "-D", "--undefined-only", OPTIONS.runtime), check=True,
                               capture_output=True, text=True).stdout
        return re.search(r"_ZN3fmt\w*vformat\w*", names)[0]

    def wrong(self, function, *arguments):
        return ("-rdynamic", f"-DNAME={function}", *arguments, str(SOURCES / "library_names.c"))

    def archive(self, name, package):
        """Linker arguments that take all of a static library into the program."""
        path = library(name, package)
        return ("-rdynamic", "-Wl,--whole-archive", path, "-Wl,--no-whole-archive", "-lm")

    def check_left_alone(self, program, *parts, **variables):
        """The program must end as it does alone, after one message that has all parts."""
        alone = run(program, **variables)
        process = run(OPTIONS.attune, "blas", "--", program, **variables)
        said = f"{program}: {process.returncode}\n{process.stdout}{process.stderr}"
        self.assertEqual((process.returncode, process.stdout), (0, alone.stdout), said)
        self.assertEqual(process.stderr.count("\n"), 1, said)
        for part in (*parts, "goes on with its own"):
            self.assertIn(part, process.stderr)

    def check_linked_refuses(self, program, *parts, **variables):
        process = run(program, **variables)
        self.assertEqual(process.returncode, 2, process.stdout + process.stderr)
        for part in ("no run time: ", *parts):
            self.assertIn(part, process.stderr)

    def test_a_program_with_one_function_is_left_alone(self):
        functions = {**self.FUNCTIONS, self.fmt_function(): "libfmt"}
        for function, name in functions.items():
            with self.subTest(function):
                program = self.blas_guest("wrong", *self.wrong(function))
                self.check_left_alone(program, f"Cannot use {name}.so", function, program)

    def test_a_program_that_links_attune_gets_an_error(self):
        for function in ("XXH3_128bits", "crc32", "sqlite3_step"):
            for flag in ("-Wl,-z,lazy", "-Wl,-z,now", "-no-pie"):
                with self.subTest(f"{function} {flag}"):
                    program = self.api_guest("wrong-api", flag, *self.wrong(function))
                    self.check_linked_refuses(program, function, program)
                    self.check_linked_refuses(program, function, program, LD_BIND_NOW="1")

    def test_a_sanitized_program_is_left_alone(self):
        for sanitizer in SANITIZERS:
            with self.subTest(sanitizer):
                flag = f"-fsanitize={sanitizer}"
                program = self.blas_guest("wrong-sanitized", flag, *self.wrong("inflate"))
                self.check_left_alone(program, "Cannot use libz.so", "inflate", **SANITIZED)

    def test_a_preloaded_library_with_one_function_is_named(self):
        preload = self.compile("wrong.so", "-shared", "-fPIC", *self.wrong("deflate"))
        self.check_left_alone(self.blas_guest("blas"), "Cannot use libz.so", preload,
                              LD_PRELOAD=preload)

    def test_a_function_that_attune_never_reaches_is_no_obstacle(self):
        self.check(self.blas_guest("unused", *self.wrong("XXH64")), under_attune=True)

    def test_a_program_with_a_whole_library_is_served(self):
        archives = {"libsqlite3.a": "libsqlite3-dev", "libxxhash.a": "libxxhash-dev",
                    "libz.a": "zlib1g-dev", "libbz2.a": "libbz2-dev", "libcrypto.a": "libssl-dev"}
        for name, package in archives.items():
            with self.subTest(name):
                whole = self.archive(name, package)
                self.check(self.blas_guest("whole", *whole), under_attune=True)
                self.check(self.api_guest("whole-api", *whole))

    def test_a_program_with_its_own_sqlite_reads_records(self):
        database = f"{self.folder.name}/records.db"
        tuned = run(OPTIONS.attune, "tune", "--problem", "gemm@1{m=9,n=9,k=9}",
                    "--per-problem", "0", "--db", database)
        self.assertEqual(tuned.returncode, 0, tuned.stdout + tuned.stderr)
        program = self.blas_guest("own-sqlite", *self.archive("libsqlite3.a", "libsqlite3-dev"))
        self.check(program, under_attune=True, ATTUNE_DB=database)

    def test_a_program_with_an_old_sqlite_is_left_alone(self):
        archive = library("libsqlite3.a", "libsqlite3-dev")
        weakened = f"{self.folder.name}/libweak.a"
        subprocess.run(("objcopy", "-W", "sqlite3_libversion_number", archive, weakened), check=True)
        program = self.blas_guest("old", str(SOURCES / "old_sqlite.c"), "-rdynamic",
                                  "-Wl,--whole-archive", weakened, "-Wl,--no-whole-archive", "-lm")
        self.check_left_alone(program, "Cannot use libsqlite3.so", program)

    def test_a_program_with_its_own_fmt_is_served(self):
        program = self.blas_guest("fmt", "-rdynamic", str(SOURCES / "own_fmt.cc"), "-lstdc++")
        self.assertIn("fmt of the program", self.check(program, under_attune=True))


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
