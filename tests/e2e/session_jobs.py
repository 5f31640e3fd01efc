"""Jobs of a session: which ones a load selects, several devices at one queue, one interrupt of them,
and a device that does not answer."""

import json
import signal
import time

import program

DB = ("--db", "j.db")
PER = ("--per-problem", "400ms")
# More than any of them takes where nothing hangs, however busy the machine is.
PATIENT = ("--per-problem", "20s")
ATTEMPTS = 10
LISTED = {"ATTUNE_FAKE_SCRIPT": "device listed=3"}
TWO = {"ATTUNE_FAKE_SCRIPT": "device count=2"}


def problem(order):
    return f"gemm@1{{m={order},n={order},k=8}}"


def jobs(attune, session):
    return attune.json("jobs", "list", "--session", session, *DB)


def selected(attune, *options, steps="perf:measure"):
    """The solvers that a load of one problem into a session of its own selects, by step."""
    name = f"load{selected.count}"
    selected.count += 1
    attune.run("session", "new", name, "--device", "fake", *DB, **LISTED)
    loaded = attune.json("jobs", "load", "--session", name, "--problem", problem(8), "--steps", steps,
                         *options, *DB, **LISTED)
    listed = jobs(attune, name)
    program.check(loaded["added"] == len(listed) > 0, loaded)
    found = {}
    for job in listed:
        found.setdefault(job["step"], set()).add(job["solver"])
    return found if len(found) > 1 else found[steps.strip()]


selected.count = 0


def what_a_load_selects(attune):
    every = {"fake.library", "fake.tiled", "fake.reference", "fake.listed"}
    program.check(selected(attune) == every, "A load without a choice leaves some out.")
    # By a word of the name, not by a part of one.
    program.check(selected(attune, "--algorithm", "tiled") == {"fake.tiled"}, "--algorithm tiled")
    program.check(selected(attune, "--algorithm", "fake") == every, "--algorithm fake")
    for word in ("til", "iled", "gemm"):
        _, err = attune.run("jobs", "load", "--session", "load0", "--problem", problem(9), "--steps",
                            "perf:measure", "--algorithm", word, *DB, status=1, **LISTED)
        program.check("No solver that was asked for applies" in err, err)
    # Solvers with one build for every size, and solvers with more than one config.
    dynamic = selected(attune, "--dynamic-only")
    program.check(dynamic == every - {"fake.listed"}, dynamic)
    tunable = selected(attune, "--tunable-only")
    program.check(tunable == every - {"fake.reference"}, tunable)
    both = selected(attune, "--dynamic-only", "--tunable-only")
    program.check(both == {"fake.library", "fake.tiled"}, both)
    one = selected(attune, "--tunable-only", "--algorithm", "listed")
    program.check(one == {"fake.listed"}, one)
    named = selected(attune, "--dynamic-only", "--solvers", "fake.listed,fake.library")
    program.check(named == {"fake.library"}, named)
    # The same as the table says of them.
    table = attune.json("solvers", "--session", "load0", *DB)["solvers"]
    for solvers, trait in ((dynamic, "dynamic"), (tunable, "tunable")):
        program.check({entry["name"] for entry in table if entry[trait]} == solvers, (trait, table))
    compiled = selected(attune, "--tunable-only", steps="perf:compile,perf:measure")
    program.check(compiled == {"perf:compile": {"fake.tiled"}, "perf:measure": tunable}, compiled)


def blanks_around_commas_are_none_of_the_names(attune):
    for steps in ("perf:compile, perf:measure", " perf:compile ,\tperf:measure "):
        found = selected(attune, "--solvers", "fake.tiled , fake.library", steps=steps)
        program.check(found == {"perf:compile": {"fake.tiled"},
                                "perf:measure": {"fake.library", "fake.tiled"}}, found)
    for steps, why in (("perf:compile, ", "has an empty name"), (" ", "has an empty name"),
                       ("perf:compile perf:measure", "'perf:compile perf:measure'")):
        _, err = attune.run("jobs", "load", "--session", "load0", "--problem", problem(9), "--steps",
                            steps, *DB, status=2, **LISTED)
        program.check(why in err, err)


def wait_for(condition, run, what):
    deadline = time.monotonic() + 60
    while not condition():
        program.check(time.monotonic() < deadline and run.poll() is None, what)
        time.sleep(0.01)


def interrupted(attune, when_begun, *words):
    """(output, exit status) of a run on two devices that is interrupted once `when_begun`(run)."""
    run = attune.start("tune", "--session", "stopped", "--device", "fake:all", *words, *DB, **TWO)
    wait_for(lambda: when_begun(run), run, "The run has not begun.")
    started = program.descendants(run.pid)
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=program.TIMEOUT_S)
    program.check(run.returncode == 3, f"exit {run.returncode}\n{out}\n{err}")
    left = [process for process, (_, begun) in program.running().items() if started.get(process) == begun]
    program.check(started and not left, f"Of {started} there are still {left}.")
    held = [job for job in jobs(attune, "stopped") if job["state"] == "leased"]
    program.check(not held, held)
    return out, err


