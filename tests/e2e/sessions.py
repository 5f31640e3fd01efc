"""Sessions of the program: what they refuse, their jobs through every state, killed workers, stale
results, two networks; each silent mistake of known book-keeping, shown to be none here."""

import contextlib
import json
import os
import signal
import sqlite3
import time

import program

DB = ("--db", "s.db")
PER = ("--per-problem", "400ms")


def jobs(attune, session="may", *words, **settings):
    return attune.json("jobs", "list", "--session", session, *words, *DB, **settings)


def states(attune, *words):
    return sorted((job["solver"], job["step"], job["state"]) for job in jobs(attune, "may", *words))


def problem(order):
    return f"gemm@1{{m={order},n={order},k=8}}"


def whole_cycle(attune):
    """A session from its making to its report, with compile and measure jobs."""
    attune.run("session", "new", "may", "--device", "fake", "--reason", "first", *DB)
    attune.run("import", attune.write_problems(2), "--tag", "t", "--session", "may",
               "--model", "Net:1", "--framework", "Fw:2", *DB)
    _, err = attune.run("solvers", "--session", "may", *DB, status=1)
    program.check("were never asked" in err, err)
    survey = attune.json("applicability", "--session", "may", *DB)
    kept = attune.json("solvers", "--session", "may", *DB)
    tiled = [entry for entry in kept["solvers"] if entry["name"] == "fake.tiled"]
    program.check(kept["generation"] == 1 and len(tiled) == 1 and tiled[0]["tunable"], kept)
    solvers = {entry["solver"]: entry for entry in survey["solvers"]}
    program.check(solvers["fake.tiled@1"]["compiles"] and solvers["fake.tiled@1"]["tunable"],
                  solvers)
    loaded = attune.json("jobs", "load", "--session", "may", "--tag", "t", "--steps",
                         "perf:compile,perf:measure", *DB)
    program.check(loaded == {"added": 8, "already_there": 0, "failed": 0, "cancelled": 0,
                             "raised": 0, "problems": 2}, loaded)
    again = attune.json("jobs", "load", "--session", "may", "--tag", "t", "--steps",
                        "perf:compile,perf:measure", *DB)
    program.check(again["added"] == 0 and again["already_there"] == 8, again)
    urgent = ("jobs", "load", "--session", "may", "--tag", "t", "--steps", "perf:measure",
              "--priority", "7", *DB)
    out, _ = attune.run(*urgent)
    program.check("6 were there already; 8 are raised to priority 7" in out, out)
    program.check({job["priority"] for job in jobs(attune)} == {7}, "Not everything is raised.")
    again = attune.json(*urgent)
    program.check(again["raised"] == 0 and again["already_there"] == 6, again)
    for words in (("load", "--tag", "t", "--steps", "perf:measure", "--priority", "9" * 25),
                  ("cancel", "--job", "9" * 25), ("retry", "--job", "0")):
        _, err = attune.run("jobs", words[0], "--session", "may", *words[1:], *DB, status=2)
        program.check("not in range" in err and words[-1] in err, err)

    status = attune.json("status", "--session", "may", *DB, status=3)
    program.check(status["steps"]["perf:measure"]["queued"] == 6, status)
    program.check(not status["worked_on"] and status["eta_ns"] == 0, status)
    out, _ = attune.run("status", "--session", "may", *DB, status=3)
    program.check(out.endswith("8 left, and nobody works on them: 'attune tune --session may' "
                               "does.\n"), out)
    done = attune.json("tune", "--session", "may", "--step", "perf:compile", *PER, *DB)
    program.check(done["done"] == 2 and done["left"] == 0, done)
    done = attune.json("tune", "--session", "may", *PER, *DB)
    program.check(done["done"] == 6 and done["left"] == 0 and done["failed"] == 0, done)
    program.check(all(job["set_id"] for job in jobs(attune) if job["step"] == "perf:measure"),
                  "A measure job names no set.")
    status = attune.json("status", "--session", "may", *DB)
    program.check(status["sets"] == 2, "Solvers of one problem are measured in one set.")
    best = attune.json("best", "--session", "may", *DB)
    program.check([entry["provenance"] != "untuned" for entry in best] == [True] * 2, best)


