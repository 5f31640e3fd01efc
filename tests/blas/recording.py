#!/usr/bin/env python3
"""Recorded problems reach the database, or attune reports their loss.

  recording.py --attune PROGRAM --attune-library libattune.so --library libattune_blas.so
               --caller PROGRAM

The caller is tests/blas/blas_caller.c, with a BLAS of its own; the run time is the real one.
"""

import contextlib
import os
import pathlib
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

import interposers

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
import program  # noqa: E402  pylint: disable=wrong-import-position

FILES = None
NOBODY = 65534
# The documentation promises a second; problems usually reach a spool after a tenth of one.
PROMISE_S = 1


def environment(**variables):
    return {**interposers.outside_environment(), "ATTUNE_DEVICE": "cpu", **variables}


def run(*command, timeout_s=120, **options):
    variables = options.pop("variables", {})
    return subprocess.run(command, env=environment(**variables), capture_output=True, text=True,
                          timeout=timeout_s, check=False, **options)


def refuse(reason):
    raise unittest.SkipTest(reason)


def python_with_numpy():
    for python in ("/usr/bin/python3", sys.executable):
        if shutil.which(python) and run(python, "-c", "import numpy").returncode == 0:
            return python
    return refuse("numpy is not installed")


def fill(disk):
    left = os.statvfs(disk)
    (disk / "ballast").write_bytes(bytes(left.f_bavail * left.f_frsize))