def a_job_that_takes_too_long_fails_at_its_deadline(attune):
    """Its reference takes this processor longer than the whole job may."""
    attune.run("session", "new", "endless", "--device", "cpu", *DB)
    attune.run("jobs", "load", "--session", "endless", "--problem",
               "gemm@1{m=8192,n=8192,k=8192}", "--steps", "perf:measure", *DB)
    began = time.monotonic()
    out, err = attune.run("worker", "--device", "cpu", "--per-problem", "200ms",
                          "--job-deadline", "200ms", "--until-done", *DB, status=3)
    took = time.monotonic() - began
    program.check(took < 60, (out, err, took))
    for job in jobs(attune, "endless"):
        program.check((job["state"], job["error_class"]) == ("failed", "timed_out"), job)
        program.check("given up at its deadline (0.2 s, --job-deadline). The reference" in
                      job["error"], job)


def one_interrupt_ends_every_worker(attune):
    attune.run("session", "new", "stopped", "--device", "fake", *DB, **TWO)
    problems = [word for order in range(20, 60) for word in ("--problem", problem(order))]
    attune.run("jobs", "load", "--session", "stopped", *problems, "--steps", "perf:measure",
               "--solvers", "fake.tiled,fake.library", *DB, **TWO)

    # Independent of the progress of the processes: as soon as there are two, no job is leased.
    out, _ = interrupted(attune, lambda run: len(program.descendants(run.pid)) >= 2, *PER)
    program.check("The run was interrupted; the same command goes on from here." in out, out)

    def both_work(run):
        del run
        return len({job["owner"] for job in jobs(attune, "stopped") if job["state"] == "leased"}) == 2

    before = sum(job["state"] == "done" for job in jobs(attune, "stopped"))
    out, _ = interrupted(attune, both_work, "--per-problem", "10s", "--json")
    summary = json.loads(out)
    program.check(summary["stopped_because"] ==
                  "The run was interrupted; the same command goes on from here.", summary)
    listed = jobs(attune, "stopped")
    done = sum(job["state"] == "done" for job in listed)
    program.check(summary["done"] == done - before and summary["failed"] == 0 and
                  summary["left"] == len(listed) - done > 0, (summary, done, before))
    program.check({device["device"] for device in summary["devices"]} == {"fake", "fake:1"} and
                  all("interrupted" in device["trouble"] for device in summary["devices"]), summary)

    # And the same command resumes.
    attune.run("jobs", "cancel", "--session", "stopped", "--solver", "fake.tiled", *DB)
    rest = attune.json("tune", "--session", "stopped", "--device", "fake:all", *PER, *DB, **TWO)
    program.check(rest["left"] == 0 and rest["failed"] == 0 and rest["stopped_because"] == "", rest)


def both_at_one_queue(attune, session):
    """A session whose jobs two devices do, and whether both had some: on a busy machine one process
    may be through before the other one has begun, which shows nothing."""
    attune.run("session", "new", session, "--device", "fake", *DB, **TWO)
    problems = [word for order in range(80, 86) for word in ("--problem", problem(order))]
    attune.run("jobs", "load", "--session", session, *problems, "--steps",
               "perf:compile,perf:measure,find:measure", "--solvers", "fake.tiled,fake.library",
               *DB, **TWO)
    done = attune.json("tune", "--session", session, "--device", "fake:all", *PATIENT, *DB, **TWO)
    program.check(done["done"] == 30 and done["left"] == 0 and done["failed"] == 0, done)
    program.check([device["device"] for device in done["devices"]] == ["fake", "fake:1"], done)
    program.check(not any(device["trouble"] for device in done["devices"]), done)
    listed = jobs(attune, session)
    program.check(all(job["state"] == "done" and job["attempts"] == 1 for job in listed), listed)
    # No find began before the search of its problem was over, whichever device had that.
    changed = {(job["step"], job["solver"], job["problem"]): job["changed_unix_ns"]
               for job in listed}
    program.check(all(moment < changed["find:measure", solver, text]
                      for (step, solver, text), moment in changed.items()
                      if step == "perf:measure"), changed)
    owners = {job["owner"] for job in listed}
    program.check(len(owners) == sum(device["done"] > 0 for device in done["devices"]), done)
    return len(owners) == 2


