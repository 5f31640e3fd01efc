#!/usr/bin/env python3
"""Kernels that go wrong on an NVIDIA GPU, through `attune tune`: each is recorded with its reason,
everybody else is measured, the run ends as any other, and so does the next one.

Exits with 77 where there is no GPU.
"""

import json
import os
import shutil
import time

import program

DEVICE = "cuda:0"
# Small, so that thousands of launches take no time, and not so small that a row is a column.
PROBLEM = "gemm@1{m=8,n=12,k=16}"
RIGHT = "right"
# A hang takes 20 s to be seen, and each fault costs a process or two.
program.TIMEOUT_S = 300

# The cost of a faulting candidate for the run: it is tried twice, so a worker ends and starts
# twice.
MOST_S_OF_A_FAULT = 2
FAULTS = 8

# The record of each KIND of tests/data/cuda_faults: the failure, and a part of its reason.
REASONS = {
    "reads_far_away": ("run_failed", "CUDA_ERROR_ILLEGAL_ADDRESS"),
    "reads_behind_the_end": ("wrong_result", "nan"),
    "writes_far_away": ("run_failed", "CUDA_ERROR_ILLEGAL_ADDRESS"),
    "writes_behind_the_end": ("out_of_bounds", "past the end of c"),
    "traps": ("run_failed", "CUDA_ERROR_"),
    "leaves_a_nan": ("wrong_result", "1 of 96 elements"),
    "leaves_what_was_there": ("wrong_result", "96 of 96 elements"),
    "leaves_one_element": ("wrong_result", "1 of 96 elements"),
    "wants_too_much_memory": ("out_of_memory", "1099511627776 bytes"),
}


def kind_of(candidate):
    """The KIND of a candidate of ours, or None."""
    return candidate.partition("KIND=")[2].rstrip("}").split(",")[0] or None


def trials_of(attune, **settings):
    """Trials of the newest set, by candidate."""
    sets = attune.json("explain", PROBLEM, "--device", DEVICE, **settings)["sets"]
    newest = max(sets, key=lambda each: each["started_unix_ns"])
    trials = {}
    for trial in newest["trials"]:
        trials.setdefault(trial["candidate"], []).append(trial)
    return trials


def failures_of(trials):
    """{KIND: (kind of failure, message)}"""
    return {kind_of(candidate): (trial["failure"]["kind"], trial["failure"]["message"])
            for candidate, of_candidate in trials.items()
            for trial in of_candidate if "failure" in trial}


def finals_of(trials):
    return {candidate for candidate, of_candidate in trials.items()
            for trial in of_candidate if trial["role"] == "final" and "measurement" in trial}


def tune(attune, solver, per_problem, **settings):
    """The only problem of a run, which ends in order."""
    summary = attune.json("tune", "--problem", PROBLEM, "--device", DEVICE, "--solver", solver,
                          "--per-problem", per_problem, "--retune", **settings)
    program.check(summary["tuned"] == 1, f"tuned {summary['tuned']} problems, not 1")
    return summary["problems"][0]


def check_measured(trials, solver):
    """Candidates without faults are measured to the end, the default too."""
    finals = finals_of(trials)
    program.check(any(kind_of(candidate) is None for candidate in finals),
                  f"the default has no final among {sorted(finals)}")
    timed = {kind_of(candidate) for candidate, of_candidate in trials.items()
             for trial in of_candidate if "measurement" in trial}
    program.check(RIGHT in timed, f"{solver} is right and was not timed; these were: {timed}")


def check_each_fault_has_its_reason(attune, settings):
    report = tune(attune, "faulty-gemm", "90s", **settings)
    trials = trials_of(attune, **settings)
    failures = failures_of(trials)
    for kind, (failure, words) in REASONS.items():
        found = failures.pop(kind, None)
        program.check(found is not None, f"{kind} is not recorded as a failure")
        program.check(found[0] == failure and words in found[1],
                      f"{kind} is recorded as {found}, not as {failure} with '{words}'")
    # It faults in the race or in the final, if these last so long, and then it is the only one.
    later = failures.pop("faults_later", None)
    program.check(later is None or later[0] == "run_failed", f"faults_later: {later}")
    program.check(not failures, f"innocent candidates failed: {failures}")
    check_measured(trials, "faulty-gemm")
    winner = kind_of(report["choice"]["candidate"])
    program.check(winner in (None, RIGHT) or (winner == "faults_later" and later is None),
                  f"{winner} was chosen")
    print("faults_later:", "was not timed for long enough" if later is None else later[1])


