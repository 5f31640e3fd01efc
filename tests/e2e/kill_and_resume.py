"""Kills a whole tuning run at random moments; what it reported as done is never lost, and the same
command goes on until everything is tuned."""

import collections
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
# Without lines that were read before a kill nothing is checked: of a usual machine's fifty runs 32 to
# 34 say so much (measured 2026-11-21). A slower machine gets more runs, and each of them more time.
ROUNDS_PER_LINE = 5
MOST_REPEATS = 3
LONGEST_DELAY_S = 1.2
TUNE = ("tune", "--tag", "t", "--device", "fake", "--per-problem", "60ms")
# "[3/12] 0s: gemm 10x10x8 nn f32: fake.tiled@1{...} 1.2 us, 2.00x over the default"; a line about a
# problem that is still under way has a comma after its label.
FINISHED_LINE = re.compile(r"\[\d+/\d+\] [^:]*: gemm (\d+)x(\d+)x(\d+) [^:,]*: fake\..*\n")
# The end of such a line where the evidence of a --retune was worse than the incumbent's: its set is
# not finished then.
KEPT = ", as measured before\n"


def label_sizes(text):
    """(m, n, k) of a canonical text."""
    return tuple(re.search(rf"\b{letter}=(\d+)", text).group(1) for letter in "mnk")


def finished_problems(attune):
    """Sizes of the problems that `attune best` shows as measured."""
    best = attune.json("best", "--tag", "t", "--device", "fake")
    return {label_sizes(entry["problem"]) for entry in best if entry["provenance"] != "untuned"}


def stored(attune):
    """(trials, Counter of finished sets by the sizes of their problem) in the database."""
    path = attune.folder / "data" / "attune" / "attune.db"
    with contextlib.closing(sqlite3.connect(path)) as records:
        finished = records.execute(
            "SELECT problem.content FROM finished_set JOIN set_progress ON set_progress.id = set_id "
            "JOIN measurement_set ON measurement_set.id = set_id "
            "JOIN problem ON problem.id = problem_id WHERE finished = 1")
        return (records.execute("SELECT COUNT(*) FROM trial").fetchone()[0],
                collections.Counter(label_sizes(content) for (content,) in finished))


def kill_one_run(attune, delay_s, retune):
    """Starts a run, kills it after that delay; sizes of the problems that it said were newly
    measured by then, and of those that it said keep what stood."""
    run = attune.start(*TUNE, *(["--retune"] if retune else []))
    lines = []
    reader = threading.Thread(target=lambda: lines.extend(run.stderr))
    reader.start()
    time.sleep(delay_s)
    run.send_signal(signal.SIGKILL)
    run.wait()
    reader.join()
    run.stdout.close()
    said = [match for match in map(FINISHED_LINE.match, lines) if match]
    kept = [match.groups() for match in said if match.group().endswith(KEPT)]
    return [match.groups() for match in said if not match.group().endswith(KEPT)], kept


def test(attune):
    attune.run("import", attune.write_problems(PROBLEMS), "--tag", "t")
    moments = random.Random(SEED)
    finished, trials, sets = set(), 0, collections.Counter()
    measured_count, kept_count = 0, 0
    wanted, number = -(-attune.rounds // ROUNDS_PER_LINE), 0
    while number < attune.rounds or (measured_count < wanted and
                                     number < MOST_REPEATS * attune.rounds):
        delay_s = moments.uniform(0.02, LONGEST_DELAY_S * (1 + number // attune.rounds))
        measured, kept = kill_one_run(attune, delay_s, retune=len(finished) == PROBLEMS)
        now_finished, (now_trials, now_sets) = finished_problems(attune), stored(attune)
        lost = (finished | set(measured)) - now_finished
        program.check(not lost, f"round {number}: lost {sorted(lost)}")
        unfinished = [sizes for sizes in measured if now_sets[sizes] <= sets[sizes]]
        program.check(not unfinished, f"round {number}: said to be measured, without a set that was "
                                      f"finished since: {sorted(unfinished)}")
        baseless = set(kept) - finished
        program.check(not baseless, f"round {number}: nothing stood of {sorted(baseless)}")
        program.check(trials <= now_trials, f"round {number}: {trials} trials became {now_trials}")
        finished, trials, sets = now_finished, now_trials, now_sets
        measured_count += len(measured)
        kept_count += len(kept)
        number += 1
    program.check(measured_count >= wanted, f"{number} killed runs said of {measured_count} problems "
                                            f"that they were measured; {wanted} are needed.")
    summary = attune.json(*TUNE)
    program.check(summary["tuned"] + summary["already_tuned"] == PROBLEMS, summary)
    program.check(summary["already_tuned"] >= len(finished), summary)
    print(f"{number} kills, {measured_count} problems said to be measured and {kept_count} to "
          "keep what stood before them, none lost")


program.main(test)