def fastest(recorded, solver):
    """The candidate of a solver that a set found to be the fastest: finals before screens."""
    timed = [trial for trial in recorded["trials"]
             if trial["candidate"].startswith(solver) and "measurement" in trial]
    finals = [trial for trial in timed if trial["role"] == "final"]
    return min(finals or timed, key=lambda trial: trial["measurement"]["median_ns"])["candidate"]


def find_measures_what_perf_found(attune):
    attune.run("jobs", "load", "--session", "may", "--tag", "t", "--steps", "find:measure",
               "--tunable-only", *DB)
    done = attune.json("tune", "--session", "may", *PER, *DB)
    program.check(done["done"] == 4, done)
    for entry in attune.json("best", "--session", "may", *DB):
        told = attune.json("explain", entry["problem"], "--session", "may", *DB)
        perf, find = told["sets"]
        program.check(find["environment"]["tuning.search"] == "find", find["environment"])
        program.check("tuning.search" not in perf["environment"], perf["environment"])
        tried = {trial["candidate"] for trial in find["trials"]
                 if trial["candidate"].startswith("fake.tiled")}
        # The incumbent from before is challenged in every set.
        program.check(fastest(perf, "fake.tiled") in tried, tried)
        program.check(tried <= {fastest(perf, "fake.tiled"), entry["candidate"]}, tried)


def another_environment_is_refused(attune):
    """Rows 2 and 3 of the list of silent mistakes: another library, another device."""
    out, err = attune.run("tune", "--session", "may", "--tag", "t", "--retune", *PER, *DB, status=1,
                          ATTUNE_FAKE_SCRIPT="device library_version=9.9")
    program.check("library.fakelib is 1.0 in the session and 9.9 here" in err, err)
    out, err = attune.run("tune", "--session", "may", "--tag", "t", "--device", "cpu", *PER, *DB,
                          status=1)
    program.check("device" in err and "fake" in err, err)
    program.check(attune.json("status", "--session", "may", *DB)["sets"] == 4, "Something was stored.")


def other_code_makes_results_stale(attune):
    """The solver changes within the session: nothing is refused; dependent results are listed."""
    newer = {"ATTUNE_FAKE_SCRIPT": "device tiled_version=2.0"}
    before = attune.json("jobs", "list", "--session", "may", "--stale", *DB)
    program.check(before == [], before)
    attune.run("applicability", "--session", "may", *DB, **newer)
    stale = jobs(attune, "may", "--stale")
    program.check({job["solver"] for job in stale} == {"fake.tiled"} and len(stale) == 6, stale)
    program.check("library.tiled of fake.tiled was missing and is 2.0 now." == stale[0]["stale"],
                  stale[0])
    program.check(attune.json("status", "--session", "may", *DB)["stale"] == 6, "status")
    done = attune.json("tune", "--session", "may", "--stale", *PER, *DB, **newer)
    program.check(done["requeued"] == 6 and done["done"] == 6, done)
    program.check(jobs(attune, "may", "--stale") == [], "They are done, and stale all the same.")


