#!/usr/bin/env python3
"""The preload library in processes of its own: switches, messages, forks, missing parts.

  processes.py --attune PROGRAM --attune-library libattune.so --library libattune_blas.so
               --runtime DOUBLE --caller PROGRAM
               --orphan PROGRAM --host PROGRAM --plugin PLUGIN --plain BLAS [--blas FILE]...

The caller has a BLAS, tests/blas/plain_blas.cc; the orphan has none; the host has none and may open
a plug-in that has one. The run time is tests/blas/runtime_double.cc, which computes with each FILE
of --blas in turn.
"""

import argparse
import os
import pathlib
import re
import resource
import signal
import subprocess
import tempfile
import time
import unittest

import interposers
from interposers import preload_environment, summary

FILES = None
# Part of the 512 bytes that glibc reserves, beside others, for libraries that are opened late.
LEAST_RESERVE_BYTES = 64


def run(*command, preload=True, **variables):
    return interposers.preload("blas", FILES, *command, is_preloaded=preload, **variables)


class Switches(unittest.TestCase):
    def test_products_are_served(self):
        process = run(FILES.caller, "calls=5")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual(summary(process), {"served": 5, "passed": 0})

    def test_off_passes_everything_and_opens_no_run_time(self):
        process = run(FILES.caller, "calls=5", ATTUNE_BLAS="off", ATTUNE_BLAS_RUNTIME="/nowhere.so")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual(summary(process), {"served": 0, "passed": 5, "switched off": 5})
        self.assertNotIn("nowhere", process.stderr)

    def test_record_serves_as_well(self):
        process = run(FILES.caller, "calls=2", ATTUNE_BLAS="record", ATTUNE_RECORD_TAG="mine",
                      DOUBLE_SAYS="1")
        self.assertEqual(summary(process)["served"], 2)
        self.assertIn("policy 2 tag mine", process.stderr)

    def test_an_end_without_handlers_writes_what_was_recorded(self):
        for mode, count in (("record", 1), ("serve", 0)):
            process = run(FILES.caller, "calls=2", "leave", ATTUNE_BLAS=mode, DOUBLE_SAYS="1")
            self.assertEqual(process.returncode, 5, process.stderr)
            self.assertEqual(process.stderr.count("flushed"), count, process.stderr)

    def test_policy_is_left_to_the_run_time(self):
        process = run(FILES.caller, "calls=1", DOUBLE_SAYS="1")
        self.assertIn("policy 0 tag - deterministic 0", process.stderr)

    def test_deterministic_mode_tunes_nothing(self):
        process = run(FILES.caller, "calls=1", ATTUNE_DETERMINISTIC="1", DOUBLE_SAYS="1")
        self.assertIn("policy 1 tag - deterministic 1", process.stderr)

    def test_deterministic_mode_keeps_a_policy_that_was_asked_for(self):
        process = run(FILES.caller, "calls=1", ATTUNE_DETERMINISTIC="1", ATTUNE_POLICY="deferred",
                      DOUBLE_SAYS="1")
        self.assertIn("policy 0 tag - deterministic 1", process.stderr)

    def test_an_unknown_switch_ends_the_program(self):
        process = run(FILES.caller, "calls=1", ATTUNE_BLAS="sreve")
        self.assertEqual(process.returncode, -signal.SIGABRT)
        self.assertIn("ATTUNE_BLAS is 'sreve'. It may be 'serve', 'record' or 'off'.",
                      process.stderr)

    def test_the_summary_is_said_on_request_only(self):
        process = run(FILES.caller, "calls=1", ATTUNE_BLAS_STATS="0")
        self.assertEqual(process.stderr, "")

    def test_a_word_that_is_no_switch_of_the_summary_ends_the_program(self):
        process = run(FILES.caller, "calls=1", ATTUNE_BLAS_STATS="yes")
        self.assertEqual(process.returncode, -signal.SIGABRT)
        self.assertIn("ATTUNE_BLAS_STATS is 'yes'. It may be '1' or '0'.", process.stderr)

    def test_an_empty_switch_of_the_summary_is_none(self):
        process = run(FILES.caller, "calls=1", ATTUNE_BLAS_STATS="")
        self.assertEqual(process.returncode, 0)
        self.assertEqual(process.stderr, "")

    def test_reasons_are_counted(self):
        process = run(FILES.caller, "calls=1", "invalid", "empty", "strided", "strided")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual(summary(process), {"served": 1, "passed": 4, "invalid": 1, "empty": 1,
                                            "strided": 2})


