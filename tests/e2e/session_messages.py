"""Messages of session verbs for people and programs: progress, errors, an interruption, and invalid
names and numbers."""

import json
import math
import os
import re
import signal
import time

import program

DB = ("--db", "m.db")
PER = ("--per-problem", "400ms")


def jobs(attune, session):
    return attune.json("jobs", "list", "--session", session, *DB)


def problem(order):
    return f"gemm@1{{m={order},n={order},k=8}}"


def what_is_watched_is_told_in_lines(attune):
    """One JSON document on each line, while a process works and when nothing is left."""
    attune.run("session", "new", "watched", "--device", "fake", *DB)
    words = [word for order in range(20, 24) for word in ("--problem", problem(order))]
    attune.run("jobs", "load", "--session", "watched", *words, "--steps", "perf:measure",
               "--solvers", "fake.library", *DB)
    watch = attune.start("status", "--session", "watched", "--watch", "--json", *DB)
    told = [json.loads(watch.stdout.readline())]
    run = attune.start("tune", "--session", "watched", *PER, *DB)
    out, err = watch.communicate(timeout=program.TIMEOUT_S)
    run.communicate(timeout=program.TIMEOUT_S)
    program.check(watch.returncode == 0 and run.returncode == 0, err)
    told += [json.loads(line) for line in out.splitlines()]
    program.check(not told[0]["worked_on"] and told[0]["eta_ns"] == 0, told[0])
    program.check(told[-1]["steps"]["perf:measure"]["done"] == 4, told[-1])
    # The rate of completed work does not fade.
    for _ in range(2):
        time.sleep(0.2)
        again = attune.json("status", "--session", "watched", *DB)
        program.check(again["jobs_per_second"] == told[-1]["jobs_per_second"] > 0, again)


def an_interrupted_run_says_so(attune):
    attune.run("session", "new", "asked", "--device", "fake", *DB)
    words = [word for order in range(100, 140) for word in ("--problem", problem(order))]
    attune.run("jobs", "load", "--session", "asked", *words, "--steps", "perf:measure",
               "--solvers", "fake.library", *DB)
    run = attune.start("tune", "--session", "asked", "--json", "--per-problem", "300ms", *DB)
    program.check("/40]" in run.stderr.readline(), "It has not begun.")
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=program.TIMEOUT_S)
    done = json.loads(out)
    program.check(run.returncode == 3 and done["left"] > 0, (run.returncode, done, err))
    program.check("was interrupted; the same command goes on" in done["stopped_because"], done)
    run = attune.start("tune", "--session", "asked", "--per-problem", "300ms", *DB)
    run.stderr.readline()
    run.send_signal(signal.SIGINT)
    out, _ = run.communicate(timeout=program.TIMEOUT_S)
    program.check(run.returncode == 3 and "was interrupted" in out, out)
    done = attune.json("tune", "--session", "asked", "--per-problem", "0", *DB)
    program.check(done["left"] == 0 and done["stopped_because"] == "", done)


def errors_can_be_got_back(attune):
    """Texts of errors as they are, and their bytes where they are none of UTF-8."""
    attune.run("session", "new", "raw", "--device", "fake", *DB)
    attune.run("jobs", "load", "--session", "raw", "--problem", problem(8), "--problem", problem(9),
               "--steps", "perf:measure", "--solvers", "fake.library", *DB)
    for job, reason in zip(jobs(attune, "raw"), ("gr\u00fcn\n\x1b[31m", "a\udcff\udcc3b")):
        attune.run("jobs", "cancel", "--session", "raw", "--job", str(job["id"]), "--reason",
                   reason, *DB)
    text, raw = jobs(attune, "raw")
    program.check(text["error"].startswith("gr\u00fcn\n\x1b[31m (by ") and "error_hex" not in text,
                  text)
    program.check(raw["error"].startswith("a\ufffd\ufffdb (by "), raw)
    program.check(bytes.fromhex(raw["error_hex"]).startswith(b"a\xff\xc3b (by "), raw)


def jobs_that_are_not_there(attune):
    """Nothing is changed if one of the numbers belongs to no job."""
    attune.run("jobs", "retry", "--session", "raw", *DB)
    there = str(jobs(attune, "raw")[0]["id"])
    for verb in ("cancel", "retry"):
        _, err = attune.run("jobs", verb, "--session", "raw", "--job", there, "--job", "9999",
                            *DB, status=1)
        program.check("Session 'raw' has no job 9999, and nothing was changed." in err, err)
    program.check({job["state"] for job in jobs(attune, "raw")} == {"queued"}, "Something was.")
    # Another session's number is not one of this.
    other = str(jobs(attune, "may")[0]["id"])
    _, err = attune.run("jobs", "cancel", "--session", "raw", "--job", other, *DB, status=1)
    program.check(f"Session 'raw' has no job {other}," in err, err)


