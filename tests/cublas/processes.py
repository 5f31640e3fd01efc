#!/usr/bin/env python3
"""The preload library for cuBLAS in processes of its own: what is served and what is passed on.

  processes.py --attune PROGRAM --library libattune_cublas.so --runtime DOUBLE
               --caller PROGRAM --host PROGRAM --prober PROGRAM --cublas LIBRARY
               --plugin PLUGIN --plugin PLUGIN

The caller has a cuBLAS, tests/cublas/stand_in_cublas.cc; the host has none and opens plug-ins that
have one each; the prober has none, and looks for one by dlsym(). The driver is tests/cublas/stand_in_driver.cc, the run time
tests/cublas/runtime_double.cc. The real cuBLAS is called, too, where it is, without a GPU.
"""

import argparse
import ctypes
import os
import re
import signal
import subprocess
import sys
import unittest

import interposers
from interposers import summary

FILES = None
# Every name under which the library has a product.
NAMES = 13
# A product by a null handle; prints its status.
REAL_CUBLAS = """
import ctypes
ctypes.CDLL("libcublas.so.13", mode=ctypes.RTLD_GLOBAL)
one, c = ctypes.c_float(1), ctypes.c_float(-1)
arguments = [None, 0, 0, 1, 1, 1, one, one, 1, one, 1, one, c, 1]
as_they_are = [ctypes.byref(x) if isinstance(x, ctypes.c_float) else x for x in arguments]
print(ctypes.CDLL(None).cublasSgemm_v2(*as_they_are), c.value)
"""


def run(*command, preload=True, **variables):
    return interposers.preload("cublas", FILES, *command, is_preloaded=preload, timeout_s=120,
                         **{"STAND_IN_SAYS": "1", **variables})


def computed_by_stand_in(process):
    """(products, products by descriptors)"""
    return tuple(int(x) for x in re.search(r"stand-in 1: (\d+) products, (\d+) by descriptors",
                                           process.stderr).groups())


class Tests(unittest.TestCase):
    def check(self, process, counts, real=None):
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual(summary(process), counts, process.stderr)
        if real is not None:
            self.assertEqual(computed_by_stand_in(process), real, process.stderr)


class Serving(Tests):
    def test_every_name_is_served(self):
        self.check(run(FILES.caller, "every"), {"served": NAMES, "passed": 0}, real=(0, 0))

    def test_what_is_not_known_is_passed_in_silence(self):
        process = run(FILES.caller, "every", DOUBLE_KNOWS="nothing")
        self.check(process, {"served": 0, "passed": NAMES, "not tuned": NAMES}, real=(NAMES - 1, 1))
        self.assertEqual(len(process.stderr.splitlines()), 2, process.stderr)

    def test_the_run_time_is_that_of_the_current_device_and_serves_what_is_known(self):
        process = run(FILES.caller, "sgemm", "sgemm", "lt", DOUBLE_SAYS="1", STAND_IN_DEVICE="2")
        self.check(process, {"served": 3, "passed": 0})
        self.assertEqual(re.findall("created: .*", process.stderr),
                         ["created: device cuda:2 known_only 1 policy 1 tag - deterministic 0"])

    def test_threads_that_begin_together_share_one_run_time(self):
        process = run(FILES.caller, "threads", DOUBLE_SAYS="1")
        self.check(process, {"served": 16, "passed": 0})
        self.assertEqual(process.stderr.count("created"), 1, process.stderr)

    def test_a_policy_that_was_asked_for_is_left_to_the_run_time(self):
        process = run(FILES.caller, "sgemm", DOUBLE_SAYS="1", ATTUNE_POLICY="deferred",
                      ATTUNE_DETERMINISTIC="1")
        self.assertIn("policy 0 tag - deterministic 1", process.stderr)

    def test_the_queue_is_the_stream(self):
        process = run(FILES.caller, "sgemm", "lt", "stream=2", "sgemm", "lt", "stream=4096",
                      "sgemm", "lt", DOUBLE_SAYS="1")
        self.check(process, {"served": 6, "passed": 0})
        self.assertEqual(re.findall("queue (.*)", process.stderr),
                         ["0x1", "0x1", "0x2", "0x2", "0x1000", "0x1000"])

    def test_the_math_of_the_handle_counts(self):
        process = run(FILES.caller, "sgemm", "math=3", "sgemm", "math=2", "sgemm", DOUBLE_SAYS="1")
        self.check(process, {"served": 2, "passed": 1, "of other math": 1})
        self.assertEqual(re.findall("math (.)", process.stderr.replace("other math", "")),
                         ["0", "1"])

    def test_a_bias_and_a_relu_are_served(self):
        process = run(FILES.caller, "bias", DOUBLE_SAYS="1")
        self.check(process, {"served": 1, "passed": 0})
        self.assertIn("bias 1 activation 1 alpha -1 beta 0", process.stderr)

    def test_record_serves_as_well(self):
        process = run(FILES.caller, "sgemm", "lt", ATTUNE_CUBLAS="record", ATTUNE_RECORD_TAG="mine",
                      DOUBLE_SAYS="1")
        self.check(process, {"served": 2, "passed": 0})
        self.assertIn("policy 2 tag mine", process.stderr)