def a_crash_is_no_success(attune):
    """Row 1: a compiler that fails, a candidate that crashes."""
    attune.run("session", "new", "faults", "--device", "fake", *DB)
    load = ("jobs", "load", "--session", "faults", "--problem", problem(40), "--steps",
            "perf:compile,perf:measure", "--solvers", "fake.tiled", *DB)
    attune.run(*load)
    done = attune.json("tune", "--session", "faults", *PER, *DB, status=1,
                       ATTUNE_FAKE_SCRIPT="fake.tiled fault=build_fails")
    program.check(done["failed"] == 1 and done["failures"] == {"build_failed": 1}, done)
    listed = {job["step"]: job for job in jobs(attune, "faults")}
    program.check(listed["perf:compile"]["state"] == "failed", listed)
    program.check(listed["perf:measure"]["state"] == "cancelled" and
                  listed["perf:measure"]["error_class"] == "compile", listed)
    attune.run("status", "--session", "faults", *DB, status=3)

    attune.run("jobs", "retry", "--session", "faults", *DB)
    # With time for each of its configs, however busy the machine is: one that was not tried is not
    # left out by the next run, and passes.
    done = attune.json("tune", "--session", "faults", "--per-problem", "60s", *DB, status=3,
                       ATTUNE_FAKE_SCRIPT="fake.tiled fault=crash")
    program.check(done["done"] == 1 and done["failures"] == {"crashed": 1}, done)
    attune.run("jobs", "retry", "--session", "faults", *DB)
    done = attune.json("tune", "--session", "faults", *PER, *DB, status=1)
    program.check(done["failures"] == {"quarantined": 1}, done)
    # A worker has no such option, so the verb that has is named.
    told = [job["error"] for job in jobs(attune, "faults") if job["error_class"] == "quarantined"]
    program.check("'attune tune --session NAME --retry-quarantined' tries it again" in told[0], told)
    attune.run("jobs", "retry", "--session", "faults", *DB)
    done = attune.json("tune", "--session", "faults", *PER, "--retry-quarantined", *DB)
    program.check(done["done"] == 1 and done["failed"] == 0, done)


def a_dead_worker_loses_nothing(attune):
    attune.run("session", "new", "killed", "--device", "fake", *DB)
    attune.run("jobs", "load", "--session", "killed", "--problem", problem(50), "--problem",
               problem(51), "--steps", "perf:measure", "--solvers", "fake.library", *DB)
    run = attune.start("tune", "--session", "killed", "--per-problem", "60s", *DB,
                       ATTUNE_FAKE_SCRIPT="* fault=hang")
    deadline = time.monotonic() + 60
    while not any(job["state"] == "leased" for job in jobs(attune, "killed")):
        program.check(time.monotonic() < deadline and run.poll() is None, "Nothing was leased.")
        time.sleep(0.1)
    status = attune.json("status", "--session", "killed", *DB, status=3)
    program.check(status["worked_on"], status)
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    run.communicate()
    # Its lease ends as soon as another process sees that it is gone.
    done = attune.json("tune", "--session", "killed", *PER, *DB)
    program.check(done["done"] == 2 and done["left"] == 0, done)


def an_interrupted_run_gives_back(attune):
    attune.run("session", "new", "stopped", "--device", "fake", *DB)
    attune.run("jobs", "load", "--session", "stopped", "--problem", problem(60), "--steps",
               "perf:measure", "--solvers", "fake.library", *DB)
    done = attune.json("tune", "--session", "stopped", "--budget", "1ms", *PER, *DB, status=3)
    program.check(done["left"] == 1 and done["failed"] == 0, done)
    program.check(jobs(attune, "stopped")[0]["state"] == "queued", "It was not given back.")


def a_failing_store_ends_a_run_with_a_summary(attune):
    """Earlier results are reported, and jobs that could not be done are not lost."""
    attune.run("session", "new", "full", "--device", "fake", *DB)
    attune.run("jobs", "load", "--session", "full", "--problem", problem(70), "--problem",
               problem(71), "--steps", "perf:measure", "--solvers", "fake.library", *DB)
    with contextlib.closing(sqlite3.connect(attune.folder / "s.db")) as records:
        sets = records.execute("SELECT COUNT(*) FROM measurement_set").fetchone()[0]
        records.execute("CREATE TRIGGER full BEFORE INSERT ON measurement_set WHEN (SELECT COUNT(*)"
                        f" FROM measurement_set) > {sets} BEGIN SELECT RAISE(ABORT, 'no room'); "
                        "END")
        records.commit()
        out, err = attune.run("tune", "--session", "full", "--json", *PER, *DB, status=1)
        summary = json.loads(out)
        program.check(summary["done"] == 1 and summary["given_back"] == 1 and summary["left"] == 1,
                      summary)
        program.check("no room" in summary["stopped_because"] and "no room" in err, err)
        out, err = attune.run("tune", "--session", "full", *PER, *DB, status=1)
        program.check(out == "0 jobs done, 0 failed, 1 given back, 1 left.\n", out)
        records.execute("DROP TRIGGER full")
        records.commit()
    done = attune.json("tune", "--session", "full", *PER, *DB)
    program.check(done["done"] == 1 and done["left"] == 0, done)