class Tests(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="attune-recording-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.database = self.folder / "attune.db"

    def record(self, *program, tag="many", **options):
        return run(FILES.attune, "--db", str(self.database), "blas", "--record", tag, "--",
                   *map(str, program), **options)

    def unattended(self, *program, timeout_s=120, **variables):
        """Runs a program that records by its environment, without an attune command that waits."""
        return run(*map(str, program), timeout_s=timeout_s, variables={
            "LD_PRELOAD": interposers.preloads(FILES.library),
            "ATTUNE_BLAS_RUNTIME": FILES.attune_library, "ATTUNE_BLAS": "record",
            "ATTUNE_DB": str(self.database), **variables})

    def problems(self, tag="many"):
        """Returns the number of problems of the tag, from a verb that only reads."""
        listed = run(FILES.attune, "--db", str(self.database), "problems", "--tag", tag)
        if "There is no tag" in listed.stderr or "There is no database" in listed.stderr:
            return 0
        self.assertEqual(listed.stderr, "")
        return listed.stdout.count("gemm@1{")

    def spool(self):
        return sorted(self.folder.glob("attune.db.spool-*/*"))


class Recording(Tests):
    def test_every_shape_is_recorded_and_counted(self):
        for added in (2999, 0):
            process = self.record(FILES.caller, "shapes=2999")
            self.assertEqual(process.returncode, 0, process.stderr)
            self.assertEqual(process.stderr, "attune blas: 2999 problems recorded under tag many, "
                                             f"{added} of them new\n")
            self.assertEqual(self.problems(), 2999)
            self.assertEqual(self.spool(), [])

    def test_shapes_that_numpy_multiplies_are_recorded(self):
        python = python_with_numpy()
        script = ("import numpy as np\n"
                  "a = np.ones((400, 8)); b = np.ones((8, 400))\n"
                  "for i in range(1000): a[:1 + i % 20] @ b[:, :1 + i // 20]\n")
        process = self.record(python, "-c", script)
        self.assertEqual(process.returncode, 0, process.stderr)
        counted = int(re.search(r"(\d+) problems recorded", process.stderr).group(1))
        # NumPy computes some products with one row or column as other products.
        self.assertGreaterEqual(counted, 970)
        self.assertEqual(self.problems(), counted)

    def test_a_tag_keeps_the_weights_of_its_problems(self):
        self.record(FILES.caller, "shapes=3")
        with contextlib.closing(sqlite3.connect(self.database)) as records:
            weights = records.execute("SELECT weight FROM problem_tag").fetchall()
        self.assertEqual(weights, [(1,)] * 3)

    def test_the_end_is_not_delayed(self):
        delays = []
        for mode in ("record", "off"):
            with subprocess.Popen(
                    [FILES.caller, "shapes=2000", "talk=1"], stdout=subprocess.PIPE, text=True,
                    env=environment(LD_PRELOAD=interposers.preloads(FILES.library),
                                    ATTUNE_BLAS=mode,
                                    ATTUNE_BLAS_RUNTIME=FILES.attune_library,
                                    ATTUNE_DB=str(self.database))) as process:
                self.assertEqual(process.stdout.readline(), "1\n")
                said_s = time.monotonic()
                process.wait(timeout=60)
                delays.append(time.monotonic() - said_s)
        self.assertLess(delays[0] - delays[1], 0.5)

    def test_without_a_waiting_command_the_next_verb_imports(self):
        process = self.unattended(FILES.caller, "shapes=100", ATTUNE_RECORD_TAG="many")
        self.assertEqual((process.returncode, process.stderr), (0, ""))
        self.assertFalse(self.database.exists())
        files = self.spool()
        self.assertEqual([file.stat().st_mode & 0o7777 for file in files], [0o600])
        self.assertEqual(files[0].parent.stat().st_mode & 0o7777, 0o700)
        self.assertEqual(self.problems(), 100)
        self.assertEqual(self.spool(), [])

    def test_every_verb_that_opens_the_database_imports(self):
        for number, verb in enumerate((
                ("problems", "--tag", "many"), ("best", "--tag", "many"),
                ("tune", "--tag", "many", "--device", "cpu", "--budget", "100ms"),
                ("report", "--tag", "many", "-o", str(self.folder / "report.html")),
                ("export", "--tag", "many", "--format", "csv", "-o", "-"))):
            self.unattended(FILES.caller, f"from={number}", "shapes=1", ATTUNE_RECORD_TAG="many")
            self.assertEqual(len(self.spool()), 1)
            run(FILES.attune, "--db", str(self.database), *verb)
            self.assertEqual(self.spool(), [], verb)
        self.assertEqual(self.problems(), 5)

    def test_verbs_see_what_a_running_program_has_recorded(self):
        with subprocess.Popen(
                [FILES.attune, "--db", str(self.database), "blas", "--record", "many", "--",
                 FILES.caller, "shapes=500", "talk=1", "until_eof", "from=500", "shapes=500"],
                env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True) as process:
            self.assertEqual(process.stdout.readline(), "1\n")
            give_up = time.monotonic() + 60
            while self.problems() < 500 and time.monotonic() < give_up:
                pass
            self.assertEqual(self.problems(), 500)
            _, errors = process.communicate(timeout=60)
        # Other commands imported some of them. The count includes these.
        self.assertIn("attune blas: 1000 problems recorded under tag many, 1000 of them new", errors)
        self.assertEqual(self.problems(), 1000)
        self.assertEqual(self.spool(), [])


class Processes(Tests):
    def test_all_processes_of_a_program_count(self):
        process = self.record("sh", "-c", f"{FILES.caller} shapes=300 & {FILES.caller} from=200 "
                              f"shapes=300 & {FILES.caller} shapes=10; wait")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertIn("500 problems recorded under tag many, 500 of them new", process.stderr)
        self.assertEqual(self.problems(), 500)

    def test_a_forked_process_writes_a_spool_of_its_own(self):
        process = self.unattended(FILES.caller, "fork", "shapes=50")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual(len(self.spool()), 1)
        self.assertEqual(self.problems(tag="recorded"), 50)

    def test_eight_threads_lose_nothing(self):
        process = self.record(FILES.caller, "eight=500")
        self.assertIn("4000 problems recorded", process.stderr)
        self.assertEqual(self.problems(), 4000)

    def test_quick_exit_loses_nothing(self):
        process = self.record(FILES.caller, "shapes=50", "quick")

        self.assertEqual((process.returncode, self.problems()), (0, 50), process.stderr)

    def test_calls_of_exit_handlers_are_recorded_or_reported(self):
        late = "that run after attune has ended are not recorded"
        before = self.record(FILES.caller, "shapes=20", "late=5", tag="before")
        self.assertEqual((self.problems("before"), late in before.stderr), (25, False), before.stderr)

        # A handler that was registered before the first call runs after attune has ended.
        after = self.record(FILES.caller, "late=5", "shapes=20", tag="after")
        self.assertEqual((self.problems("after"), after.stderr.count(late)), (20, 1), after.stderr)

    @interposers.skip_sanitized("it reads /proc itself")
    def test_without_proc_that_is_the_reason(self):
        done = run("unshare", "-m", "sh", "-c", f"umount -l /proc && exec {FILES.caller} shapes=3",
                   variables={"ATTUNE_BLAS_RUNTIME": FILES.attune_library, "ATTUNE_BLAS": "record",
                              "ATTUNE_DB": str(self.database),
                              "LD_PRELOAD": interposers.preloads(FILES.library)})
        if "unshare" in done.stderr or "umount" in done.stderr:
            refuse(f"/proc cannot be unmounted here: {done.stderr}")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("/proc is not mounted", done.stderr)
        self.assertNotIn("stack", done.stderr)

    def test_an_end_without_handlers_loses_nothing(self):
        process = self.record(FILES.caller, "shapes=500", "leave")
        self.assertEqual(process.returncode, 5)
        self.assertIn("500 problems recorded", process.stderr)

    def test_an_end_within_malloc_does_not_hang(self):
        for number in range(20):
            # Ends before the first write, a tenth of a second after the first problem.
            process = self.unattended(FILES.caller, "shapes=3", f"handler={number * 4}",
                                      timeout_s=10)
            self.assertEqual(process.returncode, 7, process.stderr)

    def test_what_becomes_another_program_loses_nothing(self):
        kinds = ("execv", "execve", "execvp", "execvpe", "execl", "execlp", "execle", "fexecve",
                 "execveat")
        for kind in kinds:
            process = self.record(FILES.caller, "shapes=20", f"exec={kind}", "leave", tag=kind)
            self.assertEqual(process.returncode, 5, process.stderr)
            self.assertIn(f"20 problems recorded under tag {kind}", process.stderr)

    def test_what_fails_to_become_another_program_records_on(self):
        process = self.record(FILES.caller, "shapes=5", "exec=none", "from=5", "shapes=5",
                              "exec=execv", "from=10", "shapes=5")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertIn("15 problems recorded under tag many", process.stderr)

    def test_a_vforked_child_that_becomes_another_program_writes_nothing(self):
        script = self.folder / "spawn.py"
        script.write_text(
            "import os, subprocess, sys\n"
            "subprocess.run([sys.argv[1], 'shapes=3'], check=True)\n"
            "os.execv(sys.argv[1], [sys.argv[1], 'from=3', 'shapes=4'])\n", encoding="utf-8")
        process = self.record(sys.executable, script, FILES.caller)
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertIn("7 problems recorded under tag many, 7 of them new", process.stderr)

    def test_a_mask_of_the_program_costs_nothing(self):
        self.folder.chmod(0o777)
        user = {"user": NOBODY} if os.geteuid() == 0 else {}
        for tag in ("once", "again"):
            process = self.record(FILES.caller, "mask=0177", "shapes=20", tag=tag, **user)
            self.assertEqual(process.returncode, 0, process.stderr)
            self.assertIn(f"20 problems recorded under tag {tag}", process.stderr)
        folder = self.folder / f"attune.db.spool-{NOBODY}"
        variables = {"LD_PRELOAD": interposers.preloads(FILES.library),
                     "ATTUNE_BLAS_RUNTIME": FILES.attune_library, "ATTUNE_BLAS": "record",
                     "ATTUNE_DB": str(self.database)}
        for _ in range(2):
            process = run(FILES.caller, "mask=0777", "shapes=20", variables=variables, **user)
            self.assertEqual((process.returncode, process.stderr), (0, ""))
        if user:
            self.assertEqual(folder.stat().st_mode & 0o7777, 0o700)

    def test_workers_of_python_lose_nothing(self):
        python = python_with_numpy()
        script = self.folder / "workers.py"
        script.write_text(
            "import multiprocessing, sys\n"
            "import numpy as np\n"
            "def work(n): np.ones((3, n)) @ np.ones((n, 2))\n"
            "if __name__ == '__main__':\n"
            "    make = multiprocessing.get_context(sys.argv[1]).Process\n"
            "    workers = [make(target=work, args=(i,)) for i in range(2, 12)]\n"
            "    for worker in workers: worker.start()\n"
            "    for worker in workers: worker.join()\n", encoding="utf-8")
        for method in ("fork", "spawn"):
            process = self.record(python, script, method, tag=method)
            self.assertEqual(process.returncode, 0, process.stderr)
            self.assertIn(f"10 problems recorded under tag {method}", process.stderr)

    def test_a_process_that_was_forked_later_records_what_it_computes_itself(self):
        for end in ((), ("leave",)):
            tag = f"forked-{len(end)}"
            process = self.record(FILES.caller, "shapes=5", "fork", "from=5", "shapes=20", *end,
                                  tag=tag)
            self.assertEqual(process.returncode, 5 if end else 0, process.stderr)
            self.assertIn(f"25 problems recorded under tag {tag}", process.stderr)
            self.assertEqual(self.problems(tag), 25)

    def test_a_killed_process_loses_a_second_at_most_and_nothing_is_torn(self):
        choose = random.Random(7)
        for round_ in range(12):
            tag = f"killed-{round_}"
            with subprocess.Popen(
                    [FILES.caller, "talk=100000"], stdout=subprocess.PIPE, text=True,
                    env=environment(LD_PRELOAD=interposers.preloads(FILES.library),
                                    ATTUNE_BLAS="record",
                                    ATTUNE_BLAS_RUNTIME=FILES.attune_library,
                                    ATTUNE_RECORD_TAG=tag,
                                    ATTUNE_DB=str(self.database))) as process:
                told = []  # (time, number of products computed until then).
                until_s = time.monotonic() + choose.uniform(0.05, 2.5)
                while time.monotonic() < until_s:
                    line = process.stdout.readline()
                    told.append((time.monotonic(), int(line)))
                process.kill()
                killed_s = time.monotonic()
            promised = max((n for said_s, n in told if said_s < killed_s - PROMISE_S), default=0)
            kept = self.problems(tag)
            self.assertGreaterEqual(kept, promised)
        self.assertEqual(self.spool(), [])

    def test_a_killed_command_leaves_nothing_that_is_lost(self):
        with subprocess.Popen(
                [FILES.attune, "--db", str(self.database), "blas", "--record", "many", "--",
                 FILES.caller, "shapes=200", "talk=1", "until_eof"], env=environment(),
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            self.assertEqual(process.stdout.readline(), "1\n")
            give_up = time.monotonic() + 60
            while not any("problem" in file.read_text() for file in self.spool()
                          if file.suffix == ".spool") and time.monotonic() < give_up:
                pass
            process.kill()
        self.assertGreater(self.problems(), 0)


class Losses(Tests):
    def test_a_full_disk_is_told_by_what_ends_without_handlers(self):
        with program.small_disk(self.folder / "disk", 512, refuse) as disk:
            self.database = disk / "attune.db"
            run(FILES.attune, "--db", str(self.database), "session", "new", "s", "--device", "fake")
            ends = (("leave",), ("exec=execv", "leave"), ("fork", "from=50", "shapes=20", "leave"))
            for end, lost in zip(ends, (50, 50, 70)):
                script = (f"head -c 10M /dev/zero > {disk}/ballast; "
                          f"exec {FILES.caller} shapes=50 {' '.join(end)}")
                process = self.record("sh", "-c", script)
                self.assertEqual(process.returncode, 5, process.stderr)
                self.assertIn("0 problems recorded under tag many", process.stderr)
                self.assertRegex(process.stderr, f"attune blas: {lost} problems were not recorded: "
                                                 ".*No space left")
            (disk / "ballast").unlink()
            fill(disk)
            process = self.unattended(FILES.caller, "shapes=50", "leave")
            self.assertEqual(process.returncode, 5, process.stderr)
            self.assertRegex(process.stderr, "attune: 50 problems are not recorded under tag "
                                             "recorded: .*No space left")

    def test_a_thread_with_little_stack_is_told(self):
        for kib in (128, 256):
            process = self.record(FILES.caller, f"stack={kib}", "shapes=10", "shapes=5")
            self.assertEqual(process.returncode, 0, process.stderr)
            self.assertEqual(process.stderr.count("256 KiB of stack are not recorded"), 1,
                             process.stderr)
        process = self.record(FILES.caller, "stack=1024", "shapes=10")
        self.assertEqual(process.stderr,
                         "attune blas: 10 problems recorded under tag many, 10 of them new\n")
        process = self.record(FILES.caller, "from=10", "shapes=10", "stack=128", "shapes=5")
        self.assertIn("256 KiB of stack are not recorded", process.stderr)
        self.assertIn("10 problems recorded", process.stderr)

    def test_a_library_that_is_gone_is_told(self):
        library = self.folder / pathlib.Path(FILES.library).name
        shutil.copy(FILES.library, library)
        process = self.unattended(FILES.caller, f"hide={library}", "shapes=5",
                                  LD_PRELOAD=interposers.preloads(str(library)),
                                  ATTUNE_BLAS_RUNTIME="")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual(process.stderr.count("Nothing is recorded: "), 1, process.stderr)

    def test_a_spool_with_two_names_is_told(self):
        self.unattended(FILES.caller, "shapes=10", ATTUNE_RECORD_TAG="many")
        file = self.spool()[0]
        os.link(file, self.folder / "backup")
        listed = run(FILES.attune, "--db", str(self.database), "problems", "--tag", "many")
        self.assertIn("is not imported: it has 2 names (hard links)", listed.stderr)
        command = re.search("'(cp -p .*)' makes it", listed.stderr).group(1)
        subprocess.run(["sh", "-c", command], check=True)
        self.assertEqual(self.problems(), 10)

    def test_a_folder_that_is_not_trusted_is_told(self):
        self.unattended(FILES.caller, "shapes=10", ATTUNE_RECORD_TAG="many")
        folder = self.spool()[0].parent
        folder.chmod(0o770)
        for verb in (("problems", "--tag", "many"), ("best", "--tag", "many")):
            listed = run(FILES.attune, "--db", str(self.database), *verb)
            self.assertIn("are not imported: ", listed.stderr)
            self.assertIn(f"chmod 700 {folder}", listed.stderr)
        folder.chmod(0o700)
        self.assertEqual(self.problems(), 10)

    def test_a_folder_of_another_user_is_told(self):
        if os.geteuid() != 0:
            self.skipTest("only the superuser gives folders to others")
        self.record(FILES.caller, "shapes=1")
        folder = self.folder / "attune.db.spool-12345"
        folder.mkdir(0o700)
        os.chown(folder, 12345, 12345)
        listed = run(FILES.attune, "--db", str(self.database), "problems", "--tag", "many")
        self.assertEqual(listed.stderr, "")
        (folder / "1-2-3-.spool").touch()
        listed = run(FILES.attune, "--db", str(self.database), "problems", "--tag", "many")
        self.assertIn("belongs to user 12345", listed.stderr)

    def test_a_database_may_have_quotes_in_its_name(self):
        self.database = self.folder / "a \"b\" 'c'.db"
        process = self.record(FILES.caller, "shapes=5")
        self.assertEqual(process.stderr,
                         "attune blas: 5 problems recorded under tag many, 5 of them new\n")
        self.assertEqual(self.problems(), 5)

    def test_a_full_disk_is_told_at_the_end(self):
        with program.small_disk(self.folder / "disk", 512, refuse) as disk:
            self.database = disk / "attune.db"
            run(FILES.attune, "--db", str(self.database), "session", "new", "s", "--device", "fake")
            script = f"head -c 10M /dev/zero > {disk}/ballast; exec {FILES.caller} shapes=700"
            process = self.record("sh", "-c", script)
            self.assertEqual(process.returncode, 0, process.stderr)
            self.assertIn("0 problems recorded under tag many", process.stderr)
            told = re.findall(r"attune blas: 700 problems were not recorded: .*No space left",
                              process.stderr)
            self.assertEqual(len(told), 1, process.stderr)

    def test_a_disk_without_room_for_a_database_is_the_reason(self):
        with program.small_disk(self.folder / "disk", 128, refuse) as disk:
            self.database = disk / "attune.db"
            process = self.unattended(FILES.caller, "shapes=50")
            self.assertEqual(process.stderr, "")
            fill(disk)
            listed = run(FILES.attune, "--db", str(self.database), "problems")
            self.assertEqual(listed.returncode, 1, listed.stdout)
            self.assertRegex(listed.stderr, "cannot import recorded problems: .*(disk|space)")
            self.assertNotIn("Check the name", listed.stderr)

    def test_a_disk_that_is_full_for_a_while_costs_nothing(self):
        with program.small_disk(self.folder / "disk", 2048, refuse) as disk:
            self.database = disk / "attune.db"
            fill(disk)
            with subprocess.Popen(
                    [FILES.caller, "shapes=300", "talk=1", "until_eof"], text=True,
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                    env=environment(LD_PRELOAD=interposers.preloads(FILES.library),
                                    ATTUNE_BLAS="record",
                                    ATTUNE_BLAS_RUNTIME=FILES.attune_library,
                                    ATTUNE_RECORD_TAG="many",
                                    ATTUNE_DB=str(self.database))) as process:
                self.assertEqual(process.stdout.readline(), "1\n")
                (disk / "ballast").unlink()
                _, errors = process.communicate(timeout=60)
            self.assertEqual(errors, "")
            self.assertEqual(self.problems(), 300)

    def test_a_full_disk_is_told_by_a_program_that_nobody_waits_for(self):
        with program.small_disk(self.folder / "disk", 256, refuse) as disk:
            self.database = disk / "attune.db"
            fill(disk)
            process = self.unattended(
                "sh", "-c", f"{FILES.caller} shapes=70; {FILES.caller} shapes=70")
            self.assertEqual(process.returncode, 0, process.stderr)
            self.assertEqual(process.stderr.count("attune: 70 problems are not recorded"), 1,
                             process.stderr)
            self.assertIn("No space left", process.stderr)

    def test_a_limit_on_the_size_of_files_is_told(self):
        process = self.record("sh", "-c", f"ulimit -f 0; exec {FILES.caller} shapes=70")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertIn("0 problems recorded under tag many", process.stderr)
        self.assertRegex(process.stderr, "70 problems were not recorded: .*File too large")

    def test_a_folder_that_cannot_be_written_is_told_before_the_program_starts(self):
        if os.geteuid() != 0:
            self.skipTest("it takes the superuser to become another user")
        self.folder.chmod(0o755)
        process = self.record(FILES.caller, "shapes=5", user=NOBODY,
                              variables={"HOME": str(self.folder)})
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual(process.stderr.count("cannot use the database"), 1, process.stderr)
        self.assertIn("Permission denied", process.stderr)

    def test_an_unusable_database_is_reported_once(self):
        folder = self.folder / "folder.db"
        folder.mkdir()
        empty = self.folder / "empty.db"
        empty.touch()
        for database in (folder, empty):
            process = run(FILES.attune, "--db", database, "blas", "--record", "many", "--",
                          FILES.caller, "shapes=5")
            self.assertEqual(process.returncode, 0, process.stderr)
            self.assertEqual(process.stderr.count("cannot use the database"), 1, process.stderr)
            self.assertNotIn("cannot record the problems", process.stderr)

    def test_without_a_database_it_is_told(self):
        process = run(FILES.attune, "blas", "--record", "many", "--", FILES.caller, "shapes=5",
                      variables={"ATTUNE_DB": ""})
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertIn("nothing is recorded in it: ATTUNE_DB is empty", process.stderr)

    def test_a_database_on_a_server_is_told(self):
        process = run(FILES.attune, "--db", "postgresql://me@nowhere.invalid/x", "blas", "--record",
                      "many", "--", FILES.caller, "shapes=5")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertIn("It is on a server", process.stderr)

    def test_a_tag_that_cannot_be_one_is_refused(self):
        process = self.record(FILES.caller, "shapes=5", tag="x" * 100)
        self.assertEqual(process.returncode, 2, process.stderr)

    def test_a_database_that_takes_nothing_now_loses_nothing(self):
        self.record(FILES.caller, "shapes=1")
        with contextlib.closing(sqlite3.connect(self.database, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            process = self.record(FILES.caller, "shapes=50")
            self.assertEqual(process.returncode, 0, process.stderr)
            self.assertRegex(process.stderr, "50 problems recorded under tag many, and 50 of them "
                                             "wait beside the database")
        self.assertEqual(self.problems(), 50)

    def test_what_is_damaged_is_told_and_the_rest_imported(self):
        self.unattended(FILES.caller, "shapes=10", ATTUNE_RECORD_TAG="many")
        file = self.spool()[0]
        os.truncate(file, file.stat().st_size - 7)
        listed = run(FILES.attune, "--db", str(self.database), "problems", "--tag", "many")
        self.assertEqual(listed.returncode, 0, listed.stderr)
        self.assertEqual(listed.stdout.count("gemm@1{"), 9)
        self.assertRegex(listed.stderr, r"attune: \d+ bytes that .* recorded are lost: .*cut off")
        self.assertEqual(self.problems(), 9)


def main():
    global FILES
    FILES, rest = interposers.parse_files()
    unittest.main(argv=["recording.py", *rest], verbosity=2)


if __name__ == "__main__":
    main()
