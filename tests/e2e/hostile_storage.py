"""A database that is foreign, a folder, locked or damaged, and a full disk for what is printed: the
program says what is wrong in a sentence, exits with 1 (2 if the path itself is the mistake), and
leaves what is there alone."""

import contextlib
import os
import sqlite3

import program

TUNE = ("tune", "--tag", "t", "--device", "fake", "--per-problem", "60ms")


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
    attune.run("import", attune.write_problems(2), "--tag", "t")
    status = os.system(f"cd {attune.folder} && XDG_DATA_HOME={attune.folder}/data "
                       f"{attune.binary} problems --tag t > /dev/full 2> err.txt")
    program.check(os.waitstatus_to_exitcode(status) == 1, f"exit {status}")
    err = (attune.folder / "err.txt").read_text()
    program.check("No space left" in err, err)


def test_locked_while_tuning(attune):
    """Another process writes for longer than the run waits: it records nothing and reports it."""
    attune.run("import", attune.write_problems(2), "--tag", "t", "--db", "locked_tune.db")
    path = attune.folder / "locked_tune.db"
    with sqlite3.connect(path, isolation_level=None) as lock:
        lock.execute("BEGIN IMMEDIATE")
        _, err = attune.run(*TUNE, "--db", "locked_tune.db", status=1)
        lock.execute("ROLLBACK")
    program.check(err.splitlines()[-1] ==
                  f"attune tune: Database '{path}' has been locked by another process for more "
                  f"than 5000 ms. Wait until it is done (`fuser {path}` shows which one it is), "
                  "or use another database.", err)
    summary = attune.json(*TUNE, "--db", "locked_tune.db")
    program.check(summary["tuned"] == 2 and summary["already_tuned"] == 0, summary)


def damaged(whole):
    """Damages to a database, and the message after its path for each."""
    malformed = "is damaged: database disk image is malformed (in: "
    return {
        "its first bytes": (b"\xff" * 100 + whole[100:],
                            "is not a database, or its first bytes are damaged. Move it away to "
                            "start a new one."),
        "its schema": (whole[:100] + b"\xff" * 200 + whole[300:], malformed),
        "its second half is gone": (whole[:len(whole) // 2], malformed),
        "all pages but the first": (whole[:4096] + b"\xa5" * (len(whole) - 4096), malformed),
        "all pages but three": (whole[:3 * 4096] + bytes(len(whole) - 3 * 4096), "is damaged: "),
    }


def test_damaged(attune):
    """A database that was tuned into, then damaged: reported by who would write and who reads, and
    left as it is."""
    attune.run("import", attune.write_problems(40), "--tag", "t", "--db", "sound.db")
    attune.run(*TUNE, "--db", "sound.db")
    with contextlib.closing(sqlite3.connect(attune.folder / "sound.db")) as records:
        records.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    whole = (attune.folder / "sound.db").read_bytes()
    for number, (what, (content, reason)) in enumerate(damaged(whole).items()):
        path = attune.folder / f"damaged{number}.db"
        path.write_bytes(content)
        for words in ((*TUNE, "--retune"), ("best", "--tag", "t")):
            _, err = attune.run(*words, "--db", path.name, status=1)
            program.check(err.startswith(f"attune {words[0]}: ") and f"'{path}' {reason}" in err and
                          err.count("\n") == 1, f"{what}: {err}")
            if reason.startswith("is damaged"):
                program.check(
                    err.endswith(f"`sqlite3 {path} .recover` may save what is left.\n"), err)
        program.check(path.read_bytes() == content, f"{what}: The file was changed.")


def test_overwritten_while_tuning(attune):
    """The same file, other bytes: what the run wrote is gone, and it does not end as if it were not."""
    attune.run("import", attune.write_problems(2), "--tag", "t", "--db", "other.db")
    other = (attune.folder / "other.db").read_bytes()
    for what, content in (("text", b"This is no database.\n" * 500), ("nothing", b""),
                          ("another database", other)):
        path = attune.folder / f"{what.split()[0]}_over.db"
        attune.run("import", attune.write_problems(2), "--tag", "t", "--db", path.name)
        process = attune.start("tune", "--tag", "t", "--device", "fake", "--per-problem", "2s",
                               "--db", path.name)
        process.stderr.readline()  # It has begun.
        path.write_bytes(content)
        out, err = process.communicate(timeout=program.TIMEOUT_S)
        program.check(process.returncode == 1, f"{what}: exit {process.returncode}\n{out}\n{err}")
        program.check(f"{path.name}' " in err.splitlines()[-1], f"{what}: {err}")


def test(attune):
    test_not_a_database(attune)
    test_folder_instead_of_file(attune)
    test_locked(attune)
    test_locked_while_tuning(attune)
    test_damaged(attune)
    test_overwritten_while_tuning(attune)
    test_full_output(attune)


program.main(test)
