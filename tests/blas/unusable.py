#!/usr/bin/env python3
"""attune reports an unusable database or results file once, on the terminal of its user.

  unusable.py --attune PROGRAM --attune-library libattune.so --library libattune_blas.so
              --caller PROGRAM
"""

import contextlib
import os
import pathlib
import socket
import sqlite3
import subprocess
import tempfile
import threading
import unittest

import interposers

FILES = None
NOBODY = 65534
PROBLEM = "gemm@1{m=30,n=20,k=20,type=f64}"
KEY = "GemmTunableOp_double_NN,nn_30_20_20_ld_30_20_30"


def environment(**variables):
    return {**interposers.outside_environment(), "ATTUNE_DEVICE": "cpu", **variables}


class Tests(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="attune-unusable-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_program(self, *command, **options):
        variables = options.pop("variables", {})
        return subprocess.run([str(word) for word in command], env=environment(**variables),
                              capture_output=True, text=True, timeout=120, check=False, **options)

    def verb(self, database, *program, **options):
        return self.run_program(FILES.attune, "--db", database, "blas", "--", *program, **options)

    def preloaded(self, database, *program, **variables):
        return self.run_program(*program, variables={
            "LD_PRELOAD": interposers.preloads(FILES.library),
            "ATTUNE_BLAS_RUNTIME": FILES.attune_library, "ATTUNE_DB": str(database), **variables})

    def text_file(self):
        path = self.folder / "text.db"
        path.write_text("this is the text file of somebody else " * 10, encoding="utf-8")
        return path

    def made(self, name, statement):
        """Makes a database of attune and changes it."""
        path = self.folder / name
        self.run_program(FILES.attune, "--db", path, "session", "new", "s", "--device", "cpu")
        with contextlib.closing(sqlite3.connect(path)) as records:
            records.execute(statement)
            records.commit()
        return path

    def unusable(self):
        empty = self.folder / "empty.db"
        empty.touch()
        others = self.folder / "others.db"
        with contextlib.closing(sqlite3.connect(others)) as records:
            records.execute("CREATE TABLE songs (name)")
        newer = self.made("newer.db", "INSERT INTO migration SELECT 99, name, applied_unix_ns, "
                                      "checksum FROM migration WHERE version = 1"
                          if self.has_checksum() else
                          "INSERT INTO migration VALUES (99, 'later', 0)")
        return [(self.text_file(), "is not a database"), (empty, "empty"),
                (others, "another program"), (newer, "99"), (self.folder, "no regular file"),
                (pathlib.Path("/proc/x.db"), "/proc"),
                (self.folder / "missing/x.db", "no folder"),
                (self.beside_a_pipe(), "beside it is no regular file")]

    def beside_a_pipe(self):
        path = self.made("pipe.db", "SELECT 1")
        os.mkfifo(f"{path}-journal")
        return path

    def has_checksum(self):
        return False


class Databases(Tests):
    def test_the_command_tells_once_before_the_program_starts(self):
        for database, reason in self.unusable():
            process = self.verb(database, "sh", "-c",
                                f"{FILES.caller} calls=3; {FILES.caller} calls=3")
            self.assertEqual(process.returncode, 0, process.stderr)
            self.assertEqual(process.stderr.count("cannot use the database"), 1,
                             f"{database}: {process.stderr}")
            self.assertIn(reason, process.stderr)
            self.assertIn("hint: name another one with --db FILE", process.stderr)

    def test_one_process_of_a_tree_tells_without_the_command(self):
        for database, reason in self.unusable():
            # The first three live until one of them has told; the last one finds that it was told.
            script = (f"exec 3<&0; for i in 1 2 3; do {FILES.caller} calls=3 until_eof <&3 & done; wait; "
                      f"{FILES.caller} calls=3")
            process = subprocess.Popen(
                ["sh", "-c", script], text=True, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env=environment(LD_PRELOAD=interposers.preloads(FILES.library),
                                ATTUNE_BLAS_RUNTIME=FILES.attune_library,
                                ATTUNE_DB=str(database)))
            end_if_nothing_is_told = threading.Timer(60, process.kill)
            end_if_nothing_is_told.start()
            told = process.stderr.readline()
            _, rest = process.communicate()
            end_if_nothing_is_told.cancel()
            self.assertEqual(process.returncode, 0, told + rest)
            self.assertEqual((told + rest).count("cannot use the database"), 1,
                             f"{database}: {told}{rest}")
            self.assertIn(reason, told + rest)

    def test_one_in_a_folder_that_was_deleted_is_told(self):
        gone = self.folder / "gone"
        for name in ("t.db", "./t.db", "sqlite:t.db"):
            gone.mkdir()
            process = self.run_program(
                "sh", "-c", f'cd {gone} && rmdir {gone} && exec "$@"', "sh", FILES.attune, "--db",
                name, "blas", "--", FILES.caller, "calls=1")
            self.assertEqual(process.returncode, 0, process.stderr)
            self.assertEqual(process.stderr.count("cannot use the database"), 1, process.stderr)

    def test_one_that_may_not_be_read_is_told(self):
        if os.geteuid() != 0:
            self.skipTest("it takes the superuser to become another user")
        self.folder.chmod(0o755)
        database = self.text_file()
        database.chmod(0o600)
        process = self.verb(database, FILES.caller, "calls=1", user=NOBODY)
        self.assertEqual(process.stderr.count("cannot use the database"), 1, process.stderr)
        self.assertIn("Permission denied", process.stderr)

    def test_one_that_is_not_there_yet_is_no_news(self):
        process = self.verb(self.folder / "new.db", FILES.caller, "calls=1")
        self.assertEqual(process.stderr, "")
        process = self.preloaded(self.folder / "new.db", FILES.caller, "calls=1")
        self.assertEqual(process.stderr, "")

    def test_a_program_that_is_only_served_needs_none(self):
        process = self.verb("/proc/x.db", FILES.caller, "calls=1",
                            variables={"ATTUNE_POLICY": "never"})
        self.assertEqual(process.stderr, "")

    def test_explain_has_the_reason(self):
        process = self.run_program(FILES.attune, "--db", self.text_file(), "explain", PROBLEM)
        self.assertIn("not a database", process.stdout + process.stderr)

    def test_nothing_is_written_to_a_file_of_the_program(self):
        output = self.folder / "data"
        process = self.preloaded(self.text_file(), FILES.caller, f"stderr={output}", "calls=5",
                                 ATTUNE_SUMMARY="1", ATTUNE_BLAS_STATS="1")
        self.assertEqual(process.returncode, 0)
        self.assertEqual(output.read_bytes(), b"")

    def test_nothing_is_written_where_standard_error_was_closed(self):
        output = self.folder / "data"
        command = f"exec {FILES.caller} stderr={output} calls=5 2>&-"
        process = self.preloaded(self.text_file(), "sh", "-c", command, ATTUNE_SUMMARY="1",
                                 ATTUNE_BLAS_STATS="1")
        self.assertEqual(process.returncode, 0)
        self.assertEqual(output.read_bytes(), b"")

    def test_a_standard_error_that_nobody_reads_ends_no_program(self):
        reader, writer = os.pipe()
        os.close(reader)
        process = subprocess.run(
            [FILES.caller, "calls=5"], stderr=writer, timeout=120, check=False,
            preexec_fn=lambda: __import__("signal").signal(13, 0),
            env=environment(LD_PRELOAD=interposers.preloads(FILES.library),
                            ATTUNE_BLAS_RUNTIME=FILES.attune_library,
                            ATTUNE_DB=str(self.text_file()), ATTUNE_SUMMARY="1",
                            ATTUNE_BLAS_STATS="1"))
        os.close(writer)
        self.assertEqual(process.returncode, 0)

    def test_a_full_standard_error_stops_no_program(self):
        text = str(self.text_file())
        preloaded = {"LD_PRELOAD": interposers.preloads(FILES.library),
                     "ATTUNE_BLAS_RUNTIME": FILES.attune_library, "ATTUNE_BLAS_STATS": "1",
                     "ATTUNE_SUMMARY": "1"}
        verb = (FILES.attune, "blas", "--stats")
        for command, variables in (
                ((), {**preloaded, "ATTUNE_DB": str(self.folder)}),
                ((), {**preloaded, "ATTUNE_DB": text}),
                ((), {**preloaded, "ATTUNE_DB": text, "ATTUNE_BLAS": "record"}),
                ((*verb, "--"), {"ATTUNE_DB": text}),
                ((*verb, "--record", "t", "--"), {"ATTUNE_DB": text}),
                ((*verb, "--record", "t", "--"), {"ATTUNE_DB": str(self.folder / "new.db")})):
            for make in (os.pipe, lambda: [end.detach() for end in socket.socketpair()]):
                reader, writer = make()
                os.set_blocking(writer, False)
                with contextlib.suppress(BlockingIOError):
                    while True:
                        os.write(writer, bytes(1))
                os.set_blocking(writer, True)
                process = subprocess.run(
                    [*command, FILES.caller, "calls=5"], stderr=writer, timeout=20, check=False,
                    env=environment(**variables))
                os.close(reader)
                os.close(writer)
                self.assertEqual(process.returncode, 0, (command, variables))

    def test_a_name_with_quotes_is_usable(self):
        database = self.folder / "a \"b\".db"
        made = self.run_program(FILES.attune, "--db", database, "session", "new", "s", "--device",
                                "cpu")
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertEqual(self.verb(database, FILES.caller, "calls=1").stderr, "")
        self.assertEqual(self.preloaded(database, FILES.caller, "calls=1").stderr, "")

    def test_a_typo_in_a_switch_still_ends_the_program(self):
        output = self.folder / "data"
        process = self.preloaded("", FILES.caller, f"stderr={output}", "calls=5",
                                 ATTUNE_BLAS="sreve")
        self.assertEqual(process.returncode, -6)
        self.assertEqual(output.read_bytes(), b"")


class Results(Tests):
    def explain(self, *lines, **variables):
        (self.folder / "results0.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        process = self.run_program(FILES.attune, "explain", PROBLEM, variables={
            "ATTUNE_DB": "", "ATTUNE_TUNABLE_ENABLED": "1", "ATTUNE_TUNABLE_TUNING": "0",
            "HOME": str(self.folder), "XDG_DATA_HOME": str(self.folder),
            "ATTUNE_TUNABLE_FILENAME": str(self.folder / "results.csv"), **variables})
        self.assertEqual(process.returncode, 0, process.stderr)
        return process

    def test_a_time_that_cannot_be_one_is_named_by_its_line(self):
        for time in ("inf", "-inf", "nan", "-1", "0", "-0.0", "1e400", "1e300", "1e-300", "0x10",
                     "infinity", "", "12ms"):
            shown = self.explain(f"# {time}", f"{KEY},host.eigen-gemm,{time}")
            self.assertNotIn("measured:", shown.stdout, time)
            self.assertIn(f"{self.folder}/results0.csv:2: ", shown.stdout, time)

    def test_columns_in_double_quotes_are_read(self):
        columns = [*KEY.split(","), "host.eigen-gemm", "0.02"]
        shown = self.explain(",".join(f'"{column}"' for column in columns))
        self.assertIn("measured:", shown.stdout)
        self.assertNotIn("results0.csv:1", shown.stdout)

    def test_lines_that_cannot_be_read_are_shown_without_a_verbose_flag(self):
        shown = self.explain("garbage", f"{KEY},host.eigen-gemm,0.02", '"GemmTunableOp_double_NN,x,y')
        self.assertIn("measured:", shown.stdout)
        self.assertIn("results0.csv:1: ", shown.stdout)
        self.assertIn("results0.csv:3: ", shown.stdout)
        self.assertEqual(shown.stderr, "")

    def test_a_file_that_cannot_be_used_is_told_once(self):
        os.mkdir(self.folder / "results0.csv")
        process = self.preloaded(
            "", "sh", "-c", f"{FILES.caller} calls=1; {FILES.caller} calls=1",
            ATTUNE_TUNABLE_ENABLED="1", ATTUNE_TUNABLE_TUNING="0",
            ATTUNE_TUNABLE_FILENAME=str(self.folder / "results.csv"))
        self.assertEqual(process.returncode, 0)
        self.assertEqual(process.stderr.count("cannot use the results file"), 1, process.stderr)
        self.assertIn("hint: ", process.stderr)

    def test_a_file_without_a_result_that_holds_here_is_told_once(self):
        cases = {"random bytes": (os.urandom(3000), "No result of"),
                 "an unreadable line": (b"garbage\n", "Line 1: "),
                 "results of another version": (f"Validator,ATTUNE_VERSION,9.9.9\n{KEY},host.eigen-gemm,0.02\n".encode(),
                                                "ATTUNE_VERSION"),
                 "an empty file": (b"", "has no results"),
                 "no file": (None, "There is no file")}
        for name, (content, reason) in cases.items():
            file = self.folder / f"{name}.csv"
            if content is not None:
                file.write_bytes(content)
            twice = ("sh", "-c", f"{FILES.caller} calls=1; {FILES.caller} calls=1")
            variables = {"ATTUNE_TUNABLE_ENABLED": "1", "ATTUNE_TUNABLE_TUNING": "0",
                         "ATTUNE_TUNABLE_FILENAME": str(file)}
            for process in (self.preloaded("", *twice, **variables),
                            self.run_program(FILES.attune, "blas", "--", *twice,
                                             variables={"ATTUNE_DB": "", **variables})):
                self.assertEqual(process.returncode, 0, process.stderr)
                self.assertEqual(process.stderr.count("cannot use the results file"), 1,
                                 f"{name}: {process.stderr}")
                self.assertIn(reason, process.stderr, name)

    def test_a_file_that_gets_results_or_has_one_is_no_news(self):
        file = self.folder / "new.csv"
        for content, tuning in ((None, "1"), (f"garbage\n{KEY},host.eigen-gemm,0.02\n", "0")):
            if content is not None:
                file.write_text(content, encoding="utf-8")
            process = self.preloaded("", FILES.caller, "calls=1", ATTUNE_TUNABLE_ENABLED="1",
                                     ATTUNE_TUNABLE_TUNING=tuning, ATTUNE_TUNABLE_FILENAME=str(file),
                                     ATTUNE_POLICY="never")
            self.assertEqual((process.returncode, process.stderr), (0, ""))

    def test_what_is_too_large_or_never_ends_is_refused_without_being_read(self):
        large = self.folder / "large.csv"
        large.touch()
        os.truncate(large, 400 << 20)
        for file, reason in (("/dev/zero", "is a device"), (str(large), "longer than 67108864")):
            process = self.preloaded("", FILES.caller, "calls=1", ATTUNE_TUNABLE_ENABLED="1",
                                     ATTUNE_TUNABLE_TUNING="0", ATTUNE_TUNABLE_FILENAME=file)
            self.assertEqual(process.returncode, 0, process.stderr)
            self.assertIn(reason, process.stderr)


    def test_the_command_tells_of_a_file_that_cannot_be_used(self):
        os.mkdir(self.folder / "results0.csv")
        process = self.run_program(
            FILES.attune, "blas", "--", "sh", "-c",
            f"{FILES.caller} calls=1; exec {FILES.caller} calls=1 2>&-", variables={
                "ATTUNE_DB": "", "ATTUNE_TUNABLE_ENABLED": "1", "ATTUNE_TUNABLE_TUNING": "0",
                "ATTUNE_TUNABLE_FILENAME": str(self.folder / "results.csv")})
        self.assertEqual(process.returncode, 0)
        self.assertEqual(process.stderr.count("cannot use the results file"), 1, process.stderr)
        self.assertIn("attune blas: cannot use", process.stderr)