class Passing(Tests):
    def test_reasons_are_counted(self):
        process = run(FILES.caller, "gelu", "empty", "int8", "algorithm", "null", "sgemm",
                      "pointers=1", "sgemm")
        self.check(process, {"served": 1, "passed": 6, "with another epilogue": 1, "empty": 1,
                             "of other types": 1, "with an algorithm": 1, "invalid": 1,
                             "with scalars on a device": 1})

    def test_off_passes_everything_and_opens_no_run_time(self):
        process = run(FILES.caller, "every", ATTUNE_CUBLAS="off",
                      ATTUNE_CUBLAS_RUNTIME="/nowhere.so")
        self.check(process, {"served": 0, "passed": NAMES, "switched off": NAMES},
                   real=(NAMES - 1, 1))
        self.assertNotIn("nowhere", process.stderr)

    def test_what_cublas_computes_with_itself_does_not_count(self):
        process = run(FILES.caller, "half", "sgemm", DOUBLE_KNOWS="nothing")
        self.check(process, {"served": 0, "passed": 1, "not tuned": 1}, real=(2, 0))

    def test_calls_from_within_the_run_time_go_to_the_real_one(self):
        process = run(FILES.caller, "sgemm", DOUBLE_CALLS_BACK="1")
        self.check(process, {"served": 1, "passed": 1, "from within a library": 1})

    def test_a_context_of_the_programs_own_is_left_alone(self):
        process = run(FILES.caller, "sgemm", STAND_IN_CONTEXT="own")
        self.check(process, {"served": 0, "passed": 1, "in another context": 1}, real=(1, 0))

    def test_no_run_time_is_created_while_its_stream_is_captured(self):
        process = run(FILES.caller, "stream=4096", "sgemm", STAND_IN_CAPTURES="1", DOUBLE_SAYS="1")
        self.check(process, {"served": 0, "passed": 1, "captured too early": 1}, real=(1, 0))
        self.assertNotIn("created", process.stderr)

    def test_another_streams_capture_is_not_disturbed(self):
        process = run(FILES.caller, "sgemm", STAND_IN_CAPTURES="1", DOUBLE_SAYS="1")
        self.check(process, {"served": 1, "passed": 0})
        relaxed, restored = "2", "0"
        self.assertRegex(process.stderr, f"mode {relaxed}\ncreated: .*\nmode {restored}\n")

    def test_without_a_run_time_the_program_goes_on(self):
        process = run(FILES.caller, "sgemm", "lt", ATTUNE_CUBLAS_RUNTIME="/nowhere.so")
        self.check(process, {"served": 0, "passed": 2, "without a run time": 2}, real=(1, 1))
        self.assertEqual(process.stderr.count("Cannot load /nowhere.so"), 1, process.stderr)
        self.assertIn("attune cublas: Cannot", process.stderr)
        self.assertIn("goes on with its own cuBLAS.", process.stderr)

    def test_a_run_time_that_cannot_be_created_is_said_once(self):
        process = run(FILES.caller, "sgemm", "lt", DOUBLE_FAILS="create")
        self.check(process, {"served": 0, "passed": 2, "without a run time": 2}, real=(1, 1))
        self.assertEqual(process.stderr.count("The stand-in was told to fail."), 1, process.stderr)

    def test_products_that_the_run_time_refuses_are_said_once(self):
        process = run(FILES.caller, "sgemm", "lt", DOUBLE_FAILS="run")
        self.check(process, {"served": 0, "passed": 2, "refused": 2}, real=(1, 1))
        self.assertEqual(process.stderr.count("The stand-in was told to fail."), 1, process.stderr)

    def test_a_forced_choice_is_not_replaced(self):
        for failing in ("create", "run"):
            process = run(FILES.caller, "sgemm", DOUBLE_FAILS=failing, ATTUNE_FORCE="typo")
            self.assertEqual(process.returncode, -signal.SIGABRT, process.stderr)
            self.assertIn("ATTUNE_FORCE is 'typo'", process.stderr)

    def test_an_unknown_switch_ends_the_program(self):
        process = run(FILES.caller, "sgemm", ATTUNE_CUBLAS="sreve")
        self.assertEqual(process.returncode, -signal.SIGABRT)
        self.assertIn("ATTUNE_CUBLAS is 'sreve'. It may be 'serve', 'record' or 'off'.",
                      process.stderr)

    def test_a_child_of_a_computing_parent_uses_the_real_one(self):
        process = run(FILES.caller, "sgemm", "fork", "sgemm", "sgemm")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertIn("0 calls served, 2 passed on (2 after a fork).", process.stderr)