def what_selects_no_job_is_told(attune):
    for verb, participle in (("cancel", "cancelled"), ("retry", "queued again")):
        out, err = attune.run("jobs", verb, "--session", "full", "--solver", "fake.libary", *DB,
                              status=1)
        program.check(out == "" and err == (
            f"attune jobs: No job that was asked for can be {participle}; session 'full' has 2 "
            "done. 'attune jobs list --session full' shows them.\n"), err)


def what_a_load_cannot_do_is_told(attune):
    own = ("--db", "loads.db")
    load = ("jobs", "load", "--session", "s", "--tag", "t", "--steps", "perf:measure")
    attune.run("import", attune.write_problems(2), "--tag", "t", *own)
    attune.run("session", "new", "s", "--device", "fake", *own)
    # The next option is no name, and another database is not used.
    for option, value in (("--solvers", ","), ("--solvers", "fake.tiled,"), ("--steps", ",")):
        _, err = attune.run(*load[:6], *load[6:8 if option == "--solvers" else 6], option, value,
                            *own, status=2)
        program.check(option in err and f"'{value}' has an empty name" in err, err)
    attune.run(*load, *own)
    attune.run("jobs", "cancel", "--session", "s", *own)
    out, _ = attune.run(*load, *own)
    program.check("6 are cancelled" in out and "'attune jobs retry --session s'" in out, out)
    again = attune.json(*load, *own)
    program.check(again["cancelled"] == 6 and again["failed"] == 0, again)
    attune.run("jobs", "retry", "--session", "s", *own)
    out, _ = attune.run(*load, *own)
    program.check("retry" not in out, out)


def every_verb_takes_json(attune):
    for group in ("session", "jobs", "golden", "miopen", "package"):
        out, _ = attune.run(group, "--help")
        verbs = [line.split()[0] for line in out.split("Subcommands:\n")[1].split("\n\n")[0]
                 .splitlines() if line.startswith("  ") and not line.startswith("   ")]
        program.check(len(verbs) > 3, out)
        for verb in verbs:
            out, _ = attune.run(group, verb, "--help")
            program.check("--json" in out, f"{group} {verb}:\n{out}")


