#!/usr/bin/env python3
"""Runs one bench with the smallest figures and --json, and checks the form of what it prints.

  bench_smoke.py PROGRAM [ARGUMENT]...

A bench prints one JSON object: `summary`, which is not empty, and `rows`, an array with at least one
object."""

import json
import os
import subprocess
import sys
import tempfile

TIMEOUT_S = 60


def main():
    with tempfile.TemporaryDirectory(prefix="attune-bench-") as folder:
        settings = {key: value for key, value in os.environ.items()
                    if not key.startswith(("ATTUNE_", "XDG_"))}
        settings.update({"HOME": folder, "XDG_DATA_HOME": folder, "XDG_CACHE_HOME": folder})
        done = subprocess.run([*sys.argv[1:], "--json"], cwd=folder, env=settings, text=True,
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
