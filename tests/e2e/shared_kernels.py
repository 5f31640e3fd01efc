"""One worker measures kernels that another one has compiled, though their kernel caches share
nothing: kernels go through the database. Damaged ones are named, and compiled again."""

import contextlib
import sqlite3

import program

DB = ("--db", "fleet.db")
SESSION = ("--session", "may")
CONFIGS = 24  # The configs of fake.tiled: fewer than are compiled ahead.


def kernels(attune, cache):
    """{name of the file: bytes} of one kernel cache."""
    return {path.name: path.read_bytes() for path in (attune.folder / cache).rglob("*.kernel")}


def query(attune, sql):
    with contextlib.closing(sqlite3.connect(attune.folder / "fleet.db")) as database, database:
        return database.execute(sql).fetchall()


def worker(attune, cache, *words):
    """The messages of a worker with a kernel cache of its own."""
    return attune.run("worker", *words, "--until-done", "--jobs", "1", *DB,
                      XDG_CACHE_HOME=str(attune.folder / cache))[1]


def measure(attune, cache, *words):
    """The same of one that measures everything again, and how many candidates it compiled."""
    last = query(attune, "SELECT max(id) FROM trial")[0][0] or 0
    said = worker(attune, cache, "--device", "fake", "--per-problem", "5s", *words)
    compiled = query(attune, "SELECT count(*) FROM trial JOIN candidate ON candidate.id = "
                             f"candidate_id WHERE trial.id > {last} AND role = 'qualify' AND build_ns > 0 AND "
                             "candidate.content LIKE 'fake.tiled%'")[0][0]
    attune.run("jobs", "retry", *SESSION, "--state", "done", "--step", "perf:measure", *DB)
    return said, compiled


def what_was_compiled_is_measured_elsewhere(attune):
    said = worker(attune, "compiling", "--compile", "2", "--kernels", "shared")
    program.check("Fetched" not in said, said)
    compiled = kernels(attune, "compiling")
    program.check(len(compiled) == CONFIGS, f"{len(compiled)} kernels were compiled")

    said, built = measure(attune, "measuring", "--kernels", "shared")
    program.check(f"Fetched {CONFIGS} kernels of " in said, said)
    program.check(kernels(attune, "measuring") == compiled, "other kernels came than were compiled")
    program.check(built == 0, f"{built} candidates were compiled again")


def each_compiles_for_itself_unless_it_is_told_to_share(attune):
    said, built = measure(attune, "alone")
    program.check("Fetched" not in said, said)
    program.check(built > 0, "nothing was compiled")


def what_is_damaged_is_named_and_compiled_again(attune):
    chunks = query(attune, "SELECT id, artifact_id FROM artifact_chunk ORDER BY id")
    query(attune, f"UPDATE artifact_chunk SET content = 'QUJD' WHERE id = {chunks[0][0]}")
    query(attune, f"DELETE FROM artifact_chunk WHERE id = {chunks[1][0]}")
    query(attune, f"UPDATE artifact SET key = '{'0' * 32}' WHERE id = {chunks[2][1]}")

    said, _ = measure(attune, "damaged", "--kernels", "shared")
    program.check(f"Fetched {CONFIGS - 3} kernels of " in said, said)
    for part in (f"not used and compiled here: Row {chunks[0][0]} of table artifact_chunk: column content",
                 "column chunk_count holds 1, but table artifact_chunk has 0",
                 f"Row {chunks[2][1]} of table artifact: column key"):
        program.check(part in said, f"'{part}' is not in: {said}")
    states = {job["state"] for job in attune.json("jobs", "list", *SESSION, *DB)}
    program.check(states == {"done", "queued"}, states)


def test(attune):
    attune.run("session", "new", "may", "--device", "fake", *DB)
    attune.run("jobs", "load", *SESSION, "--problem", "gemm@1{m=64,n=64,k=64}", "--solvers",
               "fake.tiled", "--steps", "perf:compile,perf:measure", *DB)
    what_was_compiled_is_measured_elsewhere(attune)
    each_compiles_for_itself_unless_it_is_told_to_share(attune)
    what_is_damaged_is_named_and_compiled_again(attune)


program.main(test)