def a_step_that_is_none_is_bad_usage(attune):
    attune.run("session", "new", "empty", "--device", "fake", *DB)
    for session in ("empty", "may"):
        _, err = attune.run("tune", "--session", session, "--step", "bogus", *DB, status=2)
        program.check("'bogus' is no step; there are perf:compile," in err, err)
    _, err = attune.run("tune", "--session", "empty", "--step", "perf:compile", *DB, status=1)
    program.check("Session 'empty' has no jobs." in err, err)


def long_names_are_cut(attune):
    """A name that cannot be is refused with its length and the limit, and not repeated whole."""
    name = "x" * 5000
    (attune.folder / "one.txt").write_text(problem(8) + "\n")
    load = ("jobs", "load", "--session", "may", "--steps", "perf:measure")
    for words in (("best", "--tag", name), ("best", "--model", name), ("best", "--session", name),
                  ("session", "new", name, "--device", "fake"), ("session", "show", name),
                  ("session", "close", name), ("session", "diff", "may", name),
                  ("golden", "create", name), ("golden", "create", "9", "--base", name),
                  ("golden", "add", "1", "--session", name), ("golden", "export", name, "-o", "p"),
                  ("golden", "show", name), ("golden", "diff", "1", name),
                  (*load, "--tag", name), (*load, "--model", name),
                  ("import", "one.txt", "--tag", name),
                  ("import", "one.txt", "--tag", "t", "--model", name),
                  ("import", "one.txt", "--tag", "t", "--model", "m", "--framework", name),
                  ("miopen", "export", "--golden", name, "--find-db", "-o", "a.fdb.txt"),
                  ("tune", "--session", "may", "--step", name)):
        _, err = attune.run(*words, *DB, status=2)
        program.check(len(err) < 500, (words[:2], len(err)))
        program.check("5000 bytes" in err or "no step" in err, err)
    # As long as a model with its version may be, and not there.
    _, err = attune.run("best", "--model", "y" * 250, *DB, status=1)
    program.check("'" + "y" * 80 + "... [250 bytes]'" in err, err)


def names_have_colons(attune):
    """The last colon of --model divides."""
    own = ("--db", "colons.db")
    for model, order in (("meta:llama:3", 8), ("meta:llama:", 9), ("plain", 10)):
        (attune.folder / "one.txt").write_text(problem(order) + "\n")
        attune.run("import", "one.txt", "--tag", "t", "--model", model, "--framework", "a:b:1",
                   *own)
    kept = {(each["model"], each["model_version"], each["framework"], each["framework_version"])
            for each in attune.json("networks", *own)}
    program.check(kept == {("meta:llama", "3", "a:b", "1"), ("meta:llama", "", "a:b", "1"),
                           ("plain", "", "a:b", "1")}, kept)
    program.check(len(attune.json("problems", "--model", "meta:llama:3", *own)) == 1, "a version")
    program.check(len(attune.json("problems", "--model", "meta:llama:", *own)) == 2, "a name")
    # Every listed model can be typed.
    _, err = attune.run("problems", "--model", "meta:llama", *own, status=1)
    for model in ("meta:llama:", "meta:llama:3", "plain"):
        program.check(model in err.split("Models here: ")[1].rstrip(".\n").split(", "), err)


def a_closed_session_gets_no_list(attune):
    """Nor does the list stay under its tag."""
    attune.run("session", "new", "over", "--device", "fake", *DB)
    attune.run("session", "close", "over", *DB)
    (attune.folder / "one.txt").write_text(problem(11) + "\n")
    _, err = attune.run("import", "one.txt", "--tag", "late", "--model", "Late:1", "--session",
                        "over", *DB, status=1)
    program.check("'over' is closed" in err, err)
    attune.run("problems", "--tag", "late", *DB, status=1)
    attune.run("problems", "--model", "Late:1", *DB, status=1)


def solvers_that_were_never_asked_are_not_gone(attune):
    attune.run("session", "new", "unasked", "--device", "fake", *DB)
    told = attune.json("session", "diff", "may", "unasked", *DB)["solvers"]
    program.check(len(told) == 1 and "'unasked' were never asked" in told[0], told)
    told = attune.json("session", "diff", "unasked", "may", *DB)["solvers"]
    program.check(len(told) == 1 and "'unasked' were never asked" in told[0], told)
    program.check(attune.json("session", "diff", "unasked", "over", *DB)["solvers"] == [], "both")


