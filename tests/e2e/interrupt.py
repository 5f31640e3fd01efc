"""Ctrl-C ends a tuning run after the problem at hand, with exit status 3, and the same command goes
on from there; a reader that goes away does not end it at all."""

import json
import signal
import time

import program

PROBLEMS = 40
PROBLEMS_AGAIN = 20
TUNE = ("tune", "--tag", "t", "--device", "fake")


def test_interrupt(attune):
    run = attune.start(*TUNE, "--per-problem", "300ms")
    line = run.stderr.readline()  # The first progress line: the run is under way.
    program.check("/40]" in line, line)
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=60)
    program.check(run.returncode == 3, f"exit {run.returncode}\n{out}\n{err}")
    program.check("not reached" in out and "goes on from here" in err, out + err)


def tuned_before_interrupt(attune, *words):
    """The problems that a run has tuned when it is interrupted as soon as it has some."""
    run = attune.start(*words, "--json")
    while run.stderr.readline().startswith("[0/"):
        pass
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=60)
    program.check(run.returncode == 3, f"exit {run.returncode}\n{err}")
    return {problem["problem"] for problem in json.loads(out)["problems"]
            if problem["outcome"] == "tuned"}


def test_retune_goes_on(attune):
    attune.run("import", attune.write_problems(PROBLEMS_AGAIN, "again.txt"), "--tag", "again")
    retune = ("tune", "--tag", "again", "--device", "fake", "--retune", "--per-problem", "300ms")
    attune.run(*retune)
    first = tuned_before_interrupt(attune, *retune)
    program.check(0 < len(first) <= PROBLEMS_AGAIN // 2, first)
    second = tuned_before_interrupt(attune, *retune)
    program.check(second and not first & second, (first, second))


def test_second_interrupt(attune):
    # The problem at hand hangs, so an orderly end never comes.
    run = attune.start(*TUNE, "--retune", ATTUNE_FAKE_SCRIPT="* fault=hang")
    run.stderr.readline()
    for _ in range(2):
        time.sleep(0.2)  # Two signals that come together are one signal.
        run.send_signal(signal.SIGINT)
    run.communicate(timeout=10)
    program.check(run.returncode == -signal.SIGINT, f"exit {run.returncode}")


def test_reader_goes_away(attune):
    run = attune.start("problems", "--tag", "t")
    run.stdout.close()
    run.stderr.read()
    program.check(run.wait(timeout=30) == 0, f"exit {run.returncode}")


def test(attune):
    attune.run("import", attune.write_problems(PROBLEMS), "--tag", "t")
    test_interrupt(attune)
    test_retune_goes_on(attune)
    test_second_interrupt(attune)
    test_reader_goes_away(attune)


program.main(test)