class Failures(unittest.TestCase):
    def test_without_a_run_time_the_program_goes_on(self):
        process = run(FILES.caller, "calls=3", ATTUNE_BLAS_RUNTIME="/nowhere.so")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual(summary(process), {"served": 0, "passed": 3, "without a run time": 3})
        self.assertEqual(process.stderr.count("Cannot load /nowhere.so"), 1, process.stderr)

    def test_another_library_is_no_run_time(self):
        process = run(FILES.caller, "calls=1", ATTUNE_BLAS_RUNTIME="libm.so.6")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertIn("libm.so.6 is not the run time of attune", process.stderr)

    def test_a_run_time_that_cannot_be_created_is_said_once(self):
        process = run(FILES.caller, "threads=8", "calls=3", DOUBLE_FAILS="create")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual(summary(process), {"served": 0, "passed": 11, "without a run time": 11})
        self.assertEqual(process.stderr.count("The stand-in was told to fail."), 1, process.stderr)

    def test_products_that_the_run_time_refuses_are_said_once(self):
        process = run(FILES.caller, "calls=4", DOUBLE_FAILS="run")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual(summary(process), {"served": 0, "passed": 4, "refused": 4})
        self.assertEqual(process.stderr.count("The stand-in was told to fail."), 1, process.stderr)

    def test_a_forced_choice_is_not_replaced(self):
        for failing in ("create", "run"):
            process = run(FILES.caller, "calls=1", DOUBLE_FAILS=failing, ATTUNE_FORCE="typo")
            self.assertEqual(process.returncode, -signal.SIGABRT, process.stderr)
            self.assertIn("ATTUNE_FORCE is 'typo'", process.stderr)
        process = run(FILES.caller, "calls=1", DOUBLE_FAILS="create", ATTUNE_FORCE="typo" * 1000)
        self.assertIn("The stand-in was told to fail.", process.stderr)

    def test_what_a_limit_keeps_from_attune_is_computed_without_a_word(self):
        for failing in ("create-limit", "run-limit"):
            process = run(FILES.caller, "threads=2", "calls=2", DOUBLE_FAILS=failing)
            self.assertEqual(process.returncode, 0, process.stderr)
            self.assertEqual(summary(process), {"served": 0, "passed": 4, "under a limit": 4})
            self.assertNotIn("The stand-in was told to fail.", process.stderr)

    def test_a_forced_choice_under_a_limit_is_said_once_and_ends_nothing(self):
        for failing in ("create-limit", "run-limit"):
            process = run(FILES.caller, "threads=2", "calls=2", DOUBLE_FAILS=failing,
                          ATTUNE_FORCE="host.blis-gemm")
            self.assertEqual(process.returncode, 0, process.stderr)
            self.assertEqual(summary(process), {"served": 0, "passed": 4, "under a limit": 4})
            self.assertEqual(process.stderr.count("ATTUNE_FORCE is 'host.blis-gemm', but the "
                                                  "program's own BLAS computes"), 1, process.stderr)

    @interposers.skip_sanitized("its memory is larger than the limit")
    def test_little_address_space_is_left_to_the_program(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))

        process = subprocess.run(
            [FILES.caller, "calls=2"], env=preload_environment("blas", FILES), preexec_fn=limit,
            capture_output=True, text=True, timeout=60)
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual(summary(process), {"served": 0, "passed": 2, "under a limit": 2})

    @interposers.skip_sanitized("it writes files itself")
    def test_a_message_that_no_file_has_room_for_ends_nothing(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

        with tempfile.TemporaryFile() as errors:
            process = subprocess.run(
                [FILES.caller, "calls=2"], env=preload_environment("blas", FILES),
                preexec_fn=limit, stdout=subprocess.DEVNULL, stderr=errors, timeout=60)
            self.assertEqual((process.returncode, errors.tell()), (0, 0))

    def test_a_program_without_any_blas_is_told_so(self):
        process = run(FILES.orphan, preload=False)
        self.assertEqual(process.returncode, -signal.SIGABRT)
        self.assertIn("No loaded library but this one defines cblas_sgemm", process.stderr)


class RealBlas(unittest.TestCase):
    def test_a_blas_that_only_a_plugin_depends_on_is_found(self):
        for switch, counts in (("serve", {"served": 1, "passed": 0}),
                               ("off", {"served": 0, "passed": 1, "switched off": 1})):
            process = run(FILES.host, FILES.plugin, ATTUNE_BLAS=switch)
            self.assertEqual(process.stdout, "42\n", process.stderr)
            self.assertEqual(summary(process), counts)

    def test_a_named_blas_comes_first(self):
        process = run(FILES.orphan, preload=False, ATTUNE_BLAS="off", ATTUNE_BLAS_REAL=FILES.plain)
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual(summary(process)["switched off"], 1)

    def test_a_named_blas_that_is_none_ends_the_program(self):
        process = run(FILES.caller, "calls=1", ATTUNE_BLAS_REAL="/nowhere.so")
        self.assertEqual(process.returncode, -signal.SIGABRT)
        self.assertIn("ATTUNE_BLAS_REAL is '/nowhere.so', which cannot be loaded: ", process.stderr)
        self.assertIn("It takes the path of a BLAS", process.stderr)

    def test_a_named_library_without_the_function_ends_the_program(self):
        for library in ("libm.so.6", FILES.library):
            process = run(FILES.caller, "calls=1", ATTUNE_BLAS_REAL=library)
            self.assertEqual(process.returncode, -signal.SIGABRT, process.stderr)
            self.assertIn(f"ATTUNE_BLAS_REAL is '{library}', which does not define cblas_sgemm",
                          process.stderr)

    def test_calls_from_within_the_run_time_go_to_the_real_one(self):
        process = run(FILES.caller, "calls=3", DOUBLE_CALLS_BACK="1")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual(summary(process), {"served": 3, "passed": 3, "from within a library": 3})

    def test_a_library_of_the_run_time_computes_with_its_own_functions(self):
        process = run(FILES.caller, "calls=3", "threads=4", DOUBLE_LIBRARY=FILES.self_caller)
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual(summary(process), {"served": 7, "passed": 7, "from within a library": 7})

    def test_libraries_that_call_their_own_names_do_not_loop(self):
        for blas in FILES.blas:
            process = run(FILES.caller, "calls=3", "threads=4", DOUBLE_LIBRARY=blas)
            self.assertEqual(process.returncode, 0, f"{blas}: {process.stderr}")
            self.assertEqual(summary(process)["served"], 7)


class Processes(unittest.TestCase):
    def test_a_child_of_a_computing_parent_uses_the_real_blas(self):
        process = run(FILES.caller, "calls=1", "fork", "calls=3", "threads=4")
        self.assertEqual(process.returncode, 0, process.stderr)
        lines = re.findall(r"(\d+) calls served, (\d+) passed", process.stderr)
        self.assertEqual(lines, [("0", "7"), ("1", "0")])

    def test_a_child_of_a_parent_that_never_computed_is_served(self):
        process = run(FILES.caller, "fork", "calls=3")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertIn("3 calls served, 0 passed on.", process.stderr)

    def test_off_stays_off_in_children(self):
        process = run(FILES.caller, "calls=1", "fork", "calls=3", ATTUNE_BLAS="off")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertIn("0 calls served, 3 passed on (3 switched off).", process.stderr)

    def test_threads_that_begin_together_share_one_run_time(self):
        process = run(FILES.caller, "threads=32", DOUBLE_SAYS="1")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual(summary(process), {"served": 32, "passed": 0})
        self.assertEqual(process.stderr.count("created"), 1, process.stderr)


class RealRunTime(unittest.TestCase):
    """The installed libattune, which is opened when the first product comes: late, when what is left
    of the memory for thread-locals of the initial-exec model is what every process keeps back."""

    def run_real(self, program, *arguments, reserve_bytes=None, **variables):
        variables = {"ATTUNE_BLAS_RUNTIME": FILES.attune_library, "ATTUNE_DB": "",
                     "ATTUNE_DEVICE": "cpu", "ATTUNE_POLICY": "never", **variables}
        if reserve_bytes is not None:
            variables["GLIBC_TUNABLES"] = f"glibc.rtld.optional_static_tls={reserve_bytes}"
        return run(program, *arguments, **variables)

    def test_it_tells_its_own_summary_at_exit_on_request(self):
        process = self.run_real(FILES.caller, "calls=5", "threads=2", ATTUNE_SUMMARY="1")
        self.assertEqual(process.returncode, 0, process.stderr)
        lines = re.findall(r"^attune: (\d+) hits, (\d+) misses .*$", process.stderr, re.MULTILINE)
        self.assertEqual([sum(map(int, line)) for line in lines], [7], process.stderr)
        self.assertNotIn("attune: ", self.run_real(FILES.caller, "calls=5").stderr)

    def test_nan_and_infinity_spread_with_every_solver(self):
        for solver in ("", "host.openblas-gemm", "host.blis-gemm", "host.eigen-gemm",
                       "host.packed-gemm", "host.reference-gemm"):
            process = self.run_real(FILES.special, ATTUNE_FORCE=solver)
            if "The Debian package" in process.stderr:
                print(f"SKIPPED {solver}: its library is not installed")
                continue
            self.assertEqual(process.returncode, 0, f"{solver}: {process.stderr}")
            self.assertEqual(summary(process), {"served": 12, "passed": 0}, process.stderr)

    def test_it_is_opened_late_by_a_program_that_was_linked_with_a_blas(self):
        process = self.run_real(FILES.caller, "calls=5", "threads=4")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual(summary(process), {"served": 9, "passed": 0}, process.stderr)

    def test_it_is_opened_late_by_a_program_that_opened_its_blas(self):
        process = self.run_real(FILES.host, FILES.plugin)
        self.assertEqual(process.stdout, "42\n", process.stderr)
        self.assertEqual(summary(process), {"served": 1, "passed": 0}, process.stderr)

    def test_a_reserve_that_others_have_used_up_but_for_little_suffices(self):
        process = self.run_real(FILES.caller, "calls=1", reserve_bytes=LEAST_RESERVE_BYTES)
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual(summary(process), {"served": 1, "passed": 0}, process.stderr)


def tuners_of(database):
    """The environment and the mapped files of every tuner that works on `database` now."""
    tuners = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = pathlib.Path("/proc", pid, "cmdline").read_bytes().split(b"\0")
            if not words[0].endswith(b"/attune-tuner") or database.encode() not in words:
                continue
            pairs = pathlib.Path("/proc", pid, "environ").read_bytes().decode().split("\0")
            maps = pathlib.Path("/proc", pid, "maps").read_text(encoding="utf-8")
        except OSError:
            continue  # It has ended meanwhile.
        if maps:
            tuners.append((dict(pair.split("=", 1) for pair in pairs if "=" in pair), maps))
    return tuners


class Tuner(unittest.TestCase):
    """Processes that the preload library's runtime starts beside the program."""

    def test_a_fork_is_counted(self):
        process = run(FILES.caller, "forks", "fork", "forks")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertIn("forks 1\n", process.stdout)

    def test_its_start_forks_no_host_and_leaves_the_preload_behind(self):
        with tempfile.TemporaryDirectory() as folder:
            database = os.path.join(folder, "attune.db")
            environment = interposers.preload_environment(
                "blas", FILES, ATTUNE_BLAS_RUNTIME=FILES.attune_library, ATTUNE_DB=database,
                ATTUNE_DEVICE="cpu", ATTUNE_POLICY="deferred", XDG_CACHE_HOME=folder,
                ATTUNE_TUNER=os.path.join(os.path.dirname(FILES.attune), "attune-tuner"))
            with subprocess.Popen([FILES.caller, "calls=1", "until_eof", "forks"], env=environment,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True) as process:
                give_up = time.monotonic() + 60
                tuners = []
                while not tuners and time.monotonic() < give_up:
                    tuners = tuners_of(database)
                    os.sched_yield()
                output, errors = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 0, errors)
            self.assertTrue(tuners, errors)
            self.assertEqual(output, "forks 0\n")
            for variables, maps in tuners:
                self.assertEqual(variables["ATTUNE_DEVICE"], "cpu")
                self.assertNotIn("libattune_blas", variables.get("LD_PRELOAD", ""))
                self.assertNotIn("libattune_blas", maps)