def each_figure_of_a_comparison_is_what_it_is_called(attune):
    own = ("--db", "compared.db")
    for name, time_ns in (("quick", 20000), ("late", 60000)):
        attune.run("session", "new", name, "--device", "fake", *own)
        attune.run("tune", "--session", name, "--problem", problem(8), "--problem", problem(9), *PER,
                   *own, ATTUNE_FAKE_SCRIPT=f"* time_ns={time_ns}")
    for first, second, change in (("quick", "late", "slower"), ("late", "quick", "faster"),
                                  ("late", "late", "equal")):
        pairs = attune.json("session", "diff", first, second, *own)["problems"]
        program.check([pair["change"] for pair in pairs] == [change] * 2, pairs)
        ratios = [pair["first_ns"] / pair["second_ns"] for pair in pairs]
        out, _ = attune.run("session", "diff", first, second, *own)
        shown = re.findall(rf"^{change} .* (\S+)x? +warm ", out, re.MULTILINE)
        program.check([float(ratio.rstrip("x")) for ratio in shown] ==
                      [float(f"{ratio:.2f}") for ratio in ratios], (out, ratios))
        mean = math.sqrt(ratios[0] * ratios[1])
        program.check(f"2 {change}; the second takes 1/{mean:.3f} of the time (geometric mean of 2)"
                      in out, (out, mean))


def what_is_taken_away_is_not_done(attune):
    """Jobs that are cancelled while they are measured: of a run, every job that it had is done,
    failed, given back or lost, once."""
    own, name = ("--db", "taken.db"), ("--session", "taken")
    attune.run("session", "new", "taken", "--device", "fake", *own)
    attune.run("jobs", "load", *name, "--problem", problem(8), "--steps", "perf:measure", *own)
    loaded = len(attune.json("jobs", "list", *name, *own))
    run = attune.start("tune", *name, "--json", *own, ATTUNE_FAKE_SCRIPT="* delay_ms=300")
    wanted = time.monotonic() + 60
    while not any(job["state"] == "leased" for job in attune.json("jobs", "list", *name, *own)):
        program.check(time.monotonic() < wanted, "nothing was begun")
    attune.run("jobs", "cancel", *name, *own)
    out, err = run.communicate(timeout=120)
    told = json.loads(out)
    program.check(told["lost"] == loaded and told["done"] == told["failed"] == 0, (told, err))
    states = {job["state"] for job in attune.json("jobs", "list", *name, *own)}
    program.check(states == {"cancelled"}, states)


def another_number_of_cores_is_named(attune):
    """A processor with other cores than those of its session is another device, and both are
    named."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        return
    own, name = ("--db", "cores.db"), ("--session", "cores")
    attune.run("session", "new", "cores", "--device", "cpu", *own)
    os.sched_setaffinity(0, cores[:1])
    try:
        for words in (("tune", *name), ("jobs", "load", *name, "--problem", problem(8), "--steps",
                                        "perf:measure")):
            _, err = attune.run(*words, *own, status=1)
            program.check(f":{len(cores)}{{" in err and "Here is cpu, which is host:" in err and
                          ":1{" in err, err)
    finally:
        os.sched_setaffinity(0, cores)


def none_of_them_is_told_from_there_are_none(attune):
    out, _ = attune.run("jobs", "list", "--session", "may", "--stale", *DB)
    program.check(out == "None of them is stale.\n", out)
    out, _ = attune.run("jobs", "list", "--session", "may", "--state", "leased", *DB)
    program.check(out == "None of the session's jobs is such.\n", out)


def test(attune):
    attune.run("session", "new", "may", "--device", "fake", *DB)
    attune.run("jobs", "load", "--session", "may", "--problem", problem(8), "--steps",
               "perf:measure", *DB)
    for part in (what_is_watched_is_told_in_lines, an_interrupted_run_says_so,
                 errors_can_be_got_back, jobs_that_are_not_there,
                 a_step_that_is_none_is_bad_usage, long_names_are_cut, names_have_colons,
                 a_closed_session_gets_no_list, solvers_that_were_never_asked_are_not_gone,
                 each_figure_of_a_comparison_is_what_it_is_called, what_is_taken_away_is_not_done,
                 another_number_of_cores_is_named, none_of_them_is_told_from_there_are_none):
        part(attune)
        print(f"{part.__name__}: as it should be", flush=True)


program.main(test)
