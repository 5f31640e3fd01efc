"""Processes that import databases of MIOpen's into one database at the same time, and some that are
killed at it: one import of each file is kept, and what nobody finishes goes."""

import contextlib
import os
import signal
import sqlite3
import time

import program

# So many that an import takes several transactions.
RECORDS = 60_000
FILE = "gfx906_60.HIP.fdb.txt"
OTHER = "gfx90878.HIP.fdb.txt"


def write_find_db(attune, name):
    with open(attune.folder / name, "w", encoding="ascii") as file:
        for i in range(RECORDS):
            file.write(f"64-{100000 + i}-56-3x3-64-{100000 + i}-56-32-1x1-1x1-1x1-0-NCHW-FP32-F="
                       "ConvAsm3x3U:0.25,0,miopenConvolutionFwdAlgoDirect\n")


def start(attune, name, database):
    return attune.start("miopen", "import", name, "--db", database)


def finish(process):
    out, err = process.communicate(timeout=program.TIMEOUT_S)
    program.check(process.returncode == 0, f"exit {process.returncode}\n{out}\n{err}")
    return out


@contextlib.contextmanager
def opened(attune, database):
    with contextlib.closing(sqlite3.connect(attune.folder / database, timeout=30)) as connection:
        yield connection


def rows(attune, database):
    """The numbers of files and of lines, finished or not."""
    with opened(attune, database) as connection:
        return tuple(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
                     for table in ("imported_file", "imported_line"))


def wait_for_lines(attune, process, database):
    """Until an import under way has left some of its lines in the database."""
    while True:
        program.check(process.poll() is None, "The import ended before it could be killed.")
        if (attune.folder / database).exists():
            with contextlib.suppress(sqlite3.OperationalError):
                if 0 < rows(attune, database)[1] % RECORDS:
                    return
        time.sleep(0.001)


def stop_between_transactions(attune, process, database):
    """Stops a process where it lets others write."""
    while True:
        wait_for_lines(attune, process, database)
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        with contextlib.closing(sqlite3.connect(attune.folder / database, timeout=0,
                                                isolation_level=None)) as connection:
            with contextlib.suppress(sqlite3.OperationalError):
                connection.execute("BEGIN IMMEDIATE")
                connection.execute("ROLLBACK")
                return
        process.send_signal(signal.SIGCONT)


def at_the_same_time(attune):
    said = [finish(each) for each in [start(attune, FILE, "same.db") for _ in range(3)]]

    imported = [out for out in said if f"{RECORDS} records imported" in out]
    known = [out for out in said if "known already" in out]
    program.check((len(imported), len(known)) == (1, 2), said)
    program.check(rows(attune, "same.db") == (1, RECORDS), rows(attune, "same.db"))


def killed(attune):
    """The next import removes what one that was killed left, and nothing of one that lives."""
    process = start(attune, FILE, "killed.db")
    wait_for_lines(attune, process, "killed.db")
    process.kill()
    process.communicate(timeout=program.TIMEOUT_S)
    files, lines = rows(attune, "killed.db")
    program.check(files == 1 and 0 < lines < RECORDS, (files, lines))

    # The killed one is removed by this one before it writes.
    living = start(attune, OTHER, "killed.db")
    stopped = False
    while not stopped:
        with opened(attune, "killed.db") as connection:
            targets = [row[0] for row in connection.execute("SELECT target FROM imported_file")]
        if targets == ["gfx90878"]:
            stop_between_transactions(attune, living, "killed.db")
            stopped = True
        program.check(living.poll() is None, "The import ended before it could be stopped.")
    program.check("imported for gfx906_60" in finish(start(attune, FILE, "killed.db")), "again")
    program.check(rows(attune, "killed.db")[0] == 2, rows(attune, "killed.db"))
    living.send_signal(signal.SIGCONT)
    program.check("imported for gfx90878" in finish(living), "the one that lived")
    program.check(rows(attune, "killed.db") == (2, 2 * RECORDS), rows(attune, "killed.db"))


def test(attune):
    for name in (FILE, OTHER):
        write_find_db(attune, name)
    at_the_same_time(attune)
    killed(attune)


program.main(test)