class NoCalls(unittest.TestCase):
    """The warning that a program was started for nothing, by a shell that becomes the program."""

    def run_watched(self, *command, **variables):
        return run("/bin/sh", "-c", 'ATTUNE_BLAS_PROCESS=$$ LD_PRELOAD="$0" exec "$@"',
                   interposers.preloads_as_verb(FILES.library), *command, preload=False,
                   **{"ATTUNE_BLAS_STATS": "0", "LD_PRELOAD": "", **variables})

    def test_a_program_with_a_blas_that_it_does_not_call(self):
        process = self.run_watched(FILES.caller)
        self.assertRegex(process.stderr, r"No product arrived in .*It has a BLAS, .*plain_blas")

    def test_a_program_without_a_blas(self):
        process = self.run_watched("/bin/true")
        self.assertRegex(process.stderr, r"No product arrived in true .*no library that it has")

    def test_a_program_that_calls_is_not_warned(self):
        self.assertEqual(self.run_watched(FILES.caller, "calls=1").stderr, "")
        self.assertEqual(self.run_watched(FILES.caller, "calls=1", ATTUNE_BLAS="off").stderr, "")

    def test_a_program_whose_forked_child_calls_is_not_warned(self):
        # Pre-forking servers and PostgreSQL compute in children alone.
        self.assertEqual(self.run_watched(FILES.caller, "fork", "calls=1").stderr, "")
        self.assertIn("No product arrived", self.run_watched(FILES.caller, "fork").stderr)

    def test_children_are_not_warned(self):
        process = self.run_watched("/usr/bin/env", "python3", "-c",
                                   "import subprocess, sys; subprocess.run(sys.argv[1:])",
                                   FILES.caller)
        self.assertEqual(process.stderr.count("No product arrived"), 1, process.stderr)
        self.assertIn("arrived in python3", process.stderr)


