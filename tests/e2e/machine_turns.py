"""Processes that measure on one machine take turns: none times candidates while another one does,
whoever is killed lets go, and nobody waits beyond a budget."""

import contextlib
import fcntl
import json
import select
import signal
import subprocess
import time

import program

TUNE = ("tune", "--tag", "t", "--device", "fake", "--json")
PCI_ADDRESS = "0000:1B:00.0"
PCI_NAME = "0000-1B-00.0"
MOST_LOOKS = 10
WAITS = "wait: another process measures on this machine"


def lock_path(attune):
    return attune.folder / "attune-measuring-fake.lock"


@contextlib.contextmanager
def timing(attune):
    """Has the machine as a process that times candidates."""
    lock_path(attune).touch()
    with open(lock_path(attune), "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def is_timing(attune):
    """True if a process times candidates now."""
    with contextlib.suppress(FileNotFoundError), open(lock_path(attune), "rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def finish(process, status):
    out, err = process.communicate(timeout=program.TIMEOUT_S)
    program.check(process.returncode == status, f"exit {process.returncode}\n{out}\n{err}")
    return json.loads(out), err


def stop_while_it_times(attune, run):
    deadline = time.monotonic() + program.TIMEOUT_S
    while time.monotonic() < deadline:
        program.check(run.poll() is None, "The run ended before it was seen to time.")
        if is_timing(attune):
            run.send_signal(signal.SIGSTOP)
            if is_timing(attune):
                return
            run.send_signal(signal.SIGCONT)
        time.sleep(0.01)
    raise AssertionError("Nobody was seen to time.")


def test_two_lists(attune):
    both = [attune.start(*TUNE, "--per-problem", "400ms", "--db", name) for name in ("a.db", "b.db")]
    summaries = [finish(process, 0)[0] for process in both]
    for summary in summaries:
        program.check(summary["tuned"] == 3, summary)
        for problem in summary["problems"]:
            program.check(not any("beside" in note for note in problem["notes"]), problem)
            # Waiting is no time of the problem, and no useful time.
            program.check(problem["busy_ns"] + problem["waited_ns"] <= problem["wall_ns"], problem)
    # A turn that is free takes microseconds, and one that is not some milliseconds at least.
    program.check(sum(summary["waited_ns"] for summary in summaries) > 15e6, summaries)


def spans_of(path):
    """[(begin, end, is timing)] of each process that has timed blocks. Who times candidates times
    them round by round; who verifies one only looks how long it takes."""
    blocks = {}
    for line in path.read_text().splitlines():
        process, begin, end = map(int, line.split())
        blocks.setdefault(process, []).append((begin, end))
    return [(min(begin for begin, _ in times), max(end for _, end in times), len(times) > MOST_LOOKS)
            for times in blocks.values()]


def overlaps(some, others):
    """How often a process of the one run was busy while one of the other timed."""
    return sum(begin < other_end and other_begin < end
               for begin, end, is_timing in some for other_begin, other_end, other_is_timing in others
               if is_timing or other_is_timing)


def spans_of_two_runs(attune, devices, folders):
    runs = []
    for name, device, folder in zip("ab", devices, folders):
        script = f"device count=2 identity={PCI_ADDRESS} spans={name}.spans"
        (attune.folder / f"{name}.spans").unlink(missing_ok=True)
        runs.append(attune.start(
            "tune", "--tag", "t", "--device", device, "--json", "--retune", "--per-problem", "400ms",
            "--db", f"{name}.db", ATTUNE_FAKE_SCRIPT=script, ATTUNE_LOCK_FOLDER=str(folder)))
    for run in runs:
        finish(run, 0)
    spans = [spans_of(attune.folder / f"{name}.spans") for name in "ab"]
    for run in spans:
        program.check(sum(is_timing for _, _, is_timing in run) >= 3, run)
    return spans


def test_no_two_measurements_at_a_time(attune):
    """The device itself records the times of measurements: two runs on one device, then on two
    names of one device, as of a GPU that processes number each in its own way."""
    for devices in (("fake", "fake"), ("fake", "fake:1")):
        both = spans_of_two_runs(attune, devices, (attune.folder, attune.folder))
        program.check(overlaps(*both) == 0, both)
    program.check((attune.folder / f"attune-measuring-fake-{PCI_NAME}.lock").exists(), "no such lock")
    # Checks that the test would see it: without a common folder they do not know of each other.
    other = attune.folder / "elsewhere"
    other.mkdir()
    both = spans_of_two_runs(attune, ("fake", "fake"), (attune.folder, other))
    program.check(overlaps(*both) > 0, both)


def test_budget_bounds_waiting(attune):
    with timing(attune):
        begin_s = time.monotonic()
        summary, err = finish(attune.start(*TUNE, "--db", "c.db", "--budget", "2s"), 3)
        took_s = time.monotonic() - begin_s
    program.check(summary["not_reached"] == 3, summary)
    program.check("'fuser " in summary["problems"][0]["message"], summary)
    program.check(WAITS in err, err)
    program.check(2 <= took_s < 30, took_s)


def test_interrupt_ends_waiting(attune):
    with timing(attune):
        run = attune.start(*TUNE, "--db", "c.db")
        for line in run.stderr:
            if "attune tune: Another process measures" in line:
                break
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=program.TIMEOUT_S)
    program.check(run.returncode in (3, -signal.SIGINT), run.returncode)


def test_killed_process_lets_go(attune):
    stopped = attune.start(*TUNE, "--per-problem", "4s", "--db", "d.db")
    stop_while_it_times(attune, stopped)
    summary, _ = finish(attune.start(*TUNE, "--db", "e.db", "--budget", "1s"), 3)
    program.check(summary["not_reached"] == 3, summary)

    stopped.send_signal(signal.SIGKILL)
    stopped.communicate(timeout=program.TIMEOUT_S)

    summary, _ = finish(attune.start(*TUNE, "--per-problem", "200ms", "--db", "e.db"), 0)
    program.check(summary["tuned"] == 3, summary)


def test_background_tuner_waits(attune):
    tuner = subprocess.Popen(
        [str(attune.binary.parent / "attune-tuner"), "--db", "f.db", "--device", "fake",
         "--per-problem", "200ms"],
        cwd=attune.folder, env=attune.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True)
    with timing(attune):
        tuner.stdin.write('{"version": 2, "tune": "gemm@1{m=8,n=8,k=8}"}\n')
        tuner.stdin.flush()
        program.check(not select.select([tuner.stdout], [], [], 2)[0],
                      "The tuner answered while another process timed.")
    answer = json.loads(tuner.stdout.readline())
    program.check(answer["outcome"] == "tuned", answer)
    tuner.communicate(timeout=program.TIMEOUT_S)


def test_folder_that_is_none(attune):
    _, err = attune.run(*TUNE, "--db", "g.db", status=1, ATTUNE_LOCK_FOLDER="/nowhere")
    program.check("ATTUNE_LOCK_FOLDER is '/nowhere', which is no folder" in err, err)


def test(attune):
    problems = attune.write_problems(3)
    for name in "abcdefg":
        attune.run("import", problems, "--tag", "t", "--db", f"{name}.db")
    test_two_lists(attune)
    test_no_two_measurements_at_a_time(attune)
    test_budget_bounds_waiting(attune)
    test_interrupt_ends_waiting(attune)
    test_killed_process_lets_go(attune)
    test_background_tuner_waits(attune)
    test_folder_that_is_none(attune)


program.main(test)
