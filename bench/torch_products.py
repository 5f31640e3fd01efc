#!/usr/bin/env python3
"""PyTorch on its own cuBLAS and under `attune cublas`: an MLP and a transformer block of odd sizes.

  torch_products.py --attune PROGRAM [--budget 10m] [--pairs N] [--turns N] [--only TEXT] [--json]

Records the shapes of the products with `attune cublas --record`, tunes them, then times every case in
two processes, with and without `attune cublas`, that take turns case by case, so that both meet the
machine in the same mood. Times are those of the GPU between two events around many forward passes,
eager and as a replayed graph; a case's ratio is the median over the turns of all pairs of processes.
Everything goes into a database of its own, which --db keeps. Exits with 77 without PyTorch or a GPU.
"""

import argparse
import contextlib
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

SKIPPED = 77
# name, hidden size, size within the MLP, heads, tokens of a sequence, sequences; 0 heads is the MLP
# alone. The last two are of sizes that the library likes.
MODELS = [
    ("mlp", 1023, 4095, 0, 333, 1),
    ("mlp, wide", 4095, 11007, 0, 333, 1),
    ("mlp, few tokens", 4095, 11007, 0, 7, 1),
    ("block", 1023, 4095, 11, 333, 1),
    ("block, batch", 1023, 4095, 11, 333, 4),
    ("block, wide", 4095, 11007, 39, 333, 1),
    ("mlp, aligned", 4096, 11008, 0, 512, 1),
    ("block, aligned", 1024, 4096, 16, 512, 4),
]
KINDS = ("eager", "graph")
WARM_UPS = 3
# For background preparation.
REST_S = 2
SAMPLE_MS = 50
SAMPLES = 5


def mlp_of(torch, hidden, inner):
    return torch.nn.Sequential(torch.nn.Linear(hidden, inner), torch.nn.ReLU(),
                               torch.nn.Linear(inner, hidden))


