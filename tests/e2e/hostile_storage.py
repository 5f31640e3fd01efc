"""A database that is foreign, a folder, locked, or on a disk that fills up, and a full disk for what
is printed: the program says what is wrong in a sentence, exits with 1 (2 if the path itself is the
mistake), and leaves what is there alone."""

import contextlib
import os
import pathlib
import sqlite3

import program


def test_not_a_database(attune):
    path = attune.folder / "text.db"
    path.write_text("This is no database at all, but a text of some length.\n" * 50)
    _, err = attune.run("problems", "--db", str(path), status=1)
    program.check("text.db" in err and err.count("\n") == 1, err)
    program.check(path.read_text().startswith("This is no database"), "The file was changed.")


def test_folder_instead_of_file(attune):
    (attune.folder / "folder.db").mkdir()
    _, err = attune.run("problems", "--db", "folder.db", status=2)
    program.check("folder.db" in err, err)


def test_locked(attune):
    attune.run("import", attune.write_problems(2), "--tag", "t", "--db", "locked.db")
    with sqlite3.connect(attune.folder / "locked.db", isolation_level=None) as lock:
        lock.execute("BEGIN IMMEDIATE")
        _, err = attune.run("import", attune.write_problems(3), "--tag", "t", "--db", "locked.db",
                            status=1)
        lock.execute("ROLLBACK")
    program.check("locked" in err or "writes" in err or "busy" in err, err)
    attune.run("import", attune.write_problems(3), "--tag", "t", "--db", "locked.db")


def test_full_output(attune):
    """A list to /dev/full, which fails on the first write as a full disk does."""
    if not pathlib.Path("/dev/full").exists():
        return
    attune.run("import", attune.write_problems(2), "--tag", "t")
    status = os.system(f"cd {attune.folder} && XDG_DATA_HOME={attune.folder}/data "
                       f"{attune.binary} problems --tag t > /dev/full 2> err.txt")
    program.check(os.waitstatus_to_exitcode(status) == 1, f"exit {status}")
    err = (attune.folder / "err.txt").read_text()
    program.check("No space left" in err, err)


def rows(path):
    """(trials, finished sets, integrity) of a database."""
    with contextlib.closing(sqlite3.connect(path)) as records:
        return (records.execute("SELECT COUNT(*) FROM trial").fetchone()[0],
                records.execute("SELECT COUNT(*) FROM set_progress WHERE finished").fetchone()[0],
                records.execute("PRAGMA integrity_check").fetchone()[0])


def test_disk_fills_up(attune):
    """A tuning run ends with the reason; what was there stays, and with room the run goes on."""
    tune = ("tune", "--tag", "t", "--device", "fake", "--per-problem", "60ms")
    with program.small_disk(attune.folder / "small", 4096) as folder:
        if folder is None:
            print("skipped: a disk that fills up needs root and the right to mount a tmpfs")
            return
        path = folder / "records.db"
        attune.run("import", attune.write_problems(20), "--tag", "t", "--db", str(path))
        attune.run(*tune, "--budget", "200ms", "--db", str(path), status=3)
        before = rows(path)
        ballast = folder / "ballast"
        left = os.statvfs(folder)
        ballast.write_bytes(bytes(max(left.f_bavail * left.f_frsize - 16384, 0)))
        _, err = attune.run(*tune, "--retune", "--db", str(path), status=1)
        program.check("full" in err or "space" in err, err)
        ballast.unlink()
        after = rows(path)
        program.check(after[2] == "ok" and after[0] >= before[0] and after[1] >= before[1],
                      f"{before} became {after}")
        summary = attune.json(*tune, "--db", str(path))
        program.check(summary["tuned"] + summary["already_tuned"] == 20, summary)


def test(attune):
    test_not_a_database(attune)
    test_folder_instead_of_file(attune)
    test_locked(attune)
    test_full_output(attune)
    test_disk_fills_up(attune)


program.main(test)