class Libraries(Tests):
    def test_two_versions_in_a_process_are_kept_apart(self):
        for switch, counts in (("off", {"served": 0, "passed": 4, "switched off": 4}),
                               ("serve", {"served": 4, "passed": 0})):
            process = run(FILES.host, *FILES.plugin, ATTUNE_CUBLAS=switch)
            self.assertEqual(process.stdout.split(), ["42"] * 4, process.stderr)
            self.check(process, counts)

    def test_a_program_without_cublas_that_finds_a_name_is_refused_as_without_a_handle(self):
        without = run(FILES.prober, FILES.cublas, preload=False)
        process = run(FILES.prober, FILES.cublas)
        self.assertEqual(process.returncode, 0, process.stderr)
        # CUBLAS_STATUS_NOT_INITIALIZED, until the library is opened.
        self.assertEqual(process.stdout.split(), ["1", "1", "1", "0"], process.stderr)
        self.assertEqual(without.stdout.split(), ["-1"] * 4, without.stderr)
        said = [line for line in process.stderr.splitlines() if "libcublas" in line]
        self.assertEqual(len(said), 1, process.stderr)
        self.assertRegex(said[0], "^attune cublas: cublas(Sgemm_v2|LtMatmul) was called, .*"
                                  "libcublas(Lt)?.so is not loaded.*NOT_INITIALIZED")

    def test_a_library_that_was_named_and_has_not_the_function_ends_the_program(self):
        process = run(FILES.prober, FILES.cublas, ATTUNE_CUBLAS_REAL="libc.so.6")
        self.assertEqual(process.returncode, -signal.SIGABRT, process.stderr)
        self.assertIn("does not define cublas", process.stderr)

    def test_the_real_one_refuses_a_null_handle_as_ever(self):
        try:
            ctypes.CDLL("libcublas.so.13")
        except OSError:
            self.skipTest("there is no cuBLAS here")
        without = run(sys.executable, "-c", REAL_CUBLAS, preload=False)
        process = run(sys.executable, "-c", REAL_CUBLAS)
        self.assertEqual(without.stdout, "1 -1.0\n", without.stderr)
        self.assertEqual(process.stdout, without.stdout, process.stderr)
        self.check(process, {"served": 0, "passed": 1, "invalid": 1})

    def test_it_needs_nothing_but_the_c_library(self):
        needed = subprocess.run(["readelf", "-d", FILES.library], capture_output=True, text=True,
                                check=True).stdout
        self.assertEqual(set(re.findall(r"NEEDED.*\[(.*)\]", needed)) - {"ld-linux-x86-64.so.2"},
                         {"libc.so.6"})

    def test_a_process_without_products_opens_no_run_time(self):
        process = run("/bin/cat", "/proc/self/maps")
        self.assertIn("libattune_cublas.so", process.stdout)
        self.assertNotIn(os.path.basename(FILES.runtime), process.stdout)


class Verb(Tests):
    def attune(self, *arguments, **variables):
        return run(FILES.attune, *arguments, preload=False, **variables)

    def test_the_program_gets_the_switches(self):
        process = self.attune("cublas", "--record", "mine", "--", "sh", "-c",
                              "echo $LD_PRELOAD $ATTUNE_CUBLAS $ATTUNE_RECORD_TAG "
                              "$ATTUNE_CUBLAS_STATS; test $ATTUNE_CUBLAS_PROCESS = $$")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual(process.stdout.split(), [FILES.library, "record", "mine", "1"])

    def test_its_products_are_served(self):
        self.check(self.attune("cublas", "--stats", "--", FILES.caller, "every"),
                   {"served": NAMES, "passed": 0})

    def test_a_program_that_computes_nothing_is_warned(self):
        for program, reason in (("/bin/true", "it has no cuBLAS loaded"),
                                (FILES.caller, "It has cuBLAS, .*libcublas_stand_in_1.so, but")):
            process = self.attune("cublas", "--", program)
            self.assertEqual(process.returncode, 0)
            self.assertRegex(process.stderr, f"attune cublas: No product arrived in .*{reason}")

    def test_both_faces_go_together(self):
        process = self.attune("blas", "--", FILES.attune, "cublas", "--", "sh", "-c",
                              "echo $LD_PRELOAD")
        self.assertRegex(process.stdout, "^[^:]*/libattune_cublas.so:[^:]*/libattune_blas.so\n$")


def main():
    global FILES
    parser = argparse.ArgumentParser()
    for name in ("attune", "library", "runtime", "caller", "host", "prober", "cublas"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--plugin", action="append", required=True)
    FILES, rest = parser.parse_known_args()
    unittest.main(argv=["processes.py", *rest], verbosity=2)


if __name__ == "__main__":
    main()
