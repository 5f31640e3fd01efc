#!/usr/bin/env python3
"""Sessions of `attune`: how long loading jobs and importing lists takes; whole processes.

  sessions.py --attune PROGRAM [--problems N] [--lines N] [--runs N] [--cold] [--json]

`jobs load` puts five solvers on each of N problems of a session whose solvers were asked before, and
the same again, which adds nothing. `import` reads N lines of MIOpenDriver commands, all different,
under a tag, into a network and into a session. Medians of `--runs`, each with a new database. With
`--cold` the machine's cache of files is emptied before each process, which takes root."""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

SOLVERS_EACH = 5


def lines_of(count):
    """Different convolutions."""
    lines = []
    for i in range(count):
        n, c, k, order = 1 + i % 4, 1 + i // 4 % 50, 1 + i // 200 % 50, 7 + i // 10000
        lines.append(f"./bin/MIOpenDriver conv -n {n} -c {c} -H {order} -W {order} -k {k} -y 3 -x 3 "
                     "-p 1 -q 1 -u 1 -v 1 -l 1 -j 1 -m conv -g 1 -F 1 -t 1\n")
    return "".join(lines)


class Attune:
    def __init__(self, program, folder, cold):
        self.program = program
        self.folder = folder
        self.cold = cold

    def run(self, *words):
        """Seconds and JSON of one process."""
        if self.cold:
            os.sync()
            pathlib.Path("/proc/sys/vm/drop_caches").write_text("3")
        begin = time.perf_counter()
        done = subprocess.run([self.program, "--db", str(self.folder / "attune.db"), *words,
                               "--json"], capture_output=True, text=True, check=False)
        seconds = time.perf_counter() - begin
        if done.returncode != 0:
            sys.exit(f"{' '.join(words)}: exit {done.returncode}\n{done.stdout}\n{done.stderr}")
        return seconds, json.loads(done.stdout)


def one_run(arguments):
    row = {}
    with tempfile.TemporaryDirectory(prefix="attune-bench-") as name:
        folder = pathlib.Path(name)
        attune = Attune(arguments.attune, folder, arguments.cold)
        (folder / "few.txt").write_text(lines_of(arguments.problems))
        (folder / "many.txt").write_text(lines_of(arguments.lines))
        attune.run("session", "new", "s", "--device", "cpu")
        attune.run("import", str(folder / "few.txt"), "--tag", "few", "--session", "s")
        row["applicability_s"], survey = attune.run("applicability", "--session", "s")
        counts = {}
        for problem in survey["problems"]:
            for solver in problem["solvers"]:
                counts[solver] = counts.get(solver, 0) + 1
        chosen = sorted(counts, key=lambda solver: (-counts[solver], solver))[:SOLVERS_EACH]
        load = ("jobs", "load", "--session", "s", "--tag", "few", "--steps", "perf:measure",
                "--solvers", ",".join(chosen))
        row["load_s"], loaded = attune.run(*load)
        row["jobs"] = loaded["added"]
        row["load_again_s"], again = attune.run(*load)
        if again["added"] != 0:
            sys.exit(f"Loading again added {again['added']} jobs.")
        row["import_s"], imported = attune.run(
            "import", str(folder / "many.txt"), "--tag", "many", "--session", "s", "--model",
            "Bench:1", "--framework", "None:1")
        row["imported"] = imported["imported"]
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attune", required=True)
    parser.add_argument("--problems", type=int, default=10000)
    parser.add_argument("--lines", type=int, default=100000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    rows = [one_run(arguments) for _ in range(arguments.runs)]
    summary = {key: statistics.median(row[key] for row in rows) for key in rows[0]}
    if arguments.json:
        print(json.dumps({"summary": summary, "rows": rows}, indent=2))
        return
    print(f"{summary['jobs']:.0f} jobs loaded in {summary['load_s']:.2f} s (wanted 1), again in "
          f"{summary['load_again_s']:.2f} s; their solvers asked in "
          f"{summary['applicability_s']:.2f} s")
    print(f"{summary['imported']:.0f} lines imported into a session in {summary['import_s']:.2f} s "
          "(wanted 3)")


if __name__ == "__main__":
    main()
