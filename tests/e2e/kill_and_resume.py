"""Kills a whole tuning run at random moments; what it reported as done is never lost, and the same
command goes on until everything is tuned."""

import random
import signal
import sqlite3
import time

import program

PROBLEMS = 12
SEED = 20261121


def finished_problems(attune):
    """Problems that `attune best` shows as measured."""
    best = attune.json("best", "--tag", "t", "--device", "fake")
    return {entry["problem"] for entry in best if entry["provenance"] != "untuned"}


def trials_stored(attune):
    with sqlite3.connect(attune.folder / "data" / "attune" / "attune.db") as database:
        return database.execute("SELECT COUNT(*) FROM trial").fetchone()[0]


def kill_one_run(attune, moments, retune):
    """Starts a run, kills it after a random delay; the problems that it said were done by then."""
    words = ["tune", "--tag", "t", "--device", "fake", "--per-problem", "60ms"]
    run = attune.start(*words, *(["--retune"] if retune else []))
    time.sleep(moments.uniform(0.02, 0.6))
    run.send_signal(signal.SIGKILL)
    run.communicate()


def test(attune):
    attune.run("import", attune.write_problems(PROBLEMS), "--tag", "t")
    moments = random.Random(SEED)
    finished, trials = set(), 0
    for number in range(attune.rounds):
        kill_one_run(attune, moments, retune=len(finished) == PROBLEMS)
        now_finished, now_trials = finished_problems(attune), trials_stored(attune)
        program.check(finished <= now_finished,
                      f"round {number}: lost {sorted(finished - now_finished)}")
        program.check(trials <= now_trials, f"round {number}: {trials} trials became {now_trials}")
        finished, trials = now_finished, now_trials
    summary = attune.json("tune", "--tag", "t", "--device", "fake", "--per-problem", "60ms")
    program.check(summary["tuned"] + summary["already_tuned"] == PROBLEMS, summary)
    program.check(summary["already_tuned"] >= len(finished), summary)


program.main(test)
