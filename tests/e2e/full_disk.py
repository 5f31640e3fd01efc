"""A database on a disk that fills up while it is tuned into."""

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


def test(attune):
    """A tuning run ends with the reason; what was there stays, and with room the run goes on."""
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


program.main(test)