class Verb(unittest.TestCase):
    def attune(self, *arguments, **variables):
        return run(FILES.attune, *arguments, preload=False, **variables)

    def test_the_exit_status_is_the_programs(self):
        self.assertEqual(self.attune("blas", "--", "sh", "-c", "exit 7").returncode, 7)

    def test_the_program_gets_the_switches(self):
        process = self.attune("blas", "--stats", "--record", "mine", "--", "sh", "-c",
                              "echo $LD_PRELOAD $ATTUNE_BLAS $ATTUNE_RECORD_TAG $ATTUNE_BLAS_STATS "
                              "$OMP_WAIT_POLICY; test $ATTUNE_BLAS_PROCESS = $$",
                              OMP_WAIT_POLICY="active")
        self.assertEqual(process.returncode, 0)
        outside = interposers.outside_environment().get("LD_PRELOAD")
        preloaded = ":".join(filter(None, (FILES.library, outside)))
        self.assertEqual(process.stdout.split(), [preloaded, "record", "mine", "1", "active"])

    def test_what_is_preloaded_already_stays(self):
        process = self.attune("blas", "--", "sh", "-c", "echo $LD_PRELOAD", LD_PRELOAD="libm.so.6")
        self.assertEqual(process.stdout, f"{FILES.library}:libm.so.6\n")

    def test_the_database_is_named_in_a_form_that_survives_a_change_of_folder(self):
        process = self.attune("--db", "here.db", "blas", "--", "sh", "-c", "echo $ATTUNE_DB")
        self.assertEqual(process.stdout, os.path.join(os.getcwd(), "here.db") + "\n")

    def test_a_program_that_computes_nothing_is_warned(self):
        process = self.attune("blas", "--", "/bin/true")
        self.assertEqual(process.returncode, 0)
        self.assertIn("No product arrived in true", process.stderr)

    def test_a_broken_pipe_ends_the_program_as_ever(self):
        process = self.attune("blas", "--", "sh", "-c", "trap - PIPE; kill -PIPE $$")
        self.assertEqual(process.returncode, -signal.SIGPIPE)


