"""Kills a whole tuning run at random moments; what it reported as done is never lost, and the same
command goes on until everything is tuned."""

import contextlib
import random
import re
import signal
import sqlite3
import threading
import time

import program

PROBLEMS = 12
SEED = 20261121
TUNE = ("tune", "--tag", "t", "--device", "fake", "--per-problem", "60ms")
# "[3/12] 0s: gemm 10x10x8 nn f32: fake.tiled@1{...} 1.2 us, 2.00x over the default"; a line about a
# problem that is still under way has a comma after its label.
FINISHED_LINE = re.compile(r"\[\d+/\d+\] [^:]*: gemm (\d+)x(\d+)x(\d+) [^:,]*: fake\.")


def label_sizes(text):
    """(m, n, k) of a canonical text."""
    return tuple(re.search(rf"\b{letter}=(\d+)", text).group(1) for letter in "mnk")


def finished_problems(attune):
    """Sizes of the problems that `attune best` shows as measured."""
    best = attune.json("best", "--tag", "t", "--device", "fake")
    return {label_sizes(entry["problem"]) for entry in best if entry["provenance"] != "untuned"}


def stored(attune):
    """(trials, finished sets) in the database."""
    path = attune.folder / "data" / "attune" / "attune.db"
    with contextlib.closing(sqlite3.connect(path)) as records:
        return (records.execute("SELECT COUNT(*) FROM trial").fetchone()[0],
                # A set whose evidence is worse than what stood is said to be done, and not finished.
                records.execute("SELECT COUNT(*) FROM set_progress WHERE final_count > 0").fetchone()[0])


def kill_one_run(attune, moments, retune):
    """Starts a run, kills it after a random delay; the problems that it said were done by then."""
    run = attune.start(*TUNE, *(["--retune"] if retune else []))
    lines = []
    reader = threading.Thread(target=lambda: lines.extend(run.stderr))
    reader.start()
    time.sleep(moments.uniform(0.02, 1.2))
    run.send_signal(signal.SIGKILL)
    run.wait()
    reader.join()
    run.stdout.close()
    return [match.groups() for match in map(FINISHED_LINE.match, lines) if match]


def test(attune):
    attune.run("import", attune.write_problems(PROBLEMS), "--tag", "t")
    moments = random.Random(SEED)
    finished, trials, sets, acknowledged = set(), 0, 0, 0
    for number in range(attune.rounds):
        said = kill_one_run(attune, moments, retune=len(finished) == PROBLEMS)
        now_finished, (now_trials, now_sets) = finished_problems(attune), stored(attune)
        lost = (finished | set(said)) - now_finished
        program.check(not lost, f"round {number}: lost {sorted(lost)}")
        program.check(now_sets >= sets + len(said),
                      f"round {number}: {len(said)} said to be done, {now_sets - sets} sets decided")
        program.check(trials <= now_trials, f"round {number}: {trials} trials became {now_trials}")
        finished, trials, sets = now_finished, now_trials, now_sets
        acknowledged += len(said)
    # Without a line that was read before a kill nothing was checked.
    program.check(acknowledged > 0, "No killed run said that a problem was done.")
    summary = attune.json(*TUNE)
    program.check(summary["tuned"] + summary["already_tuned"] == PROBLEMS, summary)
    program.check(summary["already_tuned"] >= len(finished), summary)
    print(f"{attune.rounds} kills, {acknowledged} problems acknowledged before them, none lost")


program.main(test)
