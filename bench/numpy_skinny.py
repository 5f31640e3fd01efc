#!/usr/bin/env python3
"""NumPy on its own BLAS and under `attune blas`: skinny products, matrix-vector products, squares.

  numpy_skinny.py --attune PROGRAM [--python PROGRAM] [--budget 3m] [--pairs N] [--turns N]
                  [--only TEXT] [--db FILE] [--json]

Records the shapes of the products with `attune blas --record`, tunes them, then times every product
in two processes, with and without `attune blas`, that take turns product by product, a tenth of a
second each, so that both meet the machine in the same mood. A product's ratio is the median over the
turns of all pairs of processes. Everything goes into a database of its own, which --db keeps.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time

# name, group, m, n, k; n 0 is a matrix-vector product, m 0 a vector-matrix product.
PRODUCTS = [
    ("tall times tiny", "skinny", 100_000, 4, 4),
    ("tall times thin", "skinny", 20_000, 8, 64),
    ("thin inner product", "skinny", 8, 8, 100_000),
    ("Gram of tall", "skinny", 16, 24, 50_000),
    ("rank 4 update", "skinny", 1024, 1024, 4),
    ("rank 16 update", "skinny", 2048, 512, 16),
    ("few rows", "skinny", 4, 2048, 1024),
    ("few columns", "skinny", 2048, 6, 1024),
    ("decode step", "skinny", 2, 4096, 2048),
    ("matrix vector", "vector", 2048, 0, 2048),
    ("tall matrix vector", "vector", 100_000, 0, 32),
    ("wide matrix vector", "vector", 32, 0, 100_000),
    ("vector matrix", "vector", 0, 2048, 2048),
    ("square 64", "square", 64, 64, 64),
    ("square 128", "square", 128, 128, 128),
    ("square 256", "square", 256, 256, 256),
    ("square 512", "square", 512, 512, 512),
    ("square 1024", "square", 1024, 1024, 1024),
]
TYPES = ("float32", "float64")
SAMPLE_S = 0.02
SAMPLES = 5
# The threads of OpenBLAS spin for up to 30 ms after a product before they sleep.
REST_S = 0.1


def operands(numpy, m, n, k, dtype):
    random = numpy.random.default_rng(1)
    a = random.random((m, k) if m else (k,)).astype(dtype)
    b = random.random((k, n) if n else (k,)).astype(dtype)
    return a, b


def time_product(a, b):
    """Nanoseconds of one product: the median of samples long enough for the clock."""
    a @ b
    start = time.perf_counter_ns()
    a @ b
    calls = max(1, int(SAMPLE_S * 1e9 / max(1, time.perf_counter_ns() - start)))
    samples = []
    for _ in range(SAMPLES):
        start = time.perf_counter_ns()
        for _ in range(calls):
            a @ b
        samples.append((time.perf_counter_ns() - start) / calls)
    return statistics.median(samples)


def key_of(name, dtype):
    return f"{name} {dtype}"


def selected(only):
    """The products whose names contain `only`."""
    return [product for product in PRODUCTS if only in product[0]]


def child(action, only):
    """In a process of its own: touches every product once, or times those that it is asked for."""
    import numpy
    products = {key_of(name, dtype): operands(numpy, m, n, k, dtype)
                for name, _, m, n, k in selected(only) for dtype in TYPES}
    if action == "touch":
        for a, b in products.values():
            a @ b
        return
    for line in sys.stdin:
        print(time_product(*products[line.rstrip("\n")]), flush=True)


class Timer:
    """A process that times products on request. It ends with the block."""

    def __init__(self, command, environment):
        self.command = command
        self.process = subprocess.Popen(command, env=environment, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()

    def nanoseconds(self, key):
        time.sleep(REST_S)
        try:
            self.process.stdin.write(key + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # Its exit status is told below.
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit(f"numpy_skinny: '{' '.join(self.command)}' ended with "
                     f"{self.process.wait()} before it timed {key}.")
        return float(answer)


class Bench:
    def __init__(self, options, folder):
        self.options = options
        self.database = options.db or os.path.join(folder, "numpy.db")
        self.environment = dict(os.environ, ATTUNE_POLICY="never")

    def attune(self, *arguments):
        return [self.options.attune, "--db", self.database, *arguments]

    def run(self, command, accepted=(0,)):
        done = subprocess.run(command, env=self.environment, stdout=subprocess.PIPE, text=True)
        if done.returncode not in accepted:
            sys.exit(f"numpy_skinny: '{' '.join(command)}' ended with {done.returncode}.")
        return done.stdout

    def python(self, action):
        return [self.options.python, os.path.abspath(__file__), "--child", action,
                "--only", self.options.only]

    def tune(self):
        print("Recording the shapes and tuning them", file=sys.stderr)
        self.run(self.attune("blas", "--record", "numpy", "--", *self.python("touch")))
        # 3: the budget ended first; the remaining products stay untuned.
        self.run(self.attune("tune", "--tag", "numpy", "--budget", self.options.budget), (0, 3))

    def measure(self):
        """{product: ([own ns], [attune ns])} over the turns of all pairs."""
        own, ours = self.python("time"), self.attune("blas", "--", *self.python("time"))
        times = {key_of(name, dtype): ([], [])
                 for name, *_ in selected(self.options.only) for dtype in TYPES}
        for pair in range(self.options.pairs):
            with Timer(own, self.environment) as plain, Timer(ours, self.environment) as served:
                for turn in range(self.options.turns):
                    print(f"Pair {pair + 1} of {self.options.pairs}, turn {turn + 1} of "
                          f"{self.options.turns}", file=sys.stderr)
                    for key, (own_ns, our_ns) in times.items():
                        sides = [(plain, own_ns), (served, our_ns)]
                        for timer, into in sides if turn % 2 == 0 else reversed(sides):
                            into.append(timer.nanoseconds(key))
        return times


def geometric_mean(values):
    return math.exp(statistics.fmean(math.log(x) for x in values))


def rows_of(times, products):
    for name, group, m, n, k in products:
        for dtype in TYPES:
            own, ours = times[key_of(name, dtype)]
            ratios = [a / b for a, b in zip(own, ours)]
            yield {"product": name, "group": group, "type": dtype, "m": m or 1, "n": n or 1, "k": k,
                   "own_ns": statistics.median(own), "attune_ns": statistics.median(ours),
                   "speed_up": statistics.median(ratios),
                   "lowest": min(ratios), "highest": max(ratios)}


def summary_of(rows):
    """The speedups of the measured groups."""
    skinny = [row["speed_up"] for row in rows if row["group"] != "square"]
    square = [row["speed_up"] for row in rows if row["group"] == "square"]
    summary = {}
    for name, speed_ups in (("skinny", skinny), ("square", square)):
        if speed_ups:
            summary[f"numpy_{name}_speed_up"] = geometric_mean(speed_ups)
            summary[f"numpy_{name}_slowest"] = min(speed_ups)
    return summary


def print_table(rows, summary):
    print(f"{'product':<20} {'type':<8} {'m':>7} {'n':>5} {'k':>7} {'own us':>10} {'attune us':>10} "
          f"{'faster':>7}  spread")
    for row in rows:
        print(f"{row['product']:<20} {row['type']:<8} {row['m']:>7} {row['n']:>5} {row['k']:>7} "
              f"{row['own_ns'] / 1e3:>10.1f} {row['attune_ns'] / 1e3:>10.1f} "
              f"{row['speed_up']:>7.2f}  {row['lowest']:.2f} to {row['highest']:.2f}")
    print()
    for name, title in (("skinny", "Skinny and vector products"), ("square", "Squares")):
        if f"numpy_{name}_slowest" in summary:
            print(f"{title}: {summary[f'numpy_{name}_speed_up']:.2f} times (geometric mean), "
                  f"the slowest {summary[f'numpy_{name}_slowest']:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--attune", default="attune", help="the program")
    parser.add_argument("--python", default=sys.executable, help="a Python with NumPy")
    parser.add_argument("--budget", default="3m", help="for tuning")
    parser.add_argument("--pairs", type=int, default=3, help="of processes")
    parser.add_argument("--turns", type=int, default=6, help="of each process at each product")
    parser.add_argument("--only", default="", metavar="TEXT",
                        help="products whose names contain it (default: all)")
    parser.add_argument("--db", help="keep the database here (default: a new one each time)")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--child", choices=("touch", "time"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child, options.only)
        return
    products = selected(options.only)
    if not products:
        sys.exit(f"numpy_skinny: No name of a product contains '{options.only}'.")
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, folder)
        bench.tune()
        rows = list(rows_of(bench.measure(), products))
    summary = summary_of(rows)
    if options.json:
        print(json.dumps({"summary": summary, "rows": rows}, indent=2))
    else:
        print_table(rows, summary)


if __name__ == "__main__":
    main()
