#!/usr/bin/env python3
"""The convolutions of `cuda_first_call --json` through PyTorch: first calls and later ones.

  cuda_first_call.py ROWS.json [--mode all|default|benchmark|inductor] [--only N] [--within S] [--json]

`default` is cuDNN by its heuristics, `benchmark` sets torch.backends.cudnn.benchmark, and
`inductor` compiles one function with mode="max-autotune" for every shape. `all` runs each of them in
a process of its own with empty caches, so that none finds what another one has learned, and prints
them side by side.
With `--within` no mode begins a shape after so many seconds: what was left out is said, and `all`
compares the shapes that every mode had. Times are from the call to the end of torch.cuda.synchronize().
f32 without tensor cores, as attune's problems say.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

STEADY_CALLS = 9
MODES = ("default", "benchmark", "inductor")


def fields(problem):
    """The numbers and words of a problem's text, with its defaults."""
    found = dict(re.findall(r"(\w+)=(\w+)", problem))
    number = {name: int(found.get(name, 0 if name in ("ph", "pw") else 1)) for name in
              ("n", "c", "h", "w", "k", "fh", "fw", "ph", "pw", "sh", "sw")}
    return number, found.get("type", "f32")


def operands(torch, number, type_name):
    dtype = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}[type_name]

    def random(*names):
        return torch.randn(*(number[name] for name in names), device="cuda", dtype=dtype)

    return random("n", "c", "h", "w"), random("k", "c", "fh", "fw")


def timed_us(torch, call):
    torch.cuda.synchronize()
    begin = time.perf_counter()
    call()
    torch.cuda.synchronize()
    return 1e6 * (time.perf_counter() - begin)


def convolution(torch, mode, number):
    def plain(image, weights):
        return torch.nn.functional.conv2d(image, weights, stride=(number["sh"], number["sw"]),
                                          padding=(number["ph"], number["pw"]))
    if mode != "inductor":
        return plain
    # Every shape by itself, as the other modes see it.
    torch._dynamo.reset()
    return torch.compile(plain, mode="max-autotune-no-cudagraphs", dynamic=False)


def measure(torch, problems, mode, within_s):
    """Rows of as many problems, from the first on, as could be begun in time."""
    end = time.monotonic() + within_s if within_s else None
    torch.backends.cudnn.benchmark = mode == "benchmark"
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_tf32 = False
    # Libraries are loaded before.
    warm = fields("n=1,c=16,h=32,w=32,k=16,fh=3,fw=3")[0]
    for type_name in ("f32", "f16"):
        image, weights = operands(torch, warm, type_name)
        convolution(torch, mode, warm)(image, weights)
    rows = []
    for problem in problems:
        if end is not None and rows and time.monotonic() > end:
            break
        number, type_name = fields(problem)
        image, weights = operands(torch, number, type_name)
        function = convolution(torch, mode, number)
        first = timed_us(torch, lambda: function(image, weights))
        later = [timed_us(torch, lambda: function(image, weights)) for _ in range(STEADY_CALLS)]
        rows.append({"problem": problem, "first_us": first, "steady_us": statistics.median(later)})
        print(f"{len(rows)} of {len(problems)}", file=sys.stderr)
    return rows


def summary_of(rows, **more):
    return {**more, "pictures": len(rows),
            "first_median_us": statistics.median(row["first_us"] for row in rows),
            "first_worst_us": max(row["first_us"] for row in rows),
            "steady_median_us": statistics.median(row["steady_us"] for row in rows)}


def run_apart(options, mode):
    """The output of this program for one mode, in a process with caches of its own."""
    with tempfile.TemporaryDirectory() as caches:
        words = [sys.executable, __file__, options.rows, "--mode", mode, "--json",
                 "--only", str(options.only), "--within", str(options.within)]
        environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": caches, "TRITON_CACHE_DIR": caches}
        done = subprocess.run(words, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def side_by_side(attune_rows, results):
    """A summary for attune and each mode, of the shapes that all of them had."""
    count = min(len(result["rows"]) for result in results.values())
    return [summary_of(attune_rows[:count], mode="attune")] + [
        summary_of(result["rows"][:count], mode=mode, began=len(result["rows"]),
                   of=result["summary"]["of"])
        for mode, result in results.items()]


def print_summary(summary):
    for name, value in summary.items():
        print(f"{name:<20} {value if isinstance(value, (str, int)) else round(value, 1)}")


def print_side_by_side(summaries):
    for summary in summaries:
        if summary.get("began", 0) < summary.get("of", 0):
            print(f"{summary['mode']} began {summary['began']} of {summary['of']} shapes in its time.")
    print(f"Medians of {summaries[0]['pictures']} shapes, in microseconds:")
    print(f"{'mode':<12} {'first call':>12} {'worst':>12} {'later':>10}")
    for summary in summaries:
        print(f"{summary['mode']:<12} {summary['first_median_us']:>12.0f} "
              f"{summary['first_worst_us']:>12.0f} {summary['steady_median_us']:>10.0f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("rows", help="what `cuda_first_call --json` printed")
    parser.add_argument("--mode", choices=["all", *MODES], default="default")
    parser.add_argument("--only", type=int, default=0, metavar="N", help="the first N shapes")
    parser.add_argument("--within", type=float, default=0, metavar="SECONDS",
                        help="begin no shape of a mode later than that; 0: all")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with open(options.rows, encoding="utf-8") as file:
        attune_rows = json.load(file)["rows"][:options.only or None]
    if options.mode == "all":
        summaries = side_by_side(attune_rows, {mode: run_apart(options, mode) for mode in MODES})
        print(json.dumps(summaries, indent=2)) if options.json else print_side_by_side(summaries)
        return
    import torch
    rows = measure(torch, [row["problem"] for row in attune_rows], options.mode, options.within)
    summary = summary_of(rows, mode=options.mode, of=len(attune_rows), torch=torch.__version__)
    if options.json:
        print(json.dumps({"summary": summary, "rows": rows}, indent=2))
    else:
        print_summary(summary)


if __name__ == "__main__":
    main()