class Others(Tests):
    def told_once(self, subject, reason, **variables):
        process = self.preloaded(variables.pop("database", ""), "sh", "-c",
                                 f"{FILES.caller} calls=1; {FILES.caller} calls=1", **variables)
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual(process.stderr.count(subject), 1, process.stderr)
        self.assertIn(reason, process.stderr)

    def test_a_package_that_cannot_be_used_is_told_once(self):
        broken = self.folder / "broken"
        broken.mkdir()
        (broken / "manifest.json").write_text("{", encoding="utf-8")
        for package in (self.folder / "missing", broken):
            self.told_once("cannot use the package", str(package), ATTUNE_PACKAGES=str(package))

    def test_a_database_on_a_server_is_told_once(self):
        for url in ("postgresql://me@here/attune", "mysql://me@here/attune"):
            for variables in ({}, {"ATTUNE_POLICY": "inline"}):
                self.told_once("cannot use the database", "on a server", database=url, **variables)

    def test_a_damaged_index_is_told_once(self):
        database = self.folder / "tuned.db"
        self.run_program(FILES.attune, "--db", database, "tune", "--device", "cpu", "--problem", PROBLEM,
                         "--candidates", "2", "--per-problem", "0")
        index = pathlib.Path(f"{database}.index")
        self.assertTrue(index.exists())
        index.write_bytes(b"damaged " * 100)
        self.told_once("index of the database", "damaged", database=database, ATTUNE_POLICY="never")


def main():
    global FILES
    FILES, rest = interposers.parse_files()
    unittest.main(argv=["unusable.py", *rest], verbosity=2)


if __name__ == "__main__":
    main()
