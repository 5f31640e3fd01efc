#!/usr/bin/env python3
"""Tunes kernels that users bring, a product and a 2-D convolution, on OpenCL or an NVIDIA GPU.

  own_kernels.py --bin build/release/bin [--only NAME] [--candidates 48] [--pairs 5] [--fields 3]
                 [--workers 2] [--device opencl:0] [--json]

compile: tunes so small a problem that compiling is nearly all of it, with one process that compiles
and with --workers of them, by turns, each run with empty caches and a database of its own. On OpenCL
the same processes check and run candidates; on a GPU one more does. Told are the median ratios of
the wall time of the whole program and of its search alone, and how many processors each kept busy:
what is left to win. Preparing, the race and the final (--max-iterations keeps them short) belong to
the program and gain nothing by workers.
race: `own_kernel_race` on the usual sizes: what racing saves, and what it costs.
"""

import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

KERNELS = pathlib.Path(__file__).resolve().parent.parent / "examples" / "own_kernel"
# Sizes at which compiling is nearly all that there is to do.
TINY = {"matmul": "m=32,n=32,k=32",
        "convolution": "channels=2,height=18,width=18,filters=8,extent=3"}


class Bench:
    def __init__(self, options, folder):
        self.options = options
        self.folder = pathlib.Path(folder)
        self.runs = 0

    def run(self, program, *words):
        """(what it printed, wall seconds, processor seconds of it and its children)."""
        self.runs += 1
        home = self.folder / str(self.runs)
        home.mkdir()
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith(("ATTUNE_", "XDG_", "POCL_"))}
        environment.update({"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"),
                            "XDG_DATA_HOME": str(home / "data")})
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        begin_s = time.monotonic()
        command = [os.path.join(os.path.abspath(self.options.bin), program), *words, "--json"]
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, check=False)
        wall_s = time.monotonic() - begin_s
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode != 0:
            sys.exit(f"own_kernels: '{' '.join(command)}' ended with {done.returncode}. {done.stderr}")
        busy_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return json.loads(done.stdout), wall_s, busy_s

    def tune(self, kernel, workers):
        printed, wall_s, busy_s = self.run(
            "attune", "tune", "--kernel", str(KERNELS / f"{kernel}.json"), "--size", TINY[kernel],
            "--device", self.options.device, *self.sharing(workers),
            "--search", "random", "--seed", "1", "--candidates", str(self.options.candidates),
            "--per-problem", "1h", "--max-iterations", "2")
        problem = printed["problems"][0]
        if problem["considered"] != self.options.candidates or problem["failures"]:
            sys.exit(f"own_kernels: not every candidate was tried, or some failed: {problem}")
        return {"wall_s": wall_s, "search_s": problem["search_ns"] / 1e9, "cores": busy_s / wall_s}

    def sharing(self, workers):
        """--jobs gives a GPU as many workers that run candidates, and none compiles ahead then."""
        compiling = ["--compile-jobs", str(workers)]
        is_gpu = self.options.device.startswith("cuda")
        return compiling if is_gpu else [*compiling, "--jobs", str(workers)]

    def compile_row(self, kernel):
        runs = {1: [], self.options.workers: []}
        for pair in range(self.options.pairs):
            for workers in sorted(runs, reverse=pair % 2 == 1):
                runs[workers].append(self.tune(kernel, workers))
        row = {"kernel": kernel}
        for name, workers in (("one", 1), ("all", self.options.workers)):
            for key in ("wall_s", "search_s", "cores"):
                row[f"{name}_{key}"] = statistics.median(run[key] for run in runs[workers])
        pairs = list(zip(runs[1], runs[self.options.workers]))
        for key in ("wall_s", "search_s"):
            ratios = [one[key] / many[key] for one, many in pairs]
            row[f"ratio_{key}"] = statistics.median(ratios)
            row[f"ratios_{key}"] = ratios
        return row

    def race_row(self, kernel):
        printed, _, _ = self.run("own_kernel_race", "--kernel", str(KERNELS / f"{kernel}.json"),
                                 "--device", self.options.device, "--fields",
                                 str(self.options.fields), "--configs", str(self.options.configs))
        return {"kernel": kernel, **printed["summary"]}


def table(compiled, raced, workers):
    lines = [f"| kernel | wall, 1 worker | {workers} workers | ratio (least to most) | search alone | processors busy, 1 | {workers} |",
             "|---|---:|---:|---:|---:|---:|---:|"]
    for row in compiled:
        ratios = row["ratios_wall_s"]
        lines.append(f"| {row['kernel']} | {row['one_wall_s']:.2f} s | {row['all_wall_s']:.2f} s | "
                     f"{row['ratio_wall_s']:.2f} ({min(ratios):.2f} to {max(ratios):.2f}) | "
                     f"{row['ratio_search_s']:.2f} | {row['one_cores']:.2f} | {row['all_cores']:.2f} |")
    lines += ["", "| kernel | racing saves | regret |", "|---|---:|---:|"]
    for row in raced:
        lines.append(f"| {row['kernel']} | {100 * row['race_saved']:.1f} % | "
                     f"{100 * row['race_regret']:.2f} % |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="the folder of attune and of the benches")
    parser.add_argument("--only", default="", help="only kernels with this in their name")
    parser.add_argument("--candidates", type=int, default=48, help="of each compile-bound tuning")
    parser.add_argument("--pairs", type=int, default=5, help="runs with one worker and with several")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--fields", type=int, default=3, help="races of each kernel; 0: none")
    parser.add_argument("--configs", type=int, default=48, help="of each race")
    parser.add_argument("--device", default="opencl:0")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    kernels = [kernel for kernel in TINY if options.only in kernel]
    with tempfile.TemporaryDirectory(prefix="attune-own-kernels-") as folder:
        bench = Bench(options, folder)
        compiled = [bench.compile_row(kernel) for kernel in kernels] if options.pairs else []
        raced = [bench.race_row(kernel) for kernel in kernels] if options.fields else []
    if options.json:
        summary = {}
        for row in compiled:
            summary[f"compile_ratio.{row['kernel']}"] = row["ratio_wall_s"]
            summary[f"search_ratio.{row['kernel']}"] = row["ratio_search_s"]
        for row in raced:
            summary[f"race_saved.{row['kernel']}"] = row["race_saved"]
            summary[f"race_regret.{row['kernel']}"] = row["race_regret"]
        print(json.dumps({"summary": summary, "rows": compiled + raced}, indent=2))
    else:
        print(table(compiled, raced, options.workers))


if __name__ == "__main__":
    main()
