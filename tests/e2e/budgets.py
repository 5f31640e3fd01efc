"""Budgets hold, and the share of a run that is spent on candidates is of the whole run."""

import time

import program

PROBLEM = "gemm@1{m=16,n=16,k=16}"


def test_share_is_of_the_whole_run(attune):
    begin_s = time.monotonic()
    summary = attune.json("tune", "--problem", PROBLEM, "--device", "cpu", "--per-problem", "200ms")
    outside_s = time.monotonic() - begin_s
    # The peaks, which take longer than this problem, are part of it; starting and ending the process are not.
    program.check(summary["wall_ns"] > 0.7e9 * outside_s, (outside_s, summary["wall_ns"]))
    program.check(summary["wall_ns"] < 1e9 * outside_s, (outside_s, summary["wall_ns"]))
    share = summary["busy_ns"] / summary["wall_ns"]
    program.check(abs(summary["useful_share"] - share) < 1e-6, summary["useful_share"])
    device_share = summary["device_busy_ns"] / summary["wall_ns"]
    program.check(abs(summary["device_busy_share"] - device_share) < 1e-6, summary["device_busy_share"])
    program.check(0 < summary["device_busy_ns"] <= summary["busy_ns"], summary["device_busy_ns"])


def test_budget_ends_what_is_not_ready(attune):
    begin_s = time.monotonic()
    out, err = attune.run("tune", "--problem", PROBLEM, "--device", "fake", "--per-problem", "200ms",
                          "--budget", "2s", status=3,
                          ATTUNE_FAKE_SCRIPT="* fault=slow_load delay_ms=600000")
    passed_s = time.monotonic() - begin_s
    # Long before the 20 s that any load may take.
    program.check(passed_s < 12, passed_s)
    program.check("1 not reached" in out, out)
    program.check("No candidate was built and loaded in" in err, err)
    # It would meet the same again.
    program.check("goes on from here" not in err, err)


def test_problem_ends_what_is_not_ready(attune):
    script = "fake.tiled fault=slow_load delay_ms=600000"
    words = ("tune", "--problem", PROBLEM, "--device", "fake", "--per-problem", "1s", "--retune")
    begin_s = time.monotonic()
    first = attune.json(*words, ATTUNE_FAKE_SCRIPT=script)
    passed_s = time.monotonic() - begin_s
    again = attune.json(*words, ATTUNE_FAKE_SCRIPT=script)
    program.check(passed_s < 12, passed_s)
    for summary in (first, again):
        problem = summary["problems"][0]
        program.check(problem["outcome"] == "tuned", problem)
        # Neither a failure nor a reason to leave it out the next time.
        program.check(not problem["failures"] and problem["quarantined"] == 0, problem)


def test(attune):
    test_share_is_of_the_whole_run(attune)
    test_budget_ends_what_is_not_ready(attune)
    test_problem_ends_what_is_not_ready(attune)


program.main(test)
