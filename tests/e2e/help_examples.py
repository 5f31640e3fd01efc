"""Every example that --help shows runs as it stands, from the root of the repository, but for the
time that it may take."""

import re
import shutil
import subprocess

import program

# Those of blas and cublas need scripts of a user's own; tests/blas runs such. That of `miopen merge`
# needs a user's own databases, that of `model fit` records of products.
VERBS = ("import", "session new", "session", "jobs load", "applicability", "jobs", "devices",
         "solvers", "problems", "networks", "tune", "status", "best", "explain", "run", "export",
         "report", "golden", "golden diff", "golden show", "golden list", "golden export",
         "golden rollback", "jobs list", "jobs cancel", "jobs retry", "session list", "session show",
         "session diff", "session close", "miopen", "miopen lint", "miopen convert", "miopen diff",
         "seer", "seer train", "seer evaluate", "seer pick", "seer collect",
         "model", "model evaluate", "model show")
# Options that say how long, and how long is enough here.
TIMES = {"--budget": "500ms", "--per-problem": "100ms", "--time": "20ms"}
# What golden versions are made of: one decision at least, also on a busy machine.
SESSION_TIMES = {"--budget": "3s", "--per-problem": "2s"}


def examples(attune, verb):
    text = attune.run(*verb.split(), "--help")[0]
    program.check("\nExamples:\n" in text, f"attune {verb} --help has no examples")
    return [line.strip() for line in text.split("\nExamples:\n")[1].splitlines()
            if line.startswith("  attune ")]


def hurried(command):
    times = {**TIMES, **(SESSION_TIMES if " tune --session " in command else {})}
    for option, time in times.items():
        command = re.sub(rf"{option} \S+", f"{option} {time}", command)
    if " tune " in command:
        for option in ("--budget", "--per-problem"):
            command += "" if option in command else f" {option} {times[option]}"
    if " import " in command and "driver" in command and "--batch-size" not in command:
        command += " --batch-size 1"
    return command


def missing_program(command):
    """Another program that the example runs and this machine lacks."""
    return next((name for name in ("column",)
                 if f"| {name} " in command and shutil.which(name) is None), None)


def missing_device(command, usable):
    """A device, or every device of a backend, that the example asks for and this machine lacks."""
    asked = re.search(r"\b(opencl|cuda):(\d+|all)\b", command)
    if asked is None:
        return None
    spec = asked.group(0)
    wanted = f"{asked.group(1)}:0" if asked.group(2) == "all" else spec
    return None if wanted in usable else spec


def test(attune):
    (attune.folder / "tests").symlink_to(attune.data.parent)
    (attune.folder / "examples").symlink_to(attune.data.parent.parent / "examples")
    usable = {device["spec"] for backend in attune.json("devices")["backends"]
              for device in backend["devices"] if device["usable"]}
    settings = {**attune.environment, "PATH": f"{attune.binary.parent}:/usr/bin:/bin"}
    for command in (line for verb in VERBS for line in examples(attune, verb)):
        lacking = missing_program(command) or missing_device(command, usable)
        # A watch ends when its session does.
        if "--watch" in command:
            continue
        if lacking:
            print(f"skipped, without {lacking}: {command}")
            continue
        # A list with a line that is refused, a budget that ends early, a choice without a trial, jobs
        # that are left, a database with a time of zero.
        in_part = any(f"attune {verb} " in command
                      for verb in ("import", "tune", "export", "status", "miopen", "seer"))
        allowed = (0, 3) if in_part else (0,)
        done = subprocess.run(["sh", "-c", hurried(command)], cwd=attune.folder, env=settings,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=program.TIMEOUT_S, check=False)
        # In so little time nothing may be tuned of what was begun.
        in_vain = done.returncode == 1 and "not reached" in done.stderr
        program.check(done.returncode in allowed or in_vain,
                      f"{command}: exit {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr}")


program.main(test)