def what_is_new_is_queued_with_what_is_outdated(attune):
    """--stale: problems that the session got since, with the steps and solvers of its jobs, once."""
    two = {"ATTUNE_FAKE_SCRIPT": "device count=2"}
    newer = {"ATTUNE_FAKE_SCRIPT": "device count=2 tiled_version=2.0"}
    stale = ("tune", "--session", "grown", "--stale", *PER, *DB)
    attune.run("session", "new", "grown", "--device", "fake", *DB, **two)
    for tag, orders in (("first", (100, 101)), ("second", (102, 103)), ("third", (104, 105))):
        (attune.folder / f"{tag}.txt").write_text("".join(problem(order) + "\n"
                                                          for order in orders))
    attune.run("import", "first.txt", "--tag", "first", "--session", "grown", *DB)
    attune.run("jobs", "load", "--session", "grown", "--tag", "first", "--steps",
               "perf:compile,perf:measure", "--solvers", "fake.tiled,fake.library", *DB, **two)
    attune.run("jobs", "load", "--session", "grown", "--tag", "first", "--steps", "find:measure",
               "--tunable-only", "--solvers", "fake.tiled", *DB, **two)
    attune.json("tune", "--session", "grown", *PER, *DB, **two)
    done = attune.json(*stale, **two)
    program.check((done["requeued"], done["added"], done["new_problems"], done["done"]) ==
                  (0, 0, 0, 0), done)

    attune.run("import", "second.txt", "--tag", "second", "--session", "grown", *DB)
    out, _ = attune.run("tune", "--session", "grown", *PER, *DB, **two)
    program.check("2 problems of the session have no jobs; --stale queues" in out, out)
    # All steps are queued, and this machine does the one.
    out, _ = attune.run(*stale, "--step", "perf:compile", **two)
    program.check(out == "8 jobs were added for 2 new problems.\n2 jobs done, 0 failed, 0 left.\n",
                  out)
    fresh = [(job["solver"], job["step"]) for job in jobs(attune, "grown")
             if "m=102" in job["problem"]]
    program.check(sorted(fresh) == [("fake.library", "perf:measure"), ("fake.tiled", "find:measure"),
                                    ("fake.tiled", "perf:compile"), ("fake.tiled", "perf:measure")],
                  fresh)
    program.check(all("tune --stale" in job["reason"] for job in jobs(attune, "grown")
                      if "m=103" in job["problem"]), "Nobody says why.")

    # Measured without a job it is not new, until its solver changes. Once for both devices.
    attune.run("import", "third.txt", "--tag", "third", *DB)
    attune.run("tune", "--session", "grown", "--tag", "third", "--solver", "fake.tiled", *PER, *DB,
               ATTUNE_FAKE_SCRIPT="device count=2\nfake.tiled time_ns=500")
    done = attune.json(*stale, **two)
    program.check(done["added"] == 0 and done["done"] == 6 and done["problems_without_jobs"] == 2,
                  done)
    done = attune.json(*stale, "--device", "fake:all", **newer)
    program.check((done["requeued"], done["added"], done["new_problems"]) == (12, 8, 2), done)
    program.check(done["done"] == 20 and done["left"] == 0 and done["failed"] == 0, done)
    program.check(done["problems_without_jobs"] == 0, done)
    listed = jobs(attune, "grown", **newer)
    program.check(len(listed) == 24 and
                  all(job["attempts"] == 1 for job in listed if "m=105" in job["problem"]), listed)

    # A session without jobs gets the usual ones; one without work reports that.
    attune.run("session", "new", "fresh", "--device", "fake", *DB, **two)
    _, err = attune.run("tune", "--session", "fresh", "--stale", *PER, *DB, status=1, **two)
    program.check("Session 'fresh' has no problems yet" in err, err)
    attune.run("tune", "--session", "fresh", "--tag", "second", *PER, *DB, **two)
    for device in ((), ("--device", "fake:all")):
        done = attune.json("tune", "--session", "fresh", "--stale", *device, *PER, *DB, **two)
        program.check((done["added"], done["done"], done["left"]) == (0, 0, 0), done)
    attune.run("import", "first.txt", "--tag", "first", "--session", "fresh", *DB)
    done = attune.json("tune", "--session", "fresh", "--stale", *PER, *DB, **two)
    program.check(done["added"] == 8 and done["done"] == 8 and done["new_problems"] == 2, done)
    steps = {job["step"] for job in jobs(attune, "fresh")}
    program.check(steps == {"perf:compile", "perf:measure"}, steps)
    attune.run("session", "close", "fresh", *DB)
    attune.run("session", "close", "grown", *DB)


