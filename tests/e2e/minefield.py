"""A user's kernel with faults of six kinds among its configs: the tuning ends, each fault is recorded
by its kind, and the right config wins. Killed in the middle, the same command goes on: nothing is
tried twice, and the config that is the fastest by construction wins. On the first OpenCL device.
MINEFIELD_CONFIGS and MINEFIELD_SPACING say how many configs there are, and that every so many-th is
a fault. From 100 configs on the space is also tuned without a kill, to the same end."""

import collections
import contextlib
import os
import shutil
import sqlite3
import time

import program

CONFIGS = int(os.environ.get("MINEFIELD_CONFIGS", "28"))
SPACING = int(os.environ.get("MINEFIELD_SPACING", "4"))
KINDS = {1: "build_failed", 2: "crashed", 3: "timed_out", 4: "wrong_result", 5: "run_failed",
         6: "out_of_memory"}
FAULTS = {i: KINDS[i // SPACING % 6 + 1] for i in range(SPACING - 1, CONFIGS, SPACING)}
BEST = 2 * CONFIGS // 3
program.TIMEOUT_S = max(program.TIMEOUT_S, 4 * CONFIGS)
SIZES = ("--size", f"n=8000,configs={CONFIGS},spacing={SPACING}")
SEARCH = ("--search", "random", "--seed", "3", "--per-problem", f"{8 * CONFIGS}s",
          "--run-deadline", "3s", "--memory-limit", "700MiB")


def number(candidate):
    config = candidate.split("{")[1].rstrip("}")
    named = dict(word.split("=") for word in config.split(","))
    return 10 * int(named["TENS"]) + int(named["ONES"])


def tries(attune, *words):
    """{config: what came of each attempt to qualify it}, None where it was right."""
    found = collections.defaultdict(list)
    for recorded in attune.json("explain", *words)["sets"]:
        for trial in recorded["trials"]:
            if trial["role"] == "qualify":
                found[number(trial["candidate"])].append(trial.get("failure", {}).get("kind"))
    return dict(found)


def check_all(attune, *words):
    """Each config was tried once, each fault is recorded by its kind, and the right one wins."""
    tried = tries(attune, *words)
    program.check(sorted(tried) == list(range(CONFIGS)), sorted(tried))
    wrong = {i: kinds for i, kinds in tried.items() if kinds != [FAULTS.get(i)]}
    program.check(not wrong, f"config: what came of each attempt: {wrong}")
    best = attune.json("best", *words)[0]["candidate"]
    program.check(number(best) == BEST, f"{best} is number {number(best)}, not {BEST}")
    return best


def trials_in(database):
    """0 while there is no database."""
    with contextlib.suppress(sqlite3.Error):
        with contextlib.closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as opened:
            return opened.execute("SELECT COUNT(*) FROM trial").fetchone()[0]
    return 0


def kill_in_the_middle(attune, *words):
    """How many trials are there when it is killed."""
    process = attune.start("tune", *words)
    try:
        while trials_in(attune.folder / "killed.db") < CONFIGS // 2:
            program.check(process.poll() is None, "It has ended before it could be killed.")
            time.sleep(0.02)
    finally:
        process.kill()
        process.communicate()
    return trials_in(attune.folder / "killed.db")


def check_edited_source_begins_anew(attune, folder):
    edited = attune.folder / "edited"
    shutil.copytree(folder, edited)
    with (edited / "minefield.cl").open("a") as source:
        source.write("// edited\n")
    begun = attune.json("tune", "--kernel", str(edited / "minefield.json"), *SIZES, *SEARCH,
                        "--candidates", "2", "--db", "killed.db")["problems"][0]
    program.check(begun["taken_over"] == 0 and begun["considered"] == 2, begun)


def tune_whole(attune, kernel):
    begin_s = time.monotonic()
    whole = attune.json("tune", *kernel, *SEARCH, "--db", "whole.db")["problems"][0]
    print(f"{CONFIGS} configs in {time.monotonic() - begin_s:.1f} s, failed: {whole['failures']}")
    program.check(whole["considered"] == CONFIGS and whole["taken_over"] == 0, whole)
    check_all(attune, *kernel, "--db", "whole.db")


def test(attune):
    program.require_device(attune, "opencl:0")
    folder = attune.folder / "own"
    shutil.copytree(attune.data / "own_kernel", folder)
    kernel = ("--kernel", str(folder / "minefield.json"), *SIZES)
    if CONFIGS >= 100:
        tune_whole(attune, kernel)
    killed = kill_in_the_middle(attune, *kernel, *SEARCH, "--db", "killed.db")
    check_edited_source_begins_anew(attune, folder)
    resumed = attune.json("tune", *kernel, *SEARCH, "--db", "killed.db")["problems"][0]
    program.check(resumed["taken_over"] == killed, f"{killed} trials were kept: {resumed}")
    program.check(resumed["considered"] == CONFIGS, resumed)
    program.check(resumed["failures"] == collections.Counter(FAULTS.values()), resumed["failures"])
    check_all(attune, *kernel, "--db", "killed.db")
    print(f"killed after {killed}, then {CONFIGS - killed} in {resumed['wall_ns'] / 1e9:.1f} s, "
          f"failed: {resumed['failures']}")


program.main(test)
