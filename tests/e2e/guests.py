#!/usr/bin/env python3
"""Programs change their process while attune serves them. They close descriptors and open their own,
change their folder and exit at any moment. Other processes truncate attune's files meanwhile.

  guests.py --attune PROGRAM --library libattune_blas.so --guest PROGRAM

The guest is tests/blas/blas_guest.c.
"""

import argparse
import contextlib
import fcntl
import os
import pathlib
import signal
import sqlite3
import statistics
import subprocess
import tempfile
import threading
import time
import unittest

OPTIONS = None
TIMEOUT_S = 60
# The extra time of an exit under attune (docs/serving.md). If one exit took longer, the medians of so
# many decide.
LONGEST_EXIT_S = 0.5
EXITS = 3

# As attune chooses, and each solver by force.
PRODUCT_SOLVERS = ({}, *({"ATTUNE_FORCE": f"host.{name}-gemm"} for name in
                         ("openblas", "blis", "libxsmm", "onednn", "packed", "eigen", "reference")))


def guest(folder, *steps, preload=None, **variables):
    """Returns (command, environment) of the guest with attune and a database in `folder`."""
    environment = {key: value for key, value in os.environ.items()
                   if not key.startswith(("ATTUNE_", "XDG_")) and key != "LD_PRELOAD"}
    environment.update({"HOME": str(folder), "XDG_DATA_HOME": str(folder / "data"),
                        "XDG_CACHE_HOME": str(folder / "cache"), "ATTUNE_LOCK_FOLDER": str(folder),
                        "ATTUNE_DB": str(folder / "t.db"),
                        "LD_PRELOAD": str(OPTIONS.library) if preload is None else preload},
                       **variables)
    return [str(OPTIONS.guest), *steps], environment


