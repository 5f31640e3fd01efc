"""Programs with and without `attune blas`, for the tests beside this file."""

import os
import re
import subprocess


def run(*command, timeout_s=180, folder=None, **variables):
    """The finished process; of attune's variables it has those given, no database and no policy."""
    environment = {key: value for key, value in os.environ.items()
                   if not key.startswith("ATTUNE_") and key != "LD_PRELOAD"}
    environment.update(ATTUNE_DB="", ATTUNE_POLICY="never")
    environment.update(variables)
    return subprocess.run(command, env=environment, capture_output=True, text=True,
                          timeout=timeout_s, cwd=folder)


def attuned(attune, *command, **variables):
    return run(attune, "blas", "--stats", "--", *command, **variables)


def served(process):
    """How many calls attune served in `process` and its children."""
    return sum(int(n) for n in re.findall(r"(\d+) calls served", process.stderr))