def block_of(torch, hidden, inner, heads):
    """Attention of plain products, so that they are cuBLAS's, and an MLP."""

    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(hidden) for _ in range(2))
            self.projection = torch.nn.Linear(hidden, 3 * hidden)
            self.output = torch.nn.Linear(hidden, hidden)
            self.mlp = mlp_of(torch, hidden, inner)

        def attend(self, x):
            batch, tokens, _ = x.shape
            split = self.projection(x).view(batch, tokens, 3, heads, hidden // heads)
            q, k, v = split.permute(2, 0, 3, 1, 4)
            weights = (q @ k.transpose(-1, -2) * (hidden // heads) ** -0.5).softmax(-1)
            return self.output((weights @ v).transpose(1, 2).reshape(batch, tokens, hidden))

        def forward(self, x):
            x = x + self.attend(self.norms[0](x))
            return x + self.mlp(self.norms[1](x))

    return Block()


class Case:
    """A model with its input, ready to run."""

    def __init__(self, torch, model):
        _, hidden, inner, heads, tokens, sequences = model
        torch.manual_seed(1)
        network = block_of(torch, hidden, inner, heads) if heads else mlp_of(torch, hidden, inner)
        self.torch = torch
        self.network = network.to(device="cuda", dtype=torch.bfloat16).eval()
        self.input = torch.randn(sequences, tokens, hidden, device="cuda", dtype=torch.bfloat16)
        self.graph = None

    def warm_up(self):
        for _ in range(WARM_UPS):
            self.network(self.input)
            self.torch.cuda.synchronize()
            time.sleep(REST_S / WARM_UPS)

    def run_of(self, kind):
        if kind == "eager":
            return lambda: self.network(self.input)
        if self.graph is None:
            self.graph = self.torch.cuda.CUDAGraph()
            with self.torch.cuda.graph(self.graph):
                self.network(self.input)
        return self.graph.replay

    def passes_ms(self, run, count):
        start, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(count):
            run()
        end.record()
        end.synchronize()
        return start.elapsed_time(end)

    def time_us(self, kind):
        """The time of a forward pass: the median of samples that are long enough for the clock."""
        run = self.run_of(kind)
        self.passes_ms(run, 1)
        count = max(1, int(SAMPLE_MS / max(self.passes_ms(run, 2) / 2, 1e-3)))
        samples = [self.passes_ms(run, count) / count for _ in range(SAMPLES)]
        return statistics.median(samples) * 1e3


def chosen(only):
    return [model for model in MODELS if only in model[0]]


def child(only):
    """In a process of its own: runs every model, then times a case for each line "model\\tkind"."""
    import torch
    with torch.inference_mode():
        cases = {}
        for model in chosen(only):
            cases[model[0]] = Case(torch, model)
            cases[model[0]].warm_up()
        print(json.dumps({"torch": torch.__version__, "gpu": torch.cuda.get_device_name()}), flush=True)
        for line in sys.stdin:
            name, kind = line.rstrip("\n").split("\t")
            print(json.dumps(cases[name].time_us(kind)), flush=True)


class Child:
    """A child that waits for cases; ended by close()."""

    def __init__(self, command, environment, folder):
        self.command = command
        self.said = tempfile.TemporaryFile("w+", dir=folder)
        self.process = subprocess.Popen(command, env=environment, text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=self.said)
        self.about = self.read()

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            self.said.seek(0)
            sys.exit(f"torch_products: '{' '.join(self.command)}' ended early.\n{self.said.read()}")
        return json.loads(line)

    def time_us(self, name, kind):
        self.process.stdin.write(f"{name}\t{kind}\n")
        self.process.stdin.flush()
        return self.read()

    def close(self):
        """Ends the process and returns its standard error."""
        self.process.stdin.close()
        self.process.wait()
        self.said.seek(0)
        return self.said.read()


class Bench:
    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        self.database = options.db or os.path.join(folder, "torch.db")
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("ATTUNE_")}
        self.about = {}
        self.summary_line = ""

    def attune(self, *arguments):
        return [self.options.attune, "--db", self.database, *arguments]

    def child(self, *prefix):
        command = [*prefix, self.options.python, os.path.abspath(__file__), "--child", "--only",
                   self.options.only]
        return Child(command, self.environment, self.folder)

    def tune(self):
        print("Recording the shapes and tuning them", file=sys.stderr)
        self.child(*self.attune("cublas", "--record", "torch", "--")).close()
        command = self.attune("tune", "--device", "cuda:0", "--tag", "torch", "--budget",
                              self.options.budget)
        done = subprocess.run(command, env=self.environment, stdout=sys.stderr)
        if done.returncode not in (0, 3):
            sys.exit(f"torch_products: '{' '.join(command)}' ended with {done.returncode}.")

    def measure(self):
        """{(model, kind): ([own us], [attune us])} over the turns of all pairs."""
        times = {}
        for pair in range(self.options.pairs):
            print(f"Pair {pair + 1} of {self.options.pairs}", file=sys.stderr)
            with contextlib.ExitStack() as ended:
                own = self.child()
                ours = self.child(*self.attune("cublas", "--stats", "--"))
                ended.callback(own.close)
                self.about = own.about
                for turn in range(self.options.turns):
                    for model in chosen(self.options.only):
                        for kind in KINDS:
                            sides = [own, ours] if turn % 2 == 0 else [ours, own]
                            for side in sides:
                                key = (model[0], kind)
                                times.setdefault(key, ([], []))[side is ours].append(
                                    side.time_us(*key))
                said = ours.close()
            found = re.search(r"\d+ calls served.*", said)
            if found is None:
                sys.exit(f"torch_products: the interposer says nothing of its calls:\n{said}")
            self.summary_line = found.group(0)
        return times


def geometric_mean(values):
    return math.exp(statistics.fmean(math.log(x) for x in values))


def row_of(key, own, ours):
    ratios = [a / b for a, b in zip(own, ours)]
    return {"model": key[0], "kind": key[1], "own_us": statistics.median(own),
            "attune_us": statistics.median(ours), "speed_up": statistics.median(ratios),
            "lowest": min(ratios), "highest": max(ratios), "turns": len(ratios)}


def summary_of(bench, rows):
    summary = dict(bench.about, calls=bench.summary_line)
    for kind in KINDS:
        speed_ups = [row["speed_up"] for row in rows if row["kind"] == kind]
        summary[f"torch_{kind}_speed_up"] = geometric_mean(speed_ups)
        summary[f"torch_{kind}_slowest"] = min(speed_ups)
    return summary


def print_table(rows, summary):
    print(f"PyTorch {summary['torch']} on {summary['gpu']}, bf16; microseconds for a forward pass, "
          f"medians of {rows[0]['turns']}\n")
    print(f"{'model':<18} {'kind':<6} {'own':>10} {'attune':>10} {'faster':>7}  spread")
    for row in rows:
        print(f"{row['model']:<18} {row['kind']:<6} {row['own_us']:>10.1f} {row['attune_us']:>10.1f} "
              f"{row['speed_up']:>7.2f}  {row['lowest']:.2f} to {row['highest']:.2f}")
    print()
    for kind in KINDS:
        print(f"{kind}: {summary[f'torch_{kind}_speed_up']:.2f} times faster (geometric mean), the "
              f"slowest {summary[f'torch_{kind}_slowest']:.2f}")
    print(summary["calls"])


def skip_without_gpu():
    try:
        import torch
    except ImportError:
        print("SKIPPED: there is no PyTorch here.")
        sys.exit(SKIPPED)
    if not torch.cuda.is_available():
        print("SKIPPED: there is no GPU here.")
        sys.exit(SKIPPED)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--attune", default="attune", help="the program")
    parser.add_argument("--python", default=sys.executable, help="a Python with PyTorch")
    parser.add_argument("--budget", default="10m", help="for tuning")
    parser.add_argument("--pairs", type=int, default=3, help="of processes")
    parser.add_argument("--turns", type=int, default=5, help="of each pair")
    parser.add_argument("--only", default="", help="models with this in their name")
    parser.add_argument("--db", help="keep the database here (default: a new one each time)")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not chosen(options.only):
        sys.exit(f"torch_products: no model has '{options.only}' in its name; there are "
                 f"{'; '.join(model[0] for model in MODELS)}.")
    if options.child:
        child(options.only)
        return
    skip_without_gpu()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, folder)
        bench.tune()
        times = bench.measure()
    rows = [row_of(key, *sides) for key, sides in times.items()]
    summary = summary_of(bench, rows)
    if options.json:
        print(json.dumps({"summary": summary, "rows": rows}, indent=2))
    else:
        print_table(rows, summary)


if __name__ == "__main__":
    main()