def whoever_is_killed_leaves_nobody(attune):
    """Workers of several devices end with the program that started them, whatever ends that."""
    attune.run("session", "new", "orphans", "--device", "fake", *DB)
    attune.run("jobs", "load", "--session", "orphans", "--problem", problem(70), "--problem",
               problem(71), "--steps", "perf:measure", "--solvers", "fake.library", *DB)
    for signal_number in (signal.SIGKILL, signal.SIGHUP, signal.SIGTERM):
        run = attune.start("tune", "--session", "orphans", "--device", "fake:all", "--per-problem",
                           "60s", *DB, ATTUNE_FAKE_SCRIPT="device count=2\n* fault=hang")
        deadline = time.monotonic() + 60
        # Each worker has one of the jobs, and a candidate that hangs with it.
        while (len(program.descendants(run.pid)) < 4
               or any(job["state"] != "leased" for job in jobs(attune, "orphans"))):
            program.check(time.monotonic() < deadline and run.poll() is None, "Nobody has begun.")
            time.sleep(0.05)
        started = program.descendants(run.pid)
        run.send_signal(signal_number)
        if signal_number == signal.SIGTERM:
            # The first asks for an orderly end, which takes what is begun to its end; the second
            # does not ask.
            time.sleep(0.5)
            run.send_signal(signal_number)
        run.communicate(timeout=program.TIMEOUT_S)
        program.check(run.returncode == -signal_number, run.returncode)
        deadline = time.monotonic() + 5
        while left := [process for process, (_, begun) in program.running().items()
                       if started.get(process) == begun]:
            program.check(time.monotonic() < deadline, f"After {signal_number.name}: {left}")
            time.sleep(0.05)
    # Killed processes hold no leases; jobs that three of them left untried count as failed.
    attune.run("tune", "--session", "orphans", *PER, *DB, status=3)
    program.check({job["error_class"] for job in jobs(attune, "orphans")} == {"abandoned"}, "leased")
    attune.run("jobs", "retry", "--session", "orphans", *DB)
    done = attune.json("tune", "--session", "orphans", *PER, *DB)
    program.check(done["done"] == 2 and done["left"] == 0, done)