def check_a_hang_ends(attune, settings):
    tune(attune, "endless-gemm", "60s", **settings)
    trials = trials_of(attune, **settings)
    failures = failures_of(trials)
    program.check(set(failures) == {"never_returns"}, f"these failed: {failures}")
    kind, message = failures["never_returns"]
    program.check(kind == "timed_out" and "deadline" in message, f"{kind}: {message}")
    check_measured(trials, "endless-gemm")


def check_a_fault_costs_little(attune, folder):
    """Two runs that differ in so many candidates that trap; all of them have the same right ones."""
    def seconds_with(kinds, name):
        kernel = json.loads((folder / "endless_gemm.json").read_text())
        kernel["name"] = name
        kernel["parameters"] = [{"name": "KIND", "values": kinds},
                                {"name": "COPY", "values": list(range(FAULTS))}]
        alone = attune.folder / name
        alone.mkdir()
        (alone / f"{name}.json").write_text(json.dumps(kernel))
        shutil.copy2(folder / "faulty_gemm.cu", alone)
        settings = {"ATTUNE_KERNEL_PATH": os.fspath(alone)}
        begin = time.monotonic()
        tune(attune, name, "120s", **settings)
        took_s = time.monotonic() - begin
        program.check(took_s < 110, f"{name} ended with its time, so that it tells nothing")
        return took_s, failures_of(trials_of(attune, **settings))

    without_s, _ = seconds_with([RIGHT], "steady-gemm")
    with_s, failures = seconds_with([RIGHT, "traps"], "trapping-gemm")
    program.check(set(failures) == {"traps"}, f"these failed: {failures}")
    each_s = (with_s - without_s) / FAULTS
    print(f"A fault costs {each_s:.2f} s ({without_s:.1f} s without {FAULTS}, {with_s:.1f} s with them)")
    program.check(each_s <= MOST_S_OF_A_FAULT, f"a fault costs {each_s:.2f} s")


def check_the_next_run_works(attune):
    """Without those kernels, as if nothing had been."""
    report = tune(attune, "gemm", "5s")
    program.check(report["choice"] is not None, "nothing was chosen after the faults")
    program.check(not report["failures"].get("run_failed"), f"failures: {report['failures']}")


def check_another_version_ends_records(attune, folder, settings):
    """A kernel file that was edited is another library: what rests on it counts no more."""
    before = attune.json("best", "--problem", PROBLEM, "--device", DEVICE, **settings)[0]
    source = folder / "faulty_gemm.cu"
    source.write_text(source.read_text() + "// Edited.\n")
    after = attune.json("best", "--problem", PROBLEM, "--device", DEVICE, **settings)[0]
    if kind_of(before["candidate"]) is None:
        # The default won: its records do not rest on the kernel file, and go on to decide.
        program.check(after["set_id"] == before["set_id"] and
                      after["candidate"] == before["candidate"],
                      f"an edit of a kernel file changed what another solver won: {after}")
        return
    program.check(after["set_id"] != before["set_id"], "the records of the old file still decide")
    program.check(any("library.faulty-gemm" in note or "library.endless-gemm" in note
                      for note in after["notes"]), f"notes: {after['notes']}")


def check_a_device_that_is_gone(attune):
    """Hidden from the driver, as one that fell off the bus is after the next start."""
    out, err = attune.run("tune", "--problem", PROBLEM, "--device", DEVICE, "--retune", status=1,
                          CUDA_VISIBLE_DEVICES="")
    program.check("cuda:0" in err and "Traceback" not in out + err, f"it said: {out}{err}")


def test(attune):
    attune.environment.pop("ATTUNE_PLUGINS")
    program.require_device(attune, DEVICE)
    folder = attune.folder / "kernels"
    shutil.copytree(attune.data / "cuda_faults", folder)
    settings = {"ATTUNE_KERNEL_PATH": os.fspath(folder)}
    check_each_fault_has_its_reason(attune, settings)
    check_a_hang_ends(attune, settings)
    check_another_version_ends_records(attune, folder, settings)
    check_a_fault_costs_little(attune, folder)
    check_the_next_run_works(attune)
    check_a_device_that_is_gone(attune)


program.main(test)