class Guests(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="attune-guests-")
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        # Guests and tuners write into the folder until they have ended.
        self.addCleanup(lambda: self.assertEqual(self.remaining(""), []))
        self.database = self.folder / "t.db"

    def processes(self, program):
        """Returns the ids of processes of `program` whose environment names the folder of the test."""
        found = []
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                name = (entry / "cmdline").read_bytes().split(b"\0")[0].decode(errors="replace")
                if program in name and os.fsencode(self.folder) in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
        return found

    def remaining(self, program):
        """Returns the ids of such processes that run after 8 s."""
        deadline = time.monotonic() + 8
        while self.processes(program) and time.monotonic() < deadline:
            time.sleep(0.1)
        return self.processes(program)

    def run_guest(self, *steps, status=0, cwd=None, **variables):
        command, environment = guest(self.folder, *steps, **variables)
        done = subprocess.run(command, env=environment, cwd=cwd or self.folder, timeout=TIMEOUT_S,
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, status, (steps, done.stderr))
        return done.stderr

    def start_guest(self, *steps, **variables):
        command, environment = guest(self.folder, *steps, **variables)
        return subprocess.Popen(command, env=environment, cwd=self.folder, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def finish(self, process):
        _, err = process.communicate(timeout=TIMEOUT_S)
        self.assertEqual(process.returncode, 0, err)
        return err

    def tune(self, *problems):
        environment = guest(self.folder)[1]
        del environment["LD_PRELOAD"]
        words = [word for problem in problems for word in ("--problem", problem)]
        subprocess.run([str(OPTIONS.attune), "tune", *words, "--per-problem", "0.1s"],
                       env=environment, cwd=self.folder, check=True, capture_output=True,
                       timeout=TIMEOUT_S)


class Descriptors(Guests):
    """Guests that wait until the tuner has made its database."""

    def test_a_daemon_closes_them_while_the_tuner_works(self):
        for _ in range(5):
            err = self.run_guest("products=3", "await=t.db", "closefrom=3", "sockets=8", "products=3",
                                 "ping=20")
            self.assertEqual(err, "")
            for path in self.folder.glob("t.db*"):
                path.unlink()

    def test_a_daemon_closes_them_between_problems(self):
        err = self.run_guest("products=2", "await=t.db", "sleep=6000", "closefrom=3", "sockets=8",
                             "products=3", "ping=60", "products=3", "ping=10")
        self.assertEqual(err, "")

    def test_what_comes_after_that_is_tuned(self):
        process = self.start_guest("products=1", "await=t.db", "closefrom=3", "sockets=8",
                                   "products=3:3000", "sleep=50000")
        known = []
        for _ in range(20):
            time.sleep(2)
            with contextlib.suppress(sqlite3.Error):
                with contextlib.closing(sqlite3.connect(f"file:{self.database}?mode=ro",
                                                        uri=True)) as database:
                    known = list(database.execute("SELECT key FROM problem"))
            if len(known) > 2 or process.poll() is not None:
                break
        process.kill()
        process.communicate()
        self.assertGreater(len(known), 2)

    def test_a_daemon_closes_them_at_any_moment(self):
        for delay in (0, 20, 60, 100, 200, 500, 1000, 1500, 2500):
            with self.subTest(delay=delay):
                self.run_guest("products=3", f"sleep={delay}", "closefrom=3", "sockets=8",
                               "products=3", "ping=10")

    def test_a_program_puts_its_files_in_their_place(self):
        self.run_guest("products=3", "await=t.db", "take", "products=3", "sleep=3000", "products=3",
                       "has_files=3")

    def test_a_program_that_closes_its_output_is_through_with_it(self):
        process = self.start_guest("products=3", "await=t.db", "close_standard", "sleep=8000")
        begin = time.monotonic()
        process.stdout.read()
        process.stderr.read()
        self.assertIsNone(process.poll(), "another process than the program holds its pipes")
        self.assertLess(time.monotonic() - begin, 8)
        self.finish(process)

    def test_nothing_becomes_a_standard_descriptor(self):
        self.tune("gemm@1{m=3,n=2,k=4}")
        self.run_guest("close_standard", "products=3:100", "are_closed", "sleep=3000",
                       "products=3:300", "are_closed")

    def test_everything_is_closed_by_exec(self):
        process = self.start_guest("products=3", "await=t.db", "sleep=3000")
        seen = set()
        while process.poll() is None:
            with contextlib.suppress(OSError, IndexError):
                for entry in pathlib.Path(f"/proc/{process.pid}/fdinfo").iterdir():
                    flags = int(entry.read_text().split("flags:")[1].split()[0], 8)
                    name = os.readlink(f"/proc/{process.pid}/fd/{entry.name}")
                    if int(entry.name) > 2:
                        seen.add((name, bool(flags & os.O_CLOEXEC)))
        self.finish(process)
        self.assertEqual([name for name, is_closed in seen if not is_closed], [])

    def test_between_looks_nothing_is_open(self):
        """Looks take milliseconds, and one comes every two seconds."""
        process = self.start_guest("products=3", "await=t.db", "sleep=6000")
        time.sleep(2)
        seen = []
        for _ in range(30):
            time.sleep(0.1)
            seen.append(sorted(self.open_files(process)))
        self.finish(process)
        self.assertGreater(seen.count([]), 20, seen)

    def open_files(self, process):
        """Yields the name of each descriptor of `process` but the standard ones."""
        for entry in pathlib.Path(f"/proc/{process.pid}/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):
                if int(entry.name) > 2:
                    yield os.readlink(entry)


class Folders(Guests):
    def test_a_relative_preload_and_a_change_of_folder(self):
        hostile = self.folder / "hostile"
        for place in ("lib", "lib/attune", "libexec/attune", "bin", "."):
            (hostile / place).mkdir(parents=True, exist_ok=True)
            for name in ("libattune.so.1", "libattune.so", "libattune_blas.so", "attune-tuner",
                         "attune-evaluator", "libopenblas.so.0"):
                (hostile / place / name).write_bytes(b"no library")
        (self.folder / "lib").symlink_to(OPTIONS.library.parent.parent)
        self.tune("gemm@1{m=4,n=2,k=5}")
        err = self.run_guest(f"chdir={hostile}", "products=3", f"await={self.database}", "sleep=2500",
                             preload="lib/attune/libattune_blas.so", ATTUNE_DB="t.db",
                             ATTUNE_BLAS_STATS="1")
        self.assertRegex(err, r"3 calls served")
        self.assertEqual(err.count("\n"), 1, err)
        self.assertEqual(sorted(path.name for path in hostile.glob("t.db*")), [])

    def test_a_relative_preload_reaches_what_the_program_starts_elsewhere(self):
        (self.folder / "lib").symlink_to(OPTIONS.library.parent.parent)
        hostile = self.folder / "hostile"
        (hostile / "lib/attune").mkdir(parents=True)
        (hostile / "lib/attune/libattune_blas.so").write_bytes(b"no library")
        self.tune("gemm@1{m=3,n=2,k=4}")
        for others in ("", ":libdl.so.2", " libdl.so.2"):
            with self.subTest(others):
                err = self.run_guest(f"chdir={hostile}", "exec", "products=1", "sleep=500",
                                     preload=f"lib/attune/libattune_blas.so{others}",
                                     ATTUNE_BLAS_STATS="1")
                self.assertRegex(err, r"1 calls? served")
                self.assertNotIn("cannot be preloaded", err)
        # Shells define their own setenv().
        environment = guest(self.folder, preload="lib/attune/libattune_blas.so")[1]
        done = subprocess.run(["bash", "-c", 'cd hostile && env'], env=environment, cwd=self.folder,
                              capture_output=True, text=True, check=False, timeout=TIMEOUT_S)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_relative_paths_of_code_are_refused(self):
        for variable in ("ATTUNE_BLAS_RUNTIME", "ATTUNE_BLAS_REAL"):
            command, environment = guest(self.folder, "products=1", **{variable: "./x.so"})
            done = subprocess.run(command, env=environment, cwd=self.folder, capture_output=True,
                                  text=True, check=False, timeout=TIMEOUT_S)
            self.assertIn(f"Cannot use {variable}: './x.so' is a relative path", done.stderr)

    def test_without_proc_the_own_blas_computes(self):
        command, environment = guest(self.folder, "products=3")
        script = 'umount -l /proc && exec "$0" "$@"'
        done = subprocess.run(["unshare", "--mount", "sh", "-c", script, *command],
                              env={**environment, "LD_PRELOAD": ""}, capture_output=True, text=True,
                              check=False, timeout=TIMEOUT_S)
        if done.returncode != 0:
            self.skipTest(f"/proc cannot be taken away here: {done.stderr}")
        script = 'umount -l /proc && LD_PRELOAD=$PRELOAD exec "$0" "$@"'
        done = subprocess.run(["unshare", "--mount", "sh", "-c", script, *command],
                              env={**environment, "LD_PRELOAD": "",
                                   "PRELOAD": str(OPTIONS.library)},
                              capture_output=True, text=True, check=False, timeout=TIMEOUT_S)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertFalse(self.database.exists())

    def test_nothing_is_loaded_from_the_same_paths_in_another_root(self):
        jail = self.folder / "jail"
        library = pathlib.Path(f"{jail}{OPTIONS.library}")
        (jail / "proc").mkdir(parents=True)
        library.parent.mkdir(parents=True)
        with contextlib.suppress(OSError):  # A hard link works only within one file system.
            library.hardlink_to(OPTIONS.library)
        if not library.exists():
            library.write_bytes(OPTIONS.library.read_bytes()[:512])
        for name in ("libattune.so", "libattune.so.1"):
            for place in (library.parent, library.parent.parent):
                (place / name).write_bytes(b"code of others")
        command, environment = guest(self.folder, f"chroot={jail}", "products=3")
        script = 'mount --bind /proc "$0" || exit 77; LD_PRELOAD=$PRELOAD exec "$@"'
        done = subprocess.run(["unshare", "--mount", "sh", "-c", script, str(jail / "proc"), *command],
                              env={**environment, "LD_PRELOAD": "", "PRELOAD": str(OPTIONS.library)},
                              capture_output=True, text=True, check=False, timeout=TIMEOUT_S)
        if "chroot" in done.stderr or "unshare" in done.stderr or done.returncode == 77:
            self.skipTest(f"the root cannot be changed here: {done.stderr}")
        self.assertEqual((done.returncode, done.stderr), (0, ""))


class Tuners(Guests):
    def test_none_outlives_a_program_that_has_become_a_daemon(self):
        command, environment = guest(self.folder, "products=3", f"await={self.database}",
                                     "sleep=2000", "daemon", "sleep=20000")
        parent = subprocess.Popen(command, env=environment, cwd=self.folder)
        while parent.poll() is None and not self.processes("attune-tuner"):
            time.sleep(0.05)
        self.assertNotEqual(self.processes("attune-tuner"), [])
        self.assertEqual(parent.wait(TIMEOUT_S), 0)
        tuners, daemons = self.remaining("attune-tuner"), self.processes(OPTIONS.guest.name)
        for process in daemons:
            os.kill(process, signal.SIGKILL)
        self.assertEqual((tuners, len(daemons)), ([], 1))


class Exit(Guests):
    def exit_s(self, *steps, **variables):
        stamp = self.folder / "stamp"
        self.run_guest(*steps, f"stamp={stamp}", **variables)
        return time.monotonic() - float(stamp.read_text(encoding="ascii"))

    def assert_quick(self, *steps, **variables):
        took_s = self.exit_s(*steps, **variables)
        if took_s <= LONGEST_EXIT_S:
            return
        # Without attune nothing makes the files that the program waits for.
        bare = [step for step in steps if not step.startswith("await=")]
        bare_s = statistics.median(self.exit_s(*bare, preload="") for _ in range(EXITS))
        if took_s > bare_s + LONGEST_EXIT_S:
            took_s = statistics.median(self.exit_s(*steps, **variables) for _ in range(EXITS))
        self.assertLessEqual(took_s, bare_s + LONGEST_EXIT_S, steps)

    def test_at_any_moment(self):
        for delay in (0, 10, 60, 100, 300, 1000, 2500):
            with self.subTest(delay=delay):
                self.assert_quick("products=5", f"sleep={delay}")

    def test_after_the_descriptors_were_taken(self):
        for delay in (500, 1000, 2000):
            with self.subTest(delay=delay):
                self.assert_quick("products=5", f"sleep={delay}", "closefrom=3", "sockets=8",
                                  "products=2")

    def test_in_the_child_of_a_fork(self):
        self.assert_quick("products=5", "sleep=500", "fork", "products=2")

    def test_while_a_thread_computes(self):
        self.assert_quick("products=5", "compute", "sleep=300")

    def test_while_threads_compute_with_each_solver(self):
        for choice in PRODUCT_SOLVERS * 4:
            with self.subTest(choice=choice):
                self.assert_quick("products=5", "compute", "compute", "compute", "sleep=200", **choice)

    def test_with_a_tuner_that_does_not_answer(self):
        tuner = self.folder / "silent"
        tuner.write_text(f"#!/bin/sh\ntrap '' TERM HUP INT\ntouch {self.folder}/begun\nexec sleep 60\n")
        tuner.chmod(0o755)
        self.assert_quick("products=5", "await=begun", "sleep=500", ATTUNE_TUNER=str(tuner))

    def test_with_a_database_that_is_locked(self):
        self.tune("gemm@1{m=3,n=2,k=4}")
        lock = sqlite3.connect(self.database, isolation_level=None)
        self.addCleanup(lock.close)
        lock.execute("PRAGMA locking_mode = EXCLUSIVE")
        lock.execute("BEGIN EXCLUSIVE")
        lock.execute("CREATE TABLE locked (a)")
        self.assert_quick("products=5", "sleep=300")

    def test_with_an_index_that_another_process_is_writing(self):
        self.tune("gemm@1{m=3,n=2,k=4}")
        pathlib.Path(f"{self.database}.index").unlink()
        turn = open(f"{self.database}.index.new", "w", encoding="ascii")
        self.addCleanup(turn.close)
        fcntl.flock(turn, fcntl.LOCK_EX)
        self.assert_quick("products=5", "sleep=300")


class Forks(Guests):
    def test_while_threads_compute_with_each_solver(self):
        for choice in PRODUCT_SOLVERS * 2:
            with self.subTest(choice=choice):
                self.run_guest("products=5", "compute", "compute", "compute", "forks=30", **choice)


class Threads(Guests):
    def test_a_blocked_signal_reaches_no_thread_of_attune(self):
        for choice in PRODUCT_SOLVERS:
            with self.subTest(choice=choice):
                self.run_guest("large=3", "own_signal", "products=5", "own_signal", **choice)

    def test_more_threads_than_a_library_was_built_for(self):
        for choice in ({}, {"ATTUNE_FORCE": "host.openblas-gemm"}):
            with self.subTest(choice=choice):
                self.run_guest("products=5", "crowd=200", **choice)


class Files(Guests):
    """Files are truncated, overwritten and deleted while attune serves a program from them."""

    def changed(self, change, **variables):
        process = self.start_guest("products=60:50", ATTUNE_BLAS_STATS="1", **variables)
        time.sleep(0.7)
        for _ in range(4):
            change()
            time.sleep(0.4)
        return self.finish(process)

    def setUp(self):
        super().setUp()
        self.tune("gemm@1{m=3,n=2,k=4}", "gemm@1{m=4,n=2,k=5}", "gemm@1{m=13,n=2,k=7}")
        self.index = pathlib.Path(f"{self.database}.index")
        self.good = self.index.read_bytes()

    def overwrite(self, path, content):
        """Overwrites a file in place, as `cp` and `rsync --inplace` do."""
        with open(path, "r+b") as file:
            file.truncate(0)
            file.write(content)

    def test_the_index(self):
        for name, content in {"cut": b"", "halved": self.good[:len(self.good) // 2],
                              "smaller": self.good[:100], "noise": os.urandom(len(self.good)),
                              "larger": self.good + bytes(10_000_000),
                              "the same": self.good}.items():
            with self.subTest(name):
                err = self.changed(lambda: self.overwrite(self.index, content))
                self.assertIn("60 calls served", err)

    def test_the_index_of_a_package(self):
        attune = [str(OPTIONS.attune), "--db", str(self.database)]
        (self.folder / "list.txt").write_text("gemm@1{m=3,n=2,k=4}\n")
        package = self.folder / "package"
        environment = guest(self.folder)[1]
        del environment["LD_PRELOAD"]
        for words in (["import", "list.txt", "--tag", "t"],
                      ["package", "create", "--tag", "t", "--device", "cpu", "-o", str(package)]):
            subprocess.run([*attune, *words], env=environment, cwd=self.folder, check=True,
                           capture_output=True, timeout=TIMEOUT_S)
        index, = package.glob("*index*")
        for content in (b"", b"noise" * 100):
            err = self.changed(lambda: self.overwrite(index, content), ATTUNE_DB="",
                               ATTUNE_PACKAGES=str(package))
            self.assertIn("60 calls served", err)

    def test_the_index_is_deleted(self):
        def delete():
            with contextlib.suppress(FileNotFoundError):
                self.index.unlink()
        self.assertIn("60 calls served", self.changed(delete))

    def test_the_files_of_the_database(self):
        for suffix in ("", "-wal", "-shm"):
            with self.subTest(suffix):
                def cut():
                    path = pathlib.Path(f"{self.database}{suffix}")
                    path.touch()
                    os.truncate(path, 0)
                self.assertIn("60 calls served", self.changed(cut))

    def test_the_state_of_the_log_is_cut_all_the_time(self):
        over = threading.Event()

        def cut():
            while not over.is_set():
                with contextlib.suppress(FileNotFoundError):
                    os.truncate(f"{self.database}-shm", 0)
        cutter = threading.Thread(target=cut)
        cutter.start()
        try:
            self.run_guest("products=40:50")
        finally:
            over.set()
            cutter.join()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for option in ("--attune", "--library", "--guest"):
        parser.add_argument(option, type=pathlib.Path, required=True)
    OPTIONS, rest = parser.parse_known_args()
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    unittest.main(argv=["guests.py", *rest], verbosity=2)