def cores_are_shared_by_those_who_compile(attune):
    two = {"ATTUNE_FAKE_SCRIPT": "device count=2"}
    attune.run("session", "new", "cores", "--device", "fake", *DB, **two)
    attune.run("jobs", "load", "--session", "cores", "--problem", problem(72), "--problem",
               problem(73), "--steps", "perf:compile", "--solvers", "fake.tiled", *DB, **two)
    usable = len(os.sched_getaffinity(0))
    alone = attune.json("tune", "--session", "cores", "--step", "find:compile", *DB, **two)
    program.check(1 <= alone["compile_threads"] <= usable, alone)
    done = attune.json("tune", "--session", "cores", "--device", "fake:all", "--step",
                       "perf:compile", *DB, **two)
    share = max(alone["compile_threads"] // 2, 1)
    program.check([device["compile_threads"] for device in done["devices"]] == [share] * 2, done)
    program.check(done["done"] == 2, done)
    told = attune.json("tune", "--session", "cores", "--step", "perf:compile", "--compile-jobs", "1",
                       *DB, **two)
    program.check(told["compile_threads"] == 1, told)
    told = attune.json("tune", "--session", "cores", "--step", "perf:compile", "--compile-jobs",
                       "1024", *DB, **two)
    program.check(told["compile_threads"] == alone["compile_threads"], told)


def closed_and_unknown(attune):
    attune.run("session", "close", "stopped", *DB)
    _, err = attune.run("tune", "--session", "stopped", *PER, *DB, status=1)
    program.check("Session 'stopped' is closed since " in err, err)
    before = jobs(attune, "stopped")
    program.check(any(job["state"] == "queued" for job in before), before)
    for words in (("cancel",), ("retry",), ("load", "--problem", problem(90), "--steps",
                                            "perf:measure")):
        _, err = attune.run("jobs", words[0], "--session", "stopped", *words[1:], *DB, status=1)
        program.check("Session 'stopped' is closed since " in err, err)
    # Compiling, too, which stores no measurement.
    for step in ("perf:compile", "perf:measure"):
        _, err = attune.run("tune", "--session", "stopped", "--step", step, *PER, *DB, status=1)
        program.check("Session 'stopped' is closed since " in err, err)
    program.check(jobs(attune, "stopped") == before, "Jobs of a closed session have changed.")
    # Ends, and prints the remaining jobs and why no worker does them.
    out, _ = attune.run("status", "--session", "stopped", "--watch", *DB, status=3)
    program.check("The session is closed since " in out and "nobody does what is left" in out, out)
    told = attune.json("status", "--session", "stopped", "--watch", *DB, status=3)
    program.check(told["closed"] and told["eta_ns"] == 0, told)
    _, err = attune.run("tune", "--session", "nobody", *DB, status=1)
    program.check("may" in err, err)
    for options in (("--retune",), ("--solver", "fake.tiled")):
        attune.run("tune", "--session", "may", *options, *DB, status=2)
    _, err = attune.run("applicability", "--session", "may", *DB, status=1,
                        ATTUNE_FAKE_SCRIPT="device library_version=9.9")
    program.check("library.fakelib" in err, err)
    _, err = attune.run("tune", "--session", "may", "--tag", "t", "--stale", *DB, status=2)
    program.check("--stale" in err, err)
    # A database that is not there has no session, and none is made to say so.
    for words in (("tune", "--session", "may"), ("applicability", "--session", "may"),
                  ("jobs", "load", "--session", "may", "--tag", "t", "--steps", "perf:measure"),
                  ("jobs", "retry", "--session", "may"), ("status", "--session", "may"),
                  ("solvers", "--session", "may"), ("best", "--session", "may"),
                  ("import", "list.txt", "--tag", "t", "--session", "may"),
                  ("session", "close", "may"), ("session", "show", "may"),
                  ("golden", "add", "1", "--session", "may"), ("golden", "approve", "1"),
                  ("golden", "create", "2", "--base", "1")):
        _, err = attune.run(*words, "--db", "absent.db", status=1)
        program.check("absent.db" in err and "--db" in err, (words, err))
        program.check(not (attune.folder / "absent.db").exists(), words)
    _, err = attune.run("best", "--session", "may", "--device", "cpu", *DB, status=1)
    program.check("Nothing of session 'may'" in err and "--device cpu" in err, err)


def networks(attune):
    listed = attune.json("networks", *DB)
    program.check(listed == [{"model": "Net", "model_version": "1", "framework": "Fw",
                              "framework_version": "2", "problems": 2}], listed)
    (attune.folder / "twice.txt").write_text((problem(8) + "\n") * 3)
    attune.run("import", "twice.txt", "--tag", "u", "--model", "Net:2", *DB)
    weights = [entry["weight"] for entry in attune.json("problems", "--model", "Net", *DB)]
    program.check(weights == [4, 1], weights)
    written = attune.json("report", "--model", "Net:1", "--session", "may", "-o", "r.html", *DB)
    program.check(written["problems"] == 2 and written["tuned"] == 2, written)
    packed = attune.json("package", "create", "--model", "Net:1", "--session", "may", "-o", "of_model", *DB)
    program.check(packed["problems"] == 2, packed)
    # The session has both; of what is packed each network has its own alone.
    packed = attune.json("package", "create", "--model", "Net:2", "--session", "may", "-o",
                         "of_one", *DB)
    program.check(packed["problems"] == 1, packed)


def golden_versions(attune):
    """Row 11: a slower result never replaces a faster one, but by force, which is recorded."""
    attune.run("golden", "create", "1", *DB)
    added = attune.json("golden", "add", "1", "--session", "may", *DB)
    program.check(added["taken"] == {"new": 2}, added)
    again = attune.json("golden", "add", "1", "--session", "may", *DB)
    program.check(again["taken"] == {} and again["same"] == 2, again)
    # Sessions that were made after it have other code of the solver that it was measured with.
    attune.run("golden", "approve", "1", *DB, status=3)
    _, err = attune.run("golden", "add", "1", "--session", "faults", *DB, status=1)
    program.check("approved" in err, err)
    _, err = attune.run("golden", "create", "2", *DB, status=1)
    program.check("--base" in err, err)
    attune.run("golden", "create", "2", "--base", "1", *DB)

    attune.run("session", "new", "slow", "--device", "fake", *DB)
    # With the code that the first one was measured with in the end.
    attune.run("tune", "--session", "slow", "--tag", "t", *PER, *DB,
               ATTUNE_FAKE_SCRIPT="device tiled_version=2.0\n* time_ns=50000")
    slower = attune.json("golden", "add", "2", "--session", "slow", *DB)
    program.check(slower["taken"] == {} and slower["kept"] == 2, slower)
    program.check({change["change"] for change in attune.json("golden", "diff", "1", "2", *DB)} ==
                  {"same"}, "A slower result has replaced a faster one.")
    forced = attune.json("golden", "add", "2", "--session", "slow", "--force", *DB)
    program.check(forced["taken"] == {"forced": 2}, forced)
    program.check({change["change"] for change in attune.json("golden", "diff", "1", "2", *DB)} ==
                  {"slower"}, "Nobody says that it is slower.")
    shown = attune.json("golden", "show", "2", *DB)["entries"]
    program.check({(entry["reason"], entry["session"]) for entry in shown} == {("forced", "slow")},
                  shown)

    out, err = attune.run("miopen", "export", "--session", "may", "--find-db", "-o",
                          "all.fdb.txt", *DB, status=1)
    program.check("The problem is no convolution." in err and "none is for a find-db" in err, err)
    program.check(not (attune.folder / "all.fdb.txt").exists(), "An empty database.")
    _, err = attune.run("miopen", "export", "--golden", "1", "--perf-db", "-o", "all.db",
                        *DB, status=1)
    program.check("golden version '1'" in err, err)

    # With cold caches it is another question, and nothing that the warm ones answer.
    attune.run("tune", "--session", "slow", "--tag", "t", "--cache", "cold", *PER, *DB,
               ATTUNE_FAKE_SCRIPT="* time_ns=60000")
    cold = attune.json("golden", "add", "2", "--session", "slow", *DB)
    program.check(cold["taken"] == {"new": 2} and cold["same"] == 2, cold)
    caches = sorted(entry["cache"] for entry in attune.json("golden", "show", "2", *DB)["entries"])
    program.check(caches == ["cold", "cold", "warm", "warm"], caches)
    _, err = attune.run("golden", "export", "2", "-o", "mixed", *DB, status=2)
    program.check("cold, warm" in err and "--cache" in err, err)
    written = attune.json("golden", "export", "2", "--cache", "cold", "-o", "cold", *DB)
    program.check(written["problems"] == 2, written)
    compared = attune.json("session", "diff", "may", "slow", *DB)["problems"]
    changes = sorted((pair["cache"], pair["change"]) for pair in compared)
    program.check(changes == [("cold", "new")] * 2 + [("warm", "slower")] * 2, changes)

    words = ("golden", "export", "1", "--with-kernels", "-o", "package")
    written = attune.json(*words, *DB, status=3)
    program.check(written["problems"] == 2 and written["approved"] and written["kernels"], written)
    attune.run("package", "verify", "package")
    program.check(attune.json("package", "lint", "package") == {"folder": "package", "findings": []},
                  "A package with its kernels lacks some.")
    attune.json("golden", "export", "1", "-o", "choices", *DB, status=3)
    out, _ = attune.run("package", "lint", "choices", "--json", status=3)
    findings = json.loads(out)["findings"]
    program.check({finding["fault"] for finding in findings} >= {"missing_kernel"} and
                  any("fake.tiled" in finding["subject"] for finding in findings), findings)
    packed = attune.json("package", "create", "--session", "may", "-o", "of_session", *DB)
    program.check(packed["problems"] == 2, packed)
    attune.run("golden", "rollback", "1", "--reason", "too slow", *DB)
    _, err = attune.run("golden", "export", "1", "-o", "again", *DB, status=1)
    program.check("too slow" in err, err)


def test(attune):
    for part in (whole_cycle, find_measures_what_perf_found, another_environment_is_refused,
                 other_code_makes_results_stale, a_crash_is_no_success, a_dead_worker_loses_nothing, an_interrupted_run_gives_back,
                 a_failing_store_ends_a_run_with_a_summary, what_selects_no_job_is_told,
                 what_is_new_is_queued_with_what_is_outdated, whoever_is_killed_leaves_nobody, cores_are_shared_by_those_who_compile,
                 closed_and_unknown, networks, golden_versions,
                 what_a_load_cannot_do_is_told, every_verb_takes_json):
        part(attune)
        print(f"{part.__name__}: as it should be", flush=True)
    diff = attune.json("session", "diff", "may", "faults", *DB)
    program.check({entry["change"] for entry in diff["problems"]} == {"gone", "new"}, diff)


program.main(test)
