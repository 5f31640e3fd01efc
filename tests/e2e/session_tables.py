"""Lists of a session: the sessions there are, the end of a run, the solvers that were asked again,
and the parameters of a find where no search recorded any."""

import time

import program

DB = ("--db", "t.db")
PER = ("--per-problem", "300ms")


def problem(order):
    return f"gemm@1{{m={order},n={order},k=8}}"


def sessions_are_listed_as_they_are(attune):
    attune.run("session", "new", "first", "--device", "fake", "--reason", "june", *DB)
    attune.run("session", "new", "second", "--device", "fake", *DB)
    attune.run("session", "close", "second", *DB)
    first, second = attune.json("session", "list", *DB)
    program.check((first["name"], first["reason"], first["closed_unix_ns"], first["closed_by"])
                  == ("first", "june", 0, ""), first)
    program.check(first["backend"] == "fake" and first["fixed"]["library.fakelib"] == "1.0", first)
    program.check(second["name"] == "second" and second["closed_by"] == first["created_by"] and
                  second["closed_unix_ns"] > second["created_unix_ns"], second)
    rows = [line.split() for line in attune.run("session", "list", *DB)[0].splitlines()]
    program.check([(row[0], row[4]) for row in rows[1:]] == [("first", "open"), ("second", "closed")],
                  rows)


def a_find_without_a_search_measures_defaults(attune):
    attune.run("jobs", "load", "--session", "first", "--problem", problem(8), "--steps",
               "find:measure", *DB)
    done = attune.json("tune", "--session", "first", *PER, *DB)
    program.check(done["done"] == 3 and done["failed"] == 0, done)
    (found,) = attune.json("explain", problem(8), "--session", "first", *DB)["sets"]
    tried = {trial["candidate"] for trial in found["trials"]}
    program.check(tried == {"fake.library@1{threads=1}", "fake.tiled@1{threads=1,tile=4,unroll=1}",
                            "fake.reference@1{}"}, tried)


def solvers_are_asked_again_when_they_have_changed(attune):
    newer = {"ATTUNE_FAKE_SCRIPT": "device tiled_version=2.0"}
    words = ("applicability", "--session", "first", *DB)
    before = attune.json(*words)
    program.check(before["changed"] == 0, before)
    after = attune.json(*words, **newer)
    program.check((after["generation"], after["changed"]) == (before["generation"] + 1, 1), after)
    (tiled,) = [entry for entry in after["solvers"] if entry["solver"] == "fake.tiled@1"]
    program.check(tiled["code"] == {"library.tiled": "2.0"}, tiled)
    again = attune.json(*words, **newer)
    program.check((again["generation"], again["changed"]) == (after["generation"], 0), again)


def a_time_is_foretold_while_somebody_works(attune):
    attune.run("session", "new", "long", "--device", "fake", *DB)
    problems = [word for order in range(20, 80) for word in ("--problem", problem(order))]
    attune.run("jobs", "load", "--session", "long", *problems, "--steps", "perf:measure", *DB)
    run = attune.start("tune", "--session", "long", *PER, *DB)
    foretold = None
    deadline = time.monotonic() + 60
    while foretold is None:
        program.check(time.monotonic() < deadline and run.poll() is None, "No time was foretold.")
        told = attune.json("status", "--session", "long", *DB, status=3)
        if told["eta_ns"] > 0:
            foretold = told
    run.terminate()
    run.communicate(timeout=program.TIMEOUT_S)
    # At 0.3 s for each of 60 problems, at least some seconds are left, and no hours.
    program.check(1e9 < foretold["eta_ns"] < 3600e9, foretold)


def test(attune):
    for part in (sessions_are_listed_as_they_are, a_find_without_a_search_measures_defaults,
                 solvers_are_asked_again_when_they_have_changed,
                 a_time_is_foretold_while_somebody_works):
        part(attune)
        print(f"{part.__name__}: as it should be", flush=True)


program.main(test)
