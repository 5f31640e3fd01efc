#!/usr/bin/env python3
"""PyTorch under `attune cublas`, on a GPU: what is not tuned stays bit for bit what it was, what is
tuned is served and right, and captured graphs replay it.

  torch_products.py --attune PROGRAM [--per-problem 800ms]

Exits with 77 where there is no PyTorch or no GPU.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time

SKIPPED = 77
# Sizes that no wide load fits.
ROWS, DEPTH, COLUMNS, BATCH = 333, 1023, 517, 3
# Between rounds, for background preparation.
ROUNDS = 3
REST_S = 3
# Relative to the largest element, against the sum of rounding errors over DEPTH terms.
TOLERANCE = {"float64": 1e-12, "float32": 1e-5, "tf32": 2e-3, "bfloat16": 2e-2, "float16": 4e-3}


def operands(torch, name):
    """A matrix, one to multiply it with, a bias, and a batch of both."""
    dtype = torch.float32 if name == "tf32" else getattr(torch, name)
    generator = torch.Generator(device="cuda").manual_seed(1)

    def random(*shape):
        return torch.randn(*shape, device="cuda", dtype=dtype, generator=generator)

    return (random(ROWS, DEPTH), random(DEPTH, COLUMNS), random(COLUMNS),
            random(BATCH, ROWS, DEPTH), random(BATCH, DEPTH, COLUMNS))


def products(torch, name):
    """{product: function of nothing that computes it}"""
    a, b, bias, many_a, many_b = operands(torch, name)
    transposed = b.t().contiguous()
    out = torch.ones(BATCH, ROWS, COLUMNS, device="cuda", dtype=a.dtype)
    side = torch.cuda.Stream()

    def on_a_stream():
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            result = a @ b
        torch.cuda.current_stream().wait_stream(side)
        return result

    return {
        "mm": lambda: a @ b,
        "mm of a transpose": lambda: a @ transposed.t(),
        "addmm": lambda: torch.addmm(bias, a, b),
        "addmm with beta": lambda: torch.addmm(out[0], a, b, beta=0.5, alpha=-2),
        "linear": lambda: torch.nn.functional.linear(a, transposed, bias),
        "linear and relu": lambda: torch._addmm_activation(bias, a, b, use_gelu=False),
        "linear and gelu": lambda: torch._addmm_activation(bias, a, b, use_gelu=True),
        "bmm": lambda: torch.bmm(many_a, many_b),
        "bmm of one": lambda: torch.bmm(a.expand(BATCH, ROWS, DEPTH), many_b),
        "baddbmm": lambda: torch.baddbmm(out, many_a, many_b, beta=0.5, alpha=2),
        "mm on a stream": on_a_stream,
    }


def replayed(torch, compute):
    """The result of a captured graph, replayed after its output was overwritten."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = compute()
    result.fill_(float("nan"))
    graph.replay()
    graph.replay()
    torch.cuda.synchronize()
    return result.clone()


def child(path, captures):
    """In a process of its own: computes everything and leaves the last results in `path`."""
    import torch
    results = {}
    for round_number in range(ROUNDS):
        for name in TOLERANCE:
            torch.backends.cuda.matmul.allow_tf32 = name == "tf32"
            for product, compute in products(torch, name).items():
                results[f"{name} {product}"] = compute().clone()
                is_last = round_number == ROUNDS - 1
                if captures and is_last and product != "mm on a stream":
                    results[f"{name} {product} captured"] = replayed(torch, compute)
        torch.cuda.synchronize()
        if round_number < ROUNDS - 1:
            time.sleep(REST_S)
    torch.save({key: value.cpu() for key, value in results.items()}, path)


