"""Programs with and without `attune blas`, for the tests beside this file."""

import argparse
import os
import re
import subprocess


def parse_files():
    """The files that the command line of a test names, as absolute paths, and its other arguments."""
    parser = argparse.ArgumentParser()
    for name in ("attune", "attune-library", "library", "caller"):
        parser.add_argument(f"--{name}", required=True, type=os.path.abspath)
    return parser.parse_known_args()


def outside_environment():
    """The environment of this process without attune's variables and preloaded libraries."""
    return {key: value for key, value in os.environ.items()
            if not key.startswith("ATTUNE_") and key != "LD_PRELOAD"}


def run(*command, timeout_s=180, folder=None, **variables):
    """The finished process; of attune's variables it has those given, no database and no policy."""
    environment = outside_environment()
    environment.update(ATTUNE_DB="", ATTUNE_POLICY="never")
    environment.update(variables)
    return subprocess.run(command, env=environment, capture_output=True, text=True,
                          timeout=timeout_s, cwd=folder)


def attuned(attune, *command, **variables):
    return run(attune, "blas", "--stats", "--", *command, **variables)


def preload_environment(interposer, files, is_preloaded=True, **variables):
    """With the preload library of `interposer` ("blas", "cublas") before all others, on the run time of
    `files`, whichever of attune's variables are set outside."""
    environment = outside_environment()
    prefix = f"ATTUNE_{interposer.upper()}"
    environment.update({f"{prefix}_RUNTIME": files.runtime, f"{prefix}_STATS": "1"})
    if is_preloaded:
        environment["LD_PRELOAD"] = files.library
    environment.update(variables)
    return environment


def preload(interposer, files, *command, is_preloaded=True, timeout_s=60, **variables):
    """The finished process with preload_environment()."""
    environment = preload_environment(interposer, files, is_preloaded, **variables)
    return subprocess.run(command, env=environment, capture_output=True, text=True,
                          timeout=timeout_s)


def summary(process):
    """{"served": 3, "empty": 1, ...} out of the last summary line of a preload library."""
    lines = re.findall(r"(\d+) calls served, (\d+) passed on(?: \((.*)\))?\.", process.stderr)
    if not lines:
        raise AssertionError(f"no summary in: {process.stderr!r}")
    served_count, passed, reasons = lines[-1]
    counts = {"served": int(served_count), "passed": int(passed)}
    for count, name in re.findall(r"(\d+) ([a-z ]+)", reasons or ""):
        counts[name] = int(count)
    return counts


def served(process):
    """How many calls attune served in `process` and its children."""
    return sum(int(n) for n in re.findall(r"(\d+) calls served", process.stderr))