def several_devices_take_from_one_queue(attune):
    both = next((name for name in ("both", *(f"both{i}" for i in range(2, ATTEMPTS + 1)))
                 if both_at_one_queue(attune, name)), None)
    program.check(both, "One process did it all, every time.")

    # Stale jobs are queued once for both.
    newer = {"ATTUNE_FAKE_SCRIPT": "device count=2 tiled_version=2.0"}
    done = attune.json("tune", "--session", both, "--device", "fake:all", "--stale", *PATIENT, *DB,
                       **newer)
    program.check(done["requeued"] == 18 and done["done"] == 18 and done["left"] == 0, done)
    listed = jobs(attune, both)
    program.check(all(job["attempts"] == (2 if job["solver"] == "fake.tiled" else 1)
                      for job in listed), listed)

    # A device that does not answer leaves its share to the others.
    broken = {"ATTUNE_FAKE_SCRIPT": "device count=2 tiled_version=2.0 broken=1"}
    for _ in range(ATTEMPTS):
        attune.run("jobs", "retry", "--session", both, "--state", "done", "--step", "find:measure",
                   *DB, **newer)
        out, _ = attune.run("tune", "--session", both, "--device", "fake:all", *PATIENT, *DB,
                            **broken)
        program.check(out.startswith("12 jobs done, 0 failed") and ", 0 left.\n" in out, out)
        if "does not answer" in out.splitlines()[-1]:
            break
    program.check("does not answer" in out.splitlines()[-1], "It took nothing, every time.")
    attune.run("jobs", "retry", "--session", both, "--state", "done", "--step", "find:measure",
               *DB, **newer)
    done = attune.json("tune", "--session", both, "--device", "fake:1", *PATIENT, *DB, status=1,
                       **broken)
    program.check(done["failed"] == 0 and done["given_back"] == 6 and done["left"] == 12, done)
    program.check("3 problems in a row" in done["stopped_because"], done)
    out, err = attune.run("tune", "--session", both, "--device", "cpu:all", "--stale", *PATIENT, *DB,
                          status=1, **newer)
    program.check("cpu" in err and "fake" in err, err)


def a_device_that_does_not_answer_keeps_no_job(attune):
    """Not even where fewer are left for it than tell a machine from its problems."""
    broken = {"ATTUNE_FAKE_SCRIPT": "device count=2 broken=1"}
    attune.run("session", "new", "broken", "--device", "fake", *DB, **TWO)
    attune.run("jobs", "load", "--session", "broken", "--problem", problem(70), "--problem",
               problem(71), "--steps", "perf:measure", "--solvers", "fake.library", *DB, **TWO)
    done = attune.json("tune", "--session", "broken", "--device", "fake:1", *PER, *DB, status=1,
                       **broken)
    program.check((done["done"], done["failed"], done["given_back"], done["left"]) == (0, 0, 2, 2),
                  done)
    program.check("Candidates of the last 2 problems could not be evaluated here" in
                  done["stopped_because"] and "does not answer" in done["stopped_because"], done)
    program.check(done["failures"] == {}, done)
    done = attune.json("tune", "--session", "broken", "--device", "fake:all", *PER, *DB, **broken)
    program.check((done["done"], done["failed"], done["left"]) == (2, 0, 0), done)


def what_is_tunable_does_not_depend_on_the_order(attune):
    """A solver of which one config is left for a tiny problem has several for others."""
    texts = ["gemm@1{m=1,n=1,k=1}\n", "gemm@1{m=512,n=512,k=512}\n"]
    found = []
    for name, order in (("tiny", texts), ("large", texts[::-1])):
        (attune.folder / f"{name}.txt").write_text("".join(order))
        attune.run("session", "new", name, "--device", "cpu", *DB)
        attune.run("import", f"{name}.txt", "--tag", name, "--session", name, *DB)
        attune.run("jobs", "load", "--session", name, "--steps", "perf:measure", "--tunable-only", *DB)
        found.append({(job["problem"], job["solver"]) for job in jobs(attune, name)})
    program.check(found[0] == found[1] and found[0], found)


def the_living_do_what_a_killed_run_had(attune):
    attune.run("session", "new", "left", "--device", "fake", *DB)
    problems = [word for order in range(40, 46) for word in ("--problem", problem(order))]
    attune.run("jobs", "load", "--session", "left", *problems, "--steps", "perf:measure", *DB)
    hanging = attune.start("tune", "--session", "left", *PATIENT, *DB,
                           ATTUNE_FAKE_SCRIPT="* fault=hang")
    deadline = time.monotonic() + program.TIMEOUT_S
    while not any(job["state"] == "leased" for job in jobs(attune, "left")):
        program.check(time.monotonic() < deadline and hanging.poll() is None, "Nobody has begun.")
        time.sleep(0.05)
    living = attune.start("tune", "--session", "left", "--json", *PER, *DB)
    while len({job["owner"] for job in jobs(attune, "left") if job["owner"]}) < 2:
        program.check(time.monotonic() < deadline and living.poll() is None, "Only one works.")
        time.sleep(0.02)
    hanging.kill()
    hanging.communicate(timeout=program.TIMEOUT_S)
    out, err = living.communicate(timeout=program.TIMEOUT_S)
    # Hanging jobs may end before the kill, which counts as failed.
    program.check(json.loads(out)["left"] == 0, f"{out}\n{err}")
    program.check({job["state"] for job in jobs(attune, "left")} <= {"done", "failed"}, out)


def test(attune):
    for part in (what_a_load_selects, what_is_tunable_does_not_depend_on_the_order,
                 the_living_do_what_a_killed_run_had, blanks_around_commas_are_none_of_the_names,
                 several_devices_take_from_one_queue,
                 a_job_that_takes_too_long_fails_at_its_deadline, one_interrupt_ends_every_worker,
                 a_device_that_does_not_answer_keeps_no_job):
        part(attune)
        print(f"{part.__name__}: as it should be", flush=True)


program.main(test)