class Interposed:
    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("ATTUNE_")}

    def run(self, command):
        done = subprocess.run(command, env=self.environment, text=True, stderr=subprocess.PIPE)
        sys.stderr.write(done.stderr)
        if done.returncode != 0:
            sys.exit(f"FAILED: '{' '.join(command)}' ended with {done.returncode}.")
        return done.stderr

    def attune(self, database, *arguments):
        return [self.options.attune, "--db", os.path.join(self.folder, database), *arguments]

    def compute(self, name, prefix=(), captures=False):
        """The results of a child behind `prefix`, and what it said."""
        import torch
        path = os.path.join(self.folder, f"{name}.pt")
        command = [*prefix, sys.executable, os.path.abspath(__file__), "--child", path]
        said = self.run(command + (["--captures"] if captures else []))
        return torch.load(path), said

    def serve(self, name, database, captures=False):
        prefix = self.attune(database, "cublas", "--stats", "--")
        return self.compute(name, prefix, captures)


def counts(said):
    """(served, passed on, {reason: count}) of the summary."""
    found = re.search(r"(\d+) calls served, (\d+) passed on(?: \((.*)\))?\.", said)
    if found is None:
        sys.exit("FAILED: there is no summary.")
    reasons = dict((name, int(count)) for count, name in
                   re.findall(r"(\d+) ([a-z ]+)", found.group(3) or ""))
    return int(found.group(1)), int(found.group(2)), reasons


FAILURES = []


def check(holds, sentence):
    print(("ok      " if holds else "FAILED  ") + sentence)
    if not holds:
        FAILURES.append(sentence)


def check_untuned(torch, interposer, plain):
    results, said = interposer.serve("untuned", "empty.db", captures=True)
    served, _, reasons = counts(said)
    check(served == 0, f"nothing is served of an empty database ({served})")
    check(reasons.get("not tuned", 0) > 0, f"products arrived ({reasons})")
    for key, wanted in plain.items():
        check(torch.equal(results[key], wanted), f"untuned, bit for bit: {key}")


def check_tuned(torch, interposer, plain):
    interposer.run(interposer.attune("tuned.db", "cublas", "--record", "interposer", "--", sys.executable,
                         os.path.abspath(__file__), "--child",
                         os.path.join(interposer.folder, "recorded.pt")))
    interposer.run(interposer.attune("tuned.db", "tune", "--device", "cuda:0", "--tag", "interposer", "--per-problem",
                         interposer.options.per_problem))
    results, said = interposer.serve("tuned", "tuned.db")
    without_captures = counts(said)
    check(without_captures[0] > 0, f"tuned products are served ({without_captures})")
    captured, said = interposer.serve("captured", "tuned.db", captures=True)
    with_captures = counts(said)
    check(with_captures[0] > without_captures[0],
          f"captured calls are served beside the others ({with_captures})")
    check("captured too early" not in with_captures[2], "no call was captured too early")
    for key, wanted in plain.items():
        name = key.split()[0]
        limit = TOLERANCE[name] * wanted.abs().max().item()
        for kind, given in (("tuned", results), ("captured", captured)):
            if key not in given:
                continue
            error = (given[key].double() - wanted.double()).abs().max().item()
            check(error <= limit, f"{kind}: {key}: error {error:.3g}, at most {limit:.3g}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--attune", default="attune", help="the program")
    parser.add_argument("--per-problem", default="800ms", help="for tuning")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--captures", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    try:
        import torch
    except ImportError:
        print("SKIPPED: there is no PyTorch here.")
        sys.exit(SKIPPED)
    if not torch.cuda.is_available():
        print("SKIPPED: there is no GPU here.")
        sys.exit(SKIPPED)
    if options.child:
        child(options.child, options.captures)
        return
    with tempfile.TemporaryDirectory() as folder:
        interposer = Interposed(options, folder)
        plain, _ = interposer.compute("plain", captures=True)
        check_untuned(torch, interposer, plain)
        check_tuned(torch, interposer, plain)
    if FAILURES:
        sys.exit(f"{len(FAILURES)} checks failed.")


if __name__ == "__main__":
    main()
