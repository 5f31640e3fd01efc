"""Jobs that only compile, for an architecture whose device is not here: however their run ends, no
compiler outlives it, and no job is taken for what it is not. A script stands in for hipcc."""

import os
import pathlib
import signal
import time

import program

PATIENCE_S = 60
DB = ("--db", "compiling.db")
SESSION = ("--session", "far")
STEP = ("--step", "perf:compile")


def write_compiler(attune, body):
    """A hipcc that runs `body`, a shell script that leaves the code in kernel.co."""
    path = attune.folder / "hipcc"
    path.write_text("#!/bin/sh\n"
                    'if [ "$1" = --version ]; then echo "HIP version: 9.8.7-6"; exit; fi\n'
                    f"{body}\n")
    path.chmod(0o755)


def write_endless_compiler(attune):
    """The file in which each writes the number of its process: a grandchild, as clang is of hipcc."""
    started = attune.folder / "started"
    write_compiler(attune, f"exec sh -c \"sh -c 'echo \\$\\$ > {started}.new; "
                           f"mv {started}.new {started}; exec sleep 1000'; true\"")
    return started


def is_running(process):
    try:
        stat = pathlib.Path(f"/proc/{process}/stat").read_text()
    except FileNotFoundError:
        return False
    return stat.rsplit(")", 1)[1].split()[0] != "Z"


def wait_until(condition, message):
    end = time.monotonic() + PATIENCE_S
    while not condition():
        program.check(time.monotonic() < end, message)
        time.sleep(0.01)


def jobs(attune, **filters):
    return [job for job in attune.json("jobs", "list", *SESSION, *DB)
            if all(job[key] == value for key, value in filters.items())]


def no_compiler_outlives_its_run(attune):
    started = write_endless_compiler(attune)
    for signals in ([signal.SIGINT], [signal.SIGTERM], [signal.SIGINT, signal.SIGINT],
                    [signal.SIGKILL]):
        started.unlink(missing_ok=True)
        run = attune.start("tune", *SESSION, *STEP, *DB)
        wait_until(started.exists, "No compiler was started.")
        compiler = int(started.read_text())
        program.check(is_running(compiler), "The compiler has ended by itself.")
        begin = time.monotonic()
        for number in signals:
            run.send_signal(number)
        out, err = run.communicate(timeout=PATIENCE_S)
        took = time.monotonic() - begin
        wait_until(lambda: not is_running(compiler), f"Compiler {compiler} outlives {signals}.")
        program.check(took < 10, f"{took} s after {signals}")
        if len(signals) == 1 and signals[0] != signal.SIGKILL:
            program.check(run.returncode == 3, f"exit status {run.returncode}: {err}")
            program.check("0 jobs done, 0 failed, 1 given back, 1 left." in out, out)
            program.check("was interrupted; the same command goes on" in out, out)
            told = jobs(attune, step="perf:compile")[0]
            program.check((told["state"], told["error"]) == ("queued", ""), told)


def a_job_that_does_not_end_fails_at_its_deadline(attune):
    started = write_endless_compiler(attune)
    started.unlink(missing_ok=True)
    out, err = attune.run("worker", "--compile", "1", "--until-done", "--per-problem", "1s",
                          "--job-deadline", "2s", *DB, status=3)
    program.check("1 failed: timed_out" in out, (out, err))
    told = jobs(attune, step="perf:compile")[0]
    program.check((told["state"], told["error_class"]) == ("failed", "timed_out"), told)
    program.check("given up at its deadline (2 s, --job-deadline)" in told["error"], told)
    compiler = int(started.read_text())
    wait_until(lambda: not is_running(compiler), f"Compiler {compiler} outlives its job.")
    _, err = attune.run("worker", "--compile", "1", "--per-problem", "3s", "--job-deadline", "2s",
                        *DB, status=2)
    program.check("--job-deadline (2s) is shorter than" in err, err)
    attune.run("jobs", "retry", *SESSION, *DB)


def what_failed_before_is_told(attune):
    write_compiler(attune, "echo 'kernel.hip:1: no such type' >&2; exit 1")
    first = attune.json("tune", *SESSION, *STEP, *DB, status=1)
    program.check((first["failed"], first["failed_before"], first["left"]) == (1, 0, 0), first)
    # Also of the step that waited for it, for which nothing is left to do.
    for step in ("perf:compile", "perf:measure"):
        count = 0 if step == "perf:measure" else 1
        program.check(len(jobs(attune, step=step, state="failed")) == count, step)
    out, _ = attune.run("tune", *SESSION, *STEP, *DB, status=3)
    program.check(out.startswith("0 jobs done, 0 failed, 0 left.\n1 job of these steps"), out)
    program.check("'attune jobs retry' queues" in out, out)

    attune.run("jobs", "retry", *SESSION, *DB)
    write_compiler(attune, "echo code > kernel.co")
    mended = attune.json("tune", *SESSION, *STEP, *DB)
    program.check((mended["done"], mended["failed_before"], mended["left"]) == (1, 0, 0), mended)


def what_needs_the_device_is_left(attune):
    """Only compile jobs of a step can be done here; the others remain."""
    for words in ((), ("--stale",)):
        told = attune.json("tune", *SESSION, *words, *DB, status=3)
        program.check((told["done"], told["failed"], told["left"]) == (0, 0, 1), told)
        program.check("measured on the device of the session" in told["stopped_because"], told)
    attune.run("tune", *SESSION, *STEP, *DB)
    _, err = attune.run("tune", *SESSION, "--step", "perf:measure", *DB, status=1)
    program.check("has to be measured on it" in err, err)


def test(attune):
    plugins = pathlib.Path(attune.environment["ATTUNE_PLUGIN_PATH"])
    if not (plugins / "attune_hip.so").exists():
        program.skip("the plug-in for HIP is not built")
    attune.environment["ATTUNE_PLUGINS"] = "hip"
    attune.environment["ATTUNE_HIPCC"] = os.path.join(attune.folder, "hipcc")
    write_compiler(attune, "exit 1")
    attune.run("session", "new", "far", "--target", "gfx90a", *DB)
    attune.run("jobs", "load", *SESSION, "--problem", "gemm@1{m=64,n=64,k=64}", "--steps",
               "perf:compile,perf:measure", *DB)
    no_compiler_outlives_its_run(attune)
    a_job_that_does_not_end_fails_at_its_deadline(attune)
    what_failed_before_is_told(attune)
    what_needs_the_device_is_left(attune)


program.main(test)
