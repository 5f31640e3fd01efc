#!/usr/bin/env python3
"""Runs one bench with the smallest figures and --json, and checks the form of what it prints.

  bench_smoke.py [--needs MODULE] PROGRAM [ARGUMENT]...
  bench_smoke.py --lists PROGRAM [ARGUMENT]...

With --needs the program is a Python: if it lacks the module, the test is skipped. A bench prints
one JSON object: `summary`, which is not empty, and `rows`, an array with at least one object.
With --lists the program prints problems instead, one text a line."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

TIMEOUT_S = 60
SKIPPED = 77


def run_list(command):
    done = subprocess.run(command, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=TIMEOUT_S, check=False)
    lines = done.stdout.splitlines()
    wrong = [line for line in lines if re.fullmatch(r"\w+@\d+\{.+\}", line) is None]
    if done.returncode != 0 or not lines or wrong or len(set(lines)) < len(lines):
        sys.exit(f"exit {done.returncode}, {wrong or 'none or doubled'}\n{done.stdout}\n{done.stderr}")
    print(f"{len(lines)} problems")


def main():
    command = sys.argv[1:]
    if command[0] == "--lists":
        run_list(command[1:])
        return
    if command[0] == "--needs":
        module, command = command[1], command[2:]
        if shutil.which(command[0]) is None or subprocess.run([command[0], "-c", f"import {module}"], check=False,
                          stderr=subprocess.DEVNULL).returncode != 0:
            print(f"SKIPPED: {command[0]} has no {module}.")
            sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory(prefix="attune-bench-") as folder:
        settings = {key: value for key, value in os.environ.items()
                    if not key.startswith(("ATTUNE_", "XDG_"))}
        settings.update({"HOME": folder, "XDG_DATA_HOME": folder, "XDG_CACHE_HOME": folder})
        done = subprocess.run([*command, "--json"], cwd=folder, env=settings, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=TIMEOUT_S, check=False)
    if done.returncode != 0:
        sys.exit(f"exit {done.returncode}\n{done.stdout}\n{done.stderr}")
    report = json.loads(done.stdout)
    if not isinstance(report.get("summary"), dict) or not report["summary"]:
        sys.exit(f"no summary:\n{done.stdout}")
    rows = report.get("rows")
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        sys.exit(f"no rows:\n{done.stdout}")
    print(f"{len(rows)} rows")


if __name__ == "__main__":
    main()
