"""A database that is locked, damaged, foreign, unwritable or on a full disk: the program says what is
wrong in a sentence, exits with 1 (2 if the path itself is the mistake), leaves what is there alone."""

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


def test_full_disk(attune):
    """A report to /dev/full, which fails on the first write as a full disk does."""
    if not pathlib.Path("/dev/full").exists():
        return
    attune.run("import", attune.write_problems(2), "--tag", "t")
    status = os.system(f"cd {attune.folder} && XDG_DATA_HOME={attune.folder}/data "
                       f"{attune.binary} problems --tag t > /dev/full 2> err.txt")
    program.check(os.waitstatus_to_exitcode(status) == 1, f"exit {status}")
    err = (attune.folder / "err.txt").read_text()
    program.check("No space left" in err, err)


def test(attune):
    test_not_a_database(attune)
    test_folder_instead_of_file(attune)
    test_locked(attune)
    test_full_disk(attune)


program.main(test)