class Library(unittest.TestCase):
    def test_it_needs_nothing_but_the_c_library(self):
        needed = subprocess.run(["readelf", "-d", FILES.library], capture_output=True, text=True,
                                check=True).stdout
        self.assertEqual(set(re.findall(r"NEEDED.*\[(.*)\]", needed)) - {"ld-linux-x86-64.so.2"},
                         {"libc.so.6"})

    def test_a_process_without_products_opens_no_run_time(self):
        process = run("/bin/cat", "/proc/self/maps")
        self.assertIn("libattune_blas.so", process.stdout)
        self.assertNotIn(os.path.basename(FILES.runtime), process.stdout)


def main():
    global FILES
    parser = argparse.ArgumentParser()
    for name in ("attune", "attune-library", "library", "runtime", "caller", "orphan", "host", "plugin",
                 "plain", "self-caller", "special"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--blas", action="append", default=[])
    interposers.add_preload(parser)
    FILES, rest = parser.parse_known_args()
    interposers.set_preload(FILES.preload)
    for path in list(FILES.blas):
        if not os.path.exists(path):
            print(f"SKIPPED {path}: it is not installed")
            FILES.blas.remove(path)
    unittest.main(argv=["processes.py", *rest], verbosity=2)


if __name__ == "__main__":
    main()
