#!/usr/bin/env python3
"""Tries every configuration of our own kernels for ten problems of the choice benches.

  own_spaces.py --bin build/release/bin [--conv-time 300s] [--gemm-time 60s] [--only TEXT]
                [--db FILE] [--report FILE] [--json]

Tunes each problem exhaustively, with our own solver and with libraries beside it, and prints one row
of Markdown for each: how many configurations the space of our solver has, how many of them gave
right results, how many were timed, and the best of them against the winner. The problems must be
among those of gemm_choice and of conv_choice at batch size 2, which are asked. Everything goes into
a database of its own, which --db keeps; --report draws the distributions. The times are limits: a
space that is finished earlier ends earlier.
"""

import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile

TAG = "own-spaces"
BATCH_SIZE = 2

# Own solver, the solvers tried beside it, and the problems.
Family = collections.namedtuple("Family", "bench own beside problems")
FAMILIES = {
    "conv": Family(["conv_choice", "--batch-size", str(BATCH_SIZE)], "direct-conv", ["onednn-conv"], [
        "conv@1{dir=fwd,n=2,c=64,h=56,w=56,k=64,fh=3,fw=3,ph=1,pw=1}",
        "conv@1{dir=fwd,n=2,c=128,h=28,w=28,k=128,fh=3,fw=3,ph=1,pw=1}",
        "conv@1{dir=fwd,n=2,c=256,h=14,w=14,k=256,fh=3,fw=3,ph=1,pw=1}",
        "conv@1{dir=fwd,n=2,c=512,h=7,w=7,k=512,fh=3,fw=3,ph=1,pw=1}",
        "conv@1{dir=fwd,n=2,c=256,h=56,w=56,k=64,fh=1,fw=1}",
    ]),
    "gemm": Family(["gemm_choice"], "packed-gemm", ["onednn-gemm", "blis", "libxsmm"], [
        "gemm@1{m=127,n=131,k=137}",
        "gemm@1{m=256,n=256,k=256}",
        "gemm@1{m=512,n=512,k=512}",
        "gemm@1{m=3136,n=64,k=576}",
        "gemm@1{m=784,n=128,k=1152}",
    ]),
}


class Bench:
    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        self.database = options.db or os.path.join(folder, "own_spaces.db")

    def run(self, program, *arguments, quiet=True):
        """The output of a program of --bin; ends with its message if it fails."""
        command = [os.path.join(self.options.bin, program), *arguments]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False,
                              stderr=subprocess.PIPE if quiet else None)
        if done.returncode != 0:
            sys.exit(f"own_spaces: '{' '.join(command)}' ended with {done.returncode}. "
                     f"{done.stderr or ''}")
        return done.stdout

    def attune(self, *arguments, quiet=True):
        return self.run("attune", "--db", self.database, *arguments, quiet=quiet)

    def problems(self):
        """[(family, problem)] that --only leaves, all of them problems of the choice benches."""
        chosen = []
        for family in FAMILIES.values():
            listed = self.run(*family.bench, "--problems").split()
            for problem in family.problems:
                if problem not in listed:
                    sys.exit(f"own_spaces: {problem} is not a problem of {family.bench[0]}; take "
                             f"one of '{' '.join(family.bench)} --problems' instead.")
                if self.options.only in problem:
                    chosen.append((family, problem))
        if not chosen:
            sys.exit(f"own_spaces: No problem has '{self.options.only}' in its text.")
        return chosen

    def tag(self, problems):
        path = os.path.join(self.folder, "problems.txt")
        with open(path, "w", encoding="ascii") as file:
            file.writelines(problem + "\n" for _, problem in problems)
        self.attune("import", path, "--tag", TAG)

    def tune(self, family, problem):
        time = self.options.conv_time if family.own == "direct-conv" else self.options.gemm_time
        solvers = [word for name in [family.own, *family.beside] for word in ("--solver", name)]
        self.attune("tune", "--problem", problem, "--search", "exhaustive", *solvers,
                    "--per-problem", time, quiet=False)

    def row(self, family, problem):
        solvers = json.loads(self.attune("solvers", "--problem", problem, "--json"))
        own = next(each for each in solvers if each["name"] == f"host.{family.own}")
        explained = json.loads(self.attune("explain", problem, "--json"))
        counted = count(explained["sets"], f"{own['name']}@")
        winner = explained["choice"]
        best = counted["best"]
        return {
            "problem": problem, "solver": family.own, "space": own["configs"],
            "right": counted["right"], "timed": counted["timed"],
            "best": best and best["candidate"],
            "best_ns": best and best["measurement"]["median_ns"],
            "winner": winner["candidate"], "winner_ns": winner["median_ns"],
            "best_over_winner": best and best["measurement"]["median_ns"] / winner["median_ns"],
        }


def count(sets, prefix):
    """Candidates whose text begins with `prefix`: how many were right, how many timed, and the trial
    of the best. That is of those that were in the race for longest: a median of one sample is
    often lucky."""
    right, trials = set(), {}
    for trial in (trial for each in sets for trial in each["trials"]):
        candidate = trial["candidate"]
        if not candidate.startswith(prefix):
            continue
        if trial["role"] == "qualify" and "failure" not in trial:
            right.add(candidate)
        if "measurement" in trial and evidence(trial) > evidence(trials.get(candidate)):
            trials[candidate] = trial
    best = None
    if trials:
        most = max(map(evidence, trials.values()))
        longest = [trial for trial in trials.values() if evidence(trial) == most]
        best = min(longest, key=lambda trial: trial["measurement"]["median_ns"])
    return {"right": len(right), "timed": len(trials), "best": best}


def evidence(trial):
    """Orders trials of one race: the final is later than the screening."""
    if trial is None:
        return (False, 0)
    return (trial["role"] == "final", trial["measurement"]["samples"])


def micro(time_ns):
    return "-" if time_ns is None else f"{time_ns / 1000:.4g} us"


def table(rows):
    lines = ["| problem | own solver | space | right | timed | best of them | winner | best / winner |",
             "|---|---|---:|---:|---:|---:|---|---:|"]
    for row in rows:
        ratio = row["best_over_winner"]
        lines.append(f"| `{row['problem']}` | {row['solver']} | {row['space']} | {row['right']} | "
                     f"{row['timed']} | {micro(row['best_ns'])} | "
                     f"`{row['winner'].split('{')[0]}` {micro(row['winner_ns'])} | "
                     f"{'-' if ratio is None else format(ratio, '.2f')} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="the folder of attune and of the benches")
    parser.add_argument("--conv-time", default="300s", help="at most, for each convolution")
    parser.add_argument("--gemm-time", default="60s", help="at most, for each product")
    parser.add_argument("--only", default="", help="only problems with this in their text")
    parser.add_argument("--db", help="keep the records in this database")
    parser.add_argument("--report", help="draw the distributions into this file")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="attune-spaces-") as folder:
        bench = Bench(options, folder)
        problems = bench.problems()
        bench.tag(problems)
        rows = []
        for family, problem in problems:
            bench.tune(family, problem)
            rows.append(bench.row(family, problem))
        if options.report:
            bench.attune("report", "--tag", TAG, "-o", options.report)
    complete = sum(row["space"] == row["right"] == row["timed"] for row in rows)
    if options.json:
        print(json.dumps({"summary": {"problems": len(rows), "whole_spaces": complete}, "rows": rows},
                         indent=2))
    else:
        print(f"{table(rows)}\n\n{complete} of {len(rows)} spaces were timed as a whole.")


if __name__ == "__main__":
    main()
