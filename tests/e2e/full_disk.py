"""A database on a disk that fills up while it is tuned into, and others that fill up."""

import contextlib
import os
import sqlite3

import program

TUNE = ("tune", "--tag", "t", "--device", "fake", "--per-problem", "60ms")


def rows(path):
    """(trials, finished sets, integrity) of a database."""
    with contextlib.closing(sqlite3.connect(path)) as records:
        return (records.execute("SELECT COUNT(*) FROM trial").fetchone()[0],
                records.execute("SELECT COUNT(*) FROM set_progress WHERE finished").fetchone()[0],
                records.execute("PRAGMA integrity_check").fetchone()[0])


def package_onto_a_full_disk(attune):
    """A package that does not fit says what it needs, and leaves nothing behind."""
    own = ("--db", "packed.db")
    attune.run("import", attune.write_problems(4), "--tag", "p", *own)
    attune.run("session", "new", "s", "--device", "fake", *own)
    attune.run("tune", "--session", "s", "--tag", "p", "--per-problem", "60ms", *own)
    attune.run("golden", "create", "1", *own)
    attune.run("golden", "add", "1", "--session", "s", *own)
    words = ("golden", "export", "1", "--with-kernels", *own)
    kernels = attune.json(*words, "-o", "whole")["kernels"]
    with program.small_disk(attune.folder / "narrow", 1024) as folder:
        ballast = folder / "ballast"
        seen = set()
        for room in (0, 4096, 16384, 20480, 24576, 28672):
            ballast.unlink(missing_ok=True)
            left = os.statvfs(folder)
            ballast.write_bytes(bytes(max(left.f_bavail * left.f_frsize - room, 0)))
            process = attune.start(*words, "-o", str(folder / "package"))
            _, err = process.communicate(timeout=program.TIMEOUT_S)
            if process.returncode == 0:
                break
            program.check(process.returncode == 1, err)
            program.check(not (folder / "package").exists(), f"{room}: half of it is there")
            if " had " not in err:
                continue  # Not even the folder had room.
            program.check(f"'{folder / 'package'}' had 0 of {kernels if 'at least' in err else 0} "
                          "kernels by then" in err, err)
            program.check("Nothing of it is kept. Make room, or name a folder on another disk" in
                          err, err)
            seen.add("at least" in err)
        program.check(True in seen, f"No kernel was in need of room: {seen}")


def database_onto_a_full_disk(attune):
    """A database is made whole or not at all, however little room there is."""
    seen = set()
    with program.small_disk(attune.folder / "tight", 2048) as folder:
        ballast = folder / "ballast"
        path = folder / "made.db"
        for room in (64, 200, 300, 400, 450, 500, 700, 1500):
            ballast.unlink(missing_ok=True)
            left = os.statvfs(folder)
            ballast.write_bytes(bytes(max(left.f_bavail * left.f_frsize - room * 1024, 0)))
            process = attune.start("session", "new", "s", "--device", "fake", "--db", str(path))
            _, err = process.communicate(timeout=program.TIMEOUT_S)
            seen.add(process.returncode)
            if process.returncode == 0:
                program.check(rows(path)[2] == "ok", f"{room} KiB")
                attune.run("session", "show", "s", "--db", str(path))
                for suffix in ("", "-wal", "-shm"):
                    (folder / f"made.db{suffix}").unlink(missing_ok=True)
                continue
            program.check(process.returncode == 1 and ("full" in err or "space" in err),
                          f"{room} KiB: {process.returncode}: {err}")
            ballast.unlink()
            if path.exists():  # It was made, and the session found no room in it.
                program.check(rows(path)[2] == "ok", f"{room} KiB")
                path.unlink()
    program.check(seen == {0, 1}, f"All or none found room: {seen}")


def reference_onto_a_full_disk(attune):
    """The input of a reference program does not fit into the folder for temporary files: that is no
    property of the problem, and another folder helps."""
    usable = {device["spec"] for backend in attune.json("devices")["backends"]
              for device in backend["devices"] if device["usable"]}
    if "opencl:0" not in usable:
        return
    kernel = ("--kernel", str(attune.data / "own_kernel" / "axpy.json"), "--size", "n=100000")
    with program.small_disk(attune.folder / "temporary", 64) as folder:
        _, err = attune.run("tune", *kernel, "--budget", "20s", "--db", "own.db", status=1,
                            TMPDIR=str(folder))
    program.check("1 failed" in err and "No space left" in err and "TMPDIR" in err, err)


def test(attune):
    """A tuning run ends with the reason; earlier results stay, and with room the run resumes."""
    with program.small_disk(attune.folder / "small", 4096) as folder:
        path = folder / "records.db"
        attune.run("import", attune.write_problems(20), "--tag", "t", "--db", str(path))
        attune.run(*TUNE, "--budget", "200ms", "--db", str(path), status=3)
        before = rows(path)
        ballast = folder / "ballast"
        left = os.statvfs(folder)
        ballast.write_bytes(bytes(max(left.f_bavail * left.f_frsize - 16384, 0)))
        _, err = attune.run(*TUNE, "--retune", "--db", str(path), status=1)
        program.check("full" in err or "space" in err, err)
        ballast.unlink()
        after = rows(path)
        program.check(after[2] == "ok" and after[0] >= before[0] and after[1] >= before[1],
                      f"{before} became {after}")
        summary = attune.json(*TUNE, "--db", str(path))
        program.check(summary["tuned"] + summary["already_tuned"] == 20, summary)
    package_onto_a_full_disk(attune)
    database_onto_a_full_disk(attune)
    reference_onto_a_full_disk(attune)


program.main(test)
